// SPDX-License-Identifier: Apache-2.0
//
// A C++ program of ordinary containers: maps, strings, a tree of shared_ptr, string streams. Its one rule: all work is
// deterministic and prints one checksum, so that runs compare. Not a benchmark of the containers.
//
//   objects ROUNDS      about 45,000 allocations a round
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

unsigned random_state = 1;

unsigned next_random()
{
	random_state = random_state * 1664525u + 1013904223u;
	return random_state >> 8;
}

struct Node {
	std::shared_ptr<Node> left, right;
	std::string name;
};

std::shared_ptr<Node> grow(int depth)
{
	auto node = std::make_shared<Node>();
	node->name = "a node of the tree, number " + std::to_string(next_random());
	if (depth > 0) {
		node->left = grow(depth - 1);
		node->right = grow(depth - 1);
	}
	return node;
}

size_t walk(const std::shared_ptr<Node> &node)
{
	return node ? node->name.size() + walk(node->left) + walk(node->right) : 0;
}

size_t ordered_words()
{
	std::map<std::string, std::vector<int>> index;
	for (int i = 0; i < 3000; i++)
		index["the word with the number " + std::to_string(next_random() % 2000)].push_back(i);
	size_t sum = 0;
	for (auto &entry : index)
		sum += entry.second.size() * entry.first.size();
	return sum;
}

size_t hashed_numbers()
{
	std::unordered_map<unsigned, std::string> table;
	for (int i = 0; i < 6000; i++) {
		unsigned key = next_random() % 4000;
		auto found = table.find(key);
		if (found != table.end())
			table.erase(found);
		else
			table.emplace(key, std::string(24 + key % 40, 'x'));
	}
	size_t sum = 0;
	for (auto &entry : table)
		sum += entry.second.size();
	return sum;
}

size_t streams()
{
	size_t sum = 0;
	for (int i = 0; i < 500; i++) {
		std::ostringstream out;
		for (int k = 0; k < 10; k++)
			out << "field " << k << '=' << next_random() % 1000 << "; ";
		sum += out.str().size();
	}
	return sum;
}

}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? std::atol(argv[1]) : 1;
	size_t sum = 0;
	for (long i = 0; i < rounds; i++)
		sum += ordered_words() + hashed_numbers() + streams() + walk(grow(11));
	std::printf("checksum %zu\n", sum);
}

// SPDX-License-Identifier: Apache-2.0
// C++ for the comparison: containers, exceptions that pass through frames with destructors, threads, virtual calls.
// throws ALLOCATIONS
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

thread_local unsigned seed = 1;

unsigned chance(unsigned of)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % of;
}

struct Node {
	virtual ~Node() = default;
	virtual int depth() const = 0;
};

struct Leaf : Node {
	std::string name = std::string(chance(60), 'x');
	int depth() const override { return 1; }
};

struct Pair : Node {
	std::shared_ptr<Node> left, right;
	int depth() const override { return 1 + std::max(left->depth(), right->depth()); }
};

std::shared_ptr<Node> build(int depth)
{
	if (depth == 0)
		return std::make_shared<Leaf>();
	auto pair = std::make_shared<Pair>();
	pair->left = build(depth - 1);
	pair->right = build(static_cast<int>(chance(static_cast<unsigned>(depth))));
	return pair;
}

struct Guard {
	std::vector<int> held = std::vector<int>(chance(20) + 1);
	~Guard() { held.push_back(1); }
};

__attribute__((noinline)) int throwing(int depth)
{
	Guard guard;
	if (depth == 0)
		throw std::runtime_error(std::string(chance(100), 'e'));
	return throwing(depth - 1) + 1;
}

__attribute__((noinline)) int catching(int depth)
{
	try {
		return throwing(depth);
	} catch (const std::runtime_error &error) {
		std::ostringstream text;
		text << "caught " << error.what();
		if (chance(3) == 0 && depth > 0) {
			try {
				throw;
			} catch (...) {
				return catching(depth - 1);
			}
		}
		return static_cast<int>(text.str().size());
	}
}

long run(long rounds)
{
	std::map<std::string, std::vector<int>> tree;
	std::unordered_map<int, std::string> table;
	long sum = 0;
	for (long i = 0; i < rounds; i++) {
		tree["key " + std::to_string(chance(500))].push_back(static_cast<int>(i));
		table[static_cast<int>(chance(1000))] = std::string(chance(80), 'y');
		sum += build(static_cast<int>(chance(6)))->depth();
		sum += catching(static_cast<int>(chance(8)));
		std::function<int(int)> call = [&](int n) { return n ? call(n - 1) + static_cast<int>(std::string(40, 'z').size()) : 0; };
		sum += call(static_cast<int>(chance(6)));
	}
	return sum;
}

} // namespace

int main(int, char **arguments)
{
	const long rounds = std::atol(arguments[1]) / 60 / 3 + 1;
	std::thread other([&] { seed = 2; run(rounds); });
	std::thread third([&] { seed = 3; run(rounds); });
	const long sum = run(rounds);
	other.join();
	third.join();
	return sum == 0;
}

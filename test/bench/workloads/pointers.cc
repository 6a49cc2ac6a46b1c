// SPDX-License-Identifier: Apache-2.0
//
// Copies a shared_ptr in a loop. Its count is atomic only in a program with threads, so this shows whether a tool made
// the program one. No allocation in the loop.
//
//   pointers COUNT
#include <cstdio>
#include <cstdlib>
#include <memory>

static std::shared_ptr<int> kept;

__attribute__((noinline)) static void keep(std::shared_ptr<int> pointer)
{
	kept = pointer;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? std::atol(argv[1]) : 1000;
	auto pointer = std::make_shared<int>(7);
	for (long i = 0; i < count; i++)
		keep(pointer);
	std::printf("uses %ld\n", pointer.use_count());
}

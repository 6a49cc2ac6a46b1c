// SPDX-License-Identifier: Apache-2.0
// Three functions whose share of all bytes is known: 1/2, 3/8 and 1/8 of 512 MiB, in blocks of three sizes; a quarter of
// what the first allocates stays live. The cases compare estimates by function with these numbers.
#include <cstdlib>

static void *volatile kept;

#define ALLOCATES(name, block_bytes, count, keep) \
	extern "C" __attribute__((noinline)) void name() \
	{ \
		for (int i = 0; i < (count); i++) { \
			void *block = std::malloc(block_bytes); \
			if ((keep) && i % 4 == 0) \
				kept = block; \
			else \
				std::free(block); \
		} \
	}

ALLOCATES(half, 1024, 262144, 1)
ALLOCATES(three_eighths, 49152, 4096, 0)
ALLOCATES(eighth, 64, 1048576, 0)

int main()
{
	half();
	three_eighths();
	eighth();
	return 0;
}

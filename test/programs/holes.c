/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives pages back one by one and takes the same addresses again (MAP_FIXED), as it may: nothing else runs in it. Prints how many bytes
 * were not its own zeros.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define BYTES (8L << 20)
#define PAGE 4096
#define ROUNDS 10

static char *take(char *at, long bytes, int fixed)
{
	return mmap(at, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
}

int main(void)
{
	long strange = 0;

	for (int round = 0; round < ROUNDS; round++) {
		char *start = take(NULL, BYTES, 0);
		memset(start, 5, BYTES);
		for (long at = 0; at < BYTES; at += PAGE)
			munmap(start + at, PAGE);
		for (long at = 0; at < BYTES; at += PAGE)
			strange += (take(start + at, PAGE, MAP_FIXED) != start + at);
		for (long at = 0; at < BYTES; at++)
			strange += (start[at] != 0);
		munmap(start, BYTES);
	}
	printf("%ld\n", strange);
	return strange != 0;
}

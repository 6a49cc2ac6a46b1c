/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the address space that Java's ZGC asks for with a large heap, which is also where race and memory detectors keep what they know:
 * three views of 16 TiB, by addresses that it would like. Prints how many it was not given.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#define VIEW (1UL << 44)

int main(void)
{
	int refused = 0;

	for (uintptr_t view = VIEW; view <= 4 * VIEW; view *= 2)
		refused += mmap((void *)view, VIEW, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != (void *)view;
	printf("%d\n", refused);
	return 0;
}

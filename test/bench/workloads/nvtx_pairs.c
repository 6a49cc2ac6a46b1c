/* SPDX-License-Identifier: Apache-2.0 */
/* NVTX ranges, opened and closed, as fast as they come: nvtx_pairs [COUNT]. An event is a pair. Prints ns, wall and processor. */
#include <nvtx3/nvToolsExt.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void pairs(long count)
{
	for (long i = 0; i < count; i++) {
		nvtxRangePushA(i & 1 ? "forward" : "backward pass");
		nvtxRangePop();
	}
}

int main(int count, char **words)
{
	long number = count > 1 ? atol(words[1]) : 1000000;

	pairs(1000);
	double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
	pairs(number);
	cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
	wall = seconds(CLOCK_MONOTONIC) - wall;
	printf("ns_per_event %.3f\ncpu_ns_per_event %.3f\n", 1e9 * wall / (double)number, 1e9 * cpu / (double)number);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches in a loop, on a CUDA that costs nothing (gpu_none.c): gpu_launch LAUNCHES.
 * Prints "ns_per_event X", wall time a launch, and "cpu_ns_per_event X", processor time of this thread.
 * Rule: three launch shapes in turn; nothing else is called in the loop.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct dim3 {
	unsigned x, y, z;
};

int cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments, size_t shared, void *stream);

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

__attribute__((noinline)) static void launch(long number)
{
	static const char work;
	const struct dim3 grid = {(unsigned)(number % 3 + 1), 2, 1}, block = {128, 1, 1};

	cudaLaunchKernel(&work, grid, block, NULL, 0, NULL);
}

int main(int count, char **words)
{
	long launches = count > 1 ? atol(words[1]) : 1000000;
	double wall, cpu;

	for (long i = 0; i < 100; i++)
		launch(i);
	wall = seconds(CLOCK_MONOTONIC);
	cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
	for (long i = 0; i < launches; i++)
		launch(i);
	cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
	wall = seconds(CLOCK_MONOTONIC) - wall;
	printf("ns_per_event %.3f\ncpu_ns_per_event %.3f\n", 1e9 * wall / (double)launches, 1e9 * cpu / (double)launches);
	return 0;
}

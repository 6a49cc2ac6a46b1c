/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one rdtsc and one malloc(64) + free cost on this machine, now: "rdtsc_ns X" and "pair_ns X", the best of nine
 * passes. Figures of the bench are given as ratios to the first, so that they travel between machines.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PASSES = 9, LOOPS = 1000000 };

static uint64_t ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t value;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
#endif
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(void)
{
	double best_ticks = 1e9, best_pair = 1e9;
	volatile uint64_t sink = 0;

	for (int pass = 0; pass < PASSES; pass++) {
		double begin = now();
		for (int i = 0; i < LOOPS; i++)
			sink = ticks();
		double middle = now();
		for (int i = 0; i < LOOPS; i++) {
			void *block = malloc(64);
			__asm__ volatile("" : "+r"(block) : : "memory");
			free(block);
		}
		double end = now();
		best_ticks = middle - begin < best_ticks ? middle - begin : best_ticks;
		best_pair = end - middle < best_pair ? end - middle : best_pair;
	}
	(void)sink;
	printf("rdtsc_ns %.3f\npair_ns %.3f\n", best_ticks / LOOPS, best_pair / LOOPS);
	return 0;
}

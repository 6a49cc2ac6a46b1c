/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocation loop of the bench: 256 live slots, sizes from 16 B to 10 KiB, eight leaf call sites below a stack of a
 * chosen depth. Its one rule: the same arguments make the same calls in the same order, so that two runs differ by the
 * tool alone. Not a program that does anything else: nearly all its time is malloc and free.
 *
 *   loop SHAPE DEPTH PAIRS THREADS
 *
 * SHAPE flat   the last two frames vary from call to call (eight callers, eight leaves)
 *       walk   frames vary as in a depth-first walk of 64 paths, ten pairs on each
 *       adv    every frame is chosen anew at random for each ten pairs (1,024 paths)
 * A pair is one malloc and one free. Prints "ns_per_event X", wall time of the loops / events of one thread, and
 * "cpu_ns_per_event X", processor time of the process in the loops / events of all threads: on a busy machine the truer one.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLOTS = 256, BATCH = 10, WALK_LEVELS = 6, ADV_PATHS = 1024 };

enum shape { FLAT, WALK, ADV };

struct worker {
	enum shape shape;
	int depth;
	long pairs_left;
	uint64_t random;
	void *slot[SLOTS];
	uint64_t path;
};

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

static uint64_t next_random(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

#define LEAF(n) \
	static NOINLINE void *leaf##n(size_t bytes) \
	{ \
		void *block = malloc(bytes); \
		KEEP_FRAME(); \
		return block; \
	}
LEAF(0) LEAF(1) LEAF(2) LEAF(3) LEAF(4) LEAF(5) LEAF(6) LEAF(7)

static void *(*const leaves[8])(size_t) = { leaf0, leaf1, leaf2, leaf3, leaf4, leaf5, leaf6, leaf7 };

/* Three in six below 144 B, two below 1 KiB (both served by the thread cache), one up to 10 KiB. */
static const uint16_t masks[8] = { 127, 127, 127, 127, 1023, 1023, 127, 8191 };

static inline __attribute__((always_inline)) void one_pair(struct worker *w)
{
	uint64_t r = next_random(w);
	void **slot = &w->slot[r % SLOTS];
	size_t bytes = 16 + ((r >> 20) & masks[(r >> 8) & 7]) + ((r >> 8 & 7) == 7 ? (r >> 40) & 2047 : 0);

	free(*slot);
	*slot = leaves[(r >> 12) & 7](bytes);
	*(char *)*slot = 1;
}

static NOINLINE void batch(struct worker *w)
{
	for (int i = 0; i < BATCH; i++)
		one_pair(w);
	w->pairs_left -= BATCH;
	KEEP_FRAME();
}

#define CALLER(n) \
	static NOINLINE void caller##n(struct worker *w) \
	{ \
		one_pair(w); \
		KEEP_FRAME(); \
	}
CALLER(0) CALLER(1) CALLER(2) CALLER(3) CALLER(4) CALLER(5) CALLER(6) CALLER(7)

static void (*const callers[8])(struct worker *) = { caller0, caller1, caller2, caller3, caller4, caller5, caller6, caller7 };

static NOINLINE void flat_bottom(struct worker *w)
{
	for (; w->pairs_left > 0; w->pairs_left--)
		callers[next_random(w) >> 61](w);
	KEEP_FRAME();
}

/* One frame of `levels` more. Each level has two call sites, so that the path shows in the return addresses. */
static NOINLINE void descend(struct worker *w, int levels)
{
	if (levels <= 0) {
		if (w->shape == FLAT)
			flat_bottom(w);
		else
			batch(w);
	} else if (w->shape == WALK && levels <= WALK_LEVELS) {
		descend(w, levels - 1);
		KEEP_FRAME();
		descend(w, levels - 1);
	} else if (w->path >> (levels & 63) & 1) {
		descend(w, levels - 1);
	} else {
		descend(w, levels - 1);
		KEEP_FRAME();
	}
	KEEP_FRAME();
}

/* Frames beside those of descend: main, work, the bottom, a leaf, and in FLAT a caller. Level 0 is a frame as well. */
enum { OTHER_FRAMES_FLAT = 6, OTHER_FRAMES = 5 };

static void *work(void *argument)
{
	struct worker *w = argument;
	int levels = w->depth - (w->shape == FLAT ? OTHER_FRAMES_FLAT : OTHER_FRAMES);

	while (w->pairs_left > 0) {
		w->path = w->shape == ADV ? (next_random(w) % ADV_PATHS) * 0x9e3779b97f4a7c15 : 0;
		if (levels < 0)
			flat_bottom(w);
		else
			descend(w, levels);
	}
	for (int i = 0; i < SLOTS; i++)
		free(w->slot[i]);
	return NULL;
}

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	static struct worker workers[64];
	pthread_t thread[64];

	if (argc != 5)
		return fprintf(stderr, "usage: loop flat|walk|adv DEPTH PAIRS THREADS\n"), 2;
	enum shape shape = strcmp(argv[1], "flat") == 0 ? FLAT : strcmp(argv[1], "walk") == 0 ? WALK : ADV;
	long pairs = atol(argv[3]);
	int threads = atoi(argv[4]);
	double begin = now(CLOCK_MONOTONIC), begin_cpu = now(CLOCK_PROCESS_CPUTIME_ID);

	for (int i = 0; i < threads; i++)
		workers[i] = (struct worker){ .shape = shape, .depth = atoi(argv[2]), .pairs_left = pairs,
					      .random = 0x2545f4914f6cdd1d + (uint64_t)i };
	for (int i = 1; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, &workers[i]) != 0)
			return perror("loop: pthread_create"), 1;
	work(&workers[0]);
	for (int i = 1; i < threads; i++)
		pthread_join(thread[i], NULL);
	double events = 2.0 * (double)pairs;
	printf("ns_per_event %.3f\n", (now(CLOCK_MONOTONIC) - begin) / events);
	printf("cpu_ns_per_event %.3f\n", (now(CLOCK_PROCESS_CPUTIME_ID) - begin_cpu) / (events * threads));
	return 0;
}

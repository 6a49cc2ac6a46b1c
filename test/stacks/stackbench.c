/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a stack costs: same stack, alternating leaves, alternating paths, new code addresses; in ns and in readings of the
 * clock, beside libgcc's unwinder and (where it is installed) libunwind's cached one. stackbench [ROUNDS]
 *
 * Rule: each figure is the best of 15 passes; doubles of writer/store.h keep the log's cost out.
 */
#include "collectors/stacks.h"
#include "test/stacks/flat.h"
#include "test/stacks/noinline.h"
#include "writer/sys.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unwind.h>

#define PASSES 15

static struct tfp_stacks *stacks;
static struct tfp_stack_cache *cache;
#define MOST_NODES (1u << 22)
static uint32_t pcs, node_count;
static uint64_t nodes[MOST_NODES];
static uint32_t last_node;
static volatile uint32_t sink;
static long rounds = 20000;
static double clock_ns;

uint32_t tfp_store_pc(uint64_t pc, uint32_t module, uint32_t flags)
{
	(void)pc;
	(void)module;
	(void)flags;
	return ++pcs;
}

struct tfp_segments *tfp_store_nodes(void)
{
	static struct tfp_segments segments;

	flat_segments(&segments, nodes, MOST_NODES);
	return &segments;
}

uint32_t tfp_store_node(uint32_t parent, uint32_t pc_index)
{
	if (node_count + 1 == MOST_NODES)
		return 0;
	nodes[++node_count] = (uint64_t)parent << 32 | pc_index;
	return node_count;
}

int tfp_store_fact(uint8_t tag, const struct tfp_fact_field *fields, size_t count)
{
	(void)tag;
	(void)fields;
	(void)count;
	return 0;
}

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static inline uint64_t ticks(void)
{
#if defined __x86_64__
	return __builtin_ia32_rdtsc();
#else
	uint64_t value;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
#endif
}

/* Stands for a hook: what it knows of its caller. */
static NOINLINE void capture(void)
{
	uintptr_t *frame = __builtin_frame_address(0);
	uint32_t cut;

	last_node = tfp_stack_capture(stacks, cache, (uintptr_t)__builtin_return_address(0), (uintptr_t)(frame + 2), frame[0], &cut);
}

static NOINLINE void leaf_a(void (*hook)(void))
{
	hook();
	sink = 1;
}

static NOINLINE void leaf_b(void (*hook)(void))
{
	hook();
	sink = 2;
}

static NOINLINE void middle_a(void (*hook)(void))
{
	leaf_a(hook);
	sink = 3;
}

static NOINLINE void middle_b(void (*hook)(void))
{
	leaf_b(hook);
	sink = 4;
}

enum shape { SAME, LEAVES, PATHS, CLOCK };

static NOINLINE void loop(enum shape shape, void (*hook)(void))
{
	for (long i = 0; i < rounds; i++)
		switch (shape) {
		case SAME: leaf_a(hook); break;
		case LEAVES: i & 1 ? leaf_a(hook) : leaf_b(hook); break;
		case PATHS: i & 1 ? middle_a(hook) : middle_b(hook); break;
		case CLOCK: sink = (uint32_t)ticks(); break;
		}
}

static NOINLINE void down(int depth, enum shape shape, void (*hook)(void))
{
	if (depth > 0)
		down(depth - 1, shape, hook);
	else
		loop(shape, hook);
	sink = (uint32_t)depth;
}

static void nothing(void)
{
	sink = 5;
}

/* Best time of one hook call below `depth` frames, without the loop around it. */
static double cost(int depth, enum shape shape, void (*hook)(void))
{
	double best = 1e9, empty = 1e9;

	for (int pass = 0; pass < PASSES; pass++) {
		double begin = now_ns(), middle, end;

		down(depth, shape, hook);
		middle = now_ns();
		down(depth, shape, nothing);
		end = now_ns();
		best = middle - begin < best ? middle - begin : best;
		empty = end - middle < empty ? end - middle : empty;
	}
	return (best - (shape == CLOCK ? 0 : empty)) / (double)rounds;
}

static void *trace[512];
static int (*libunwind_backtrace)(void **buffer, int size);

static void by_libunwind(void)
{
	sink = (uint32_t)libunwind_backtrace(trace, 512);
}

static _Unwind_Reason_Code one(struct _Unwind_Context *context, void *argument)
{
	trace[(*(int *)argument)++] = (void *)_Unwind_GetIP(context);
	return _URC_NO_REASON;
}

static void by_libgcc(void)
{
	int count = 0;

	_Unwind_Backtrace(one, &count);
}

static void row(const char *what, int depth, enum shape shape, void (*hook)(void))
{
	double ns = cost(depth, shape, hook);

	printf("%-28s depth %3d  %8.1f ns  %6.2f clock readings\n", what, depth, ns, ns / clock_ns);
}

/* The first capture of a process includes the headers of three or four objects and a fact for each. */
static void new_addresses(void)
{
	uint32_t before = pcs;
	double begin = now_ns();

	leaf_a(capture);
	printf("%-28s %8.2f us an address (%u of them)\n", "first stack of the process", (now_ns() - begin) / 1e3 / (pcs - before),
	       pcs - before);
	before = pcs;
	begin = now_ns();
	middle_a(capture);
	leaf_b(capture);
	middle_b(capture);
	printf("%-28s %8.2f us an address (%u of them)\n", "new addresses", (now_ns() - begin) / 1e3 / (pcs - before), pcs - before);
}

int main(int count, char **arguments)
{
	void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	static const int depths[] = { 1, 26 };

	if (count > 1)
		rounds = atol(arguments[1]);
	if (library)
		libunwind_backtrace = (int (*)(void **, int))dlsym(library, "unw_backtrace");
	stacks = tfp_stacks_make(64);
	cache = stacks ? tfp_stack_cache_make(stacks) : NULL;
	if (!cache)
		return 1;
	clock_ns = cost(0, CLOCK, nothing);
	printf("one reading of the clock: %.1f ns\n", clock_ns);
	new_addresses();
	/* main, row, cost, down and loop are four frames more, and libc's start two. */
	for (int i = 0; i < 2; i++) {
		row("same stack", depths[i] - 1, SAME, capture);
		row("leaf alternates", depths[i] - 1, LEAVES, capture);
		row("two frames alternate", depths[i] - 1, PATHS, capture);
		row("libgcc's unwinder", depths[i] - 1, SAME, by_libgcc);
		if (libunwind_backtrace)
			row("libunwind's backtrace", depths[i] - 1, SAME, by_libunwind);
	}
	return last_node == 0;
}

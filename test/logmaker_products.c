/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log of steps whose device does products of known sizes, and work that multiplies nothing, in times that are given.
 *
 * Rule: the device computes all the time; what share of its peak it reaches follows from the words alone. Steps wait for it, or not
 * (`waits`): then they launch what it does long after them.
 */
#include "test/logmaker.h"

#include <stdio.h>
#include <stdlib.h>

#define STEPS 30
#define PAIRS 4 /* of a product and another kernel in a step */
#define LAUNCH 200
enum { RECORD_FUNCTION = 5 };
enum { MM = 1, RELU, SHAPES, ALLOCATOR };

struct products {
	struct maker_records *calls, *device;
	uint64_t time, started, realtime, correlation; /* started: when the device is free */
	uint64_t live;				       /* bytes handed out */
};

static void add_block(struct products *made, uint64_t address, uint64_t bytes, unsigned operation)
{
	made->live += operation == 1 ? bytes : 0 - bytes;
	MAKER_ADD(made->calls, made->time, block, .address = address, .bytes = bytes, .total = made->live, .reserved = 2 * made->live,
		  .allocator = ALLOCATOR, .operation = operation);
}

/* `bytes` of its result are handed out in it, at that address. */
static void add_op(struct products *made, uint32_t name, uint32_t shapes, uint64_t ns, uint64_t address, uint64_t bytes)
{
	uint64_t key = ++made->correlation;

	MAKER_ADD(made->calls, made->time += 500, op_begin, .key = key, .name = name, .source = RECORD_FUNCTION, .scope = 0);
	if (shapes)
		MAKER_ADD(made->calls, made->time, op_inputs, .shapes = shapes);
	add_block(made, address, bytes, 1);
	MAKER_ADD(made->calls, made->time += 500, gpu_call, .duration = 200, .correlation = key, .function = LAUNCH, .stack = 1,
		  .flags = 3);
	MAKER_ADD(made->calls, made->time += 500, op_end, .key = key, .source = RECORD_FUNCTION);
	MAKER_ADD(made->device, made->started + ns + 1000, kernel, .start = made->realtime + made->started, .duration = ns,
		  .correlation = key, .shape = name, .queue = 1);
	made->started += ns;
}

static void add_facts(struct maker *maker, unsigned side)
{
	char shapes[80];

	snprintf(shapes, sizeof shapes, "half[%u,%u];half[%u,%u]", side, side, side, side);
	maker_fact(maker, TFP_TAG_setting, (const char *const[]){"CUDA", "cupti", "#0", NULL});
	maker_fact(maker, TFP_TAG_setting, (const char *const[]){"OPS", "shapes", "#0", NULL});
	maker_fact(maker, TFP_TAG_framework, (const char *const[]){"pytorch", "on", "ops", NULL});
	maker_fact(maker, TFP_TAG_op_name, (const char *const[]){"#1", "aten::mm", NULL});
	maker_fact(maker, TFP_TAG_op_name, (const char *const[]){"#2", "aten::relu", NULL});
	maker_fact(maker, TFP_TAG_op_name, (const char *const[]){"#3", shapes, NULL});
	maker_fact(maker, TFP_TAG_op_name, (const char *const[]){"#4", "pytorch cuda:0", NULL});
}

static uint64_t address(unsigned pair, unsigned which)
{
	return UINT64_C(0x700000000000) + (pair * 2 + which) * UINT64_C(0x10000000);
}

void maker_products(struct maker *maker, unsigned side, uint64_t product_ns, uint64_t other_ns, int waits)
{
	const uint64_t bytes = UINT64_C(2) * side * side;
	const struct tfp_thread_slot slots[2] = {{.state = 1, .serial = 1, .tid = 100}, {.state = 1, .serial = 2, .tid = 101}};
	struct products made = {.calls = calloc(1, sizeof *made.calls), .device = calloc(1, sizeof *made.device), .time = 10000};

	if (!made.calls || !made.device)
		abort();
	maker_begin(maker);
	maker_schema(maker, "");
	made.realtime = maker->header.origin.realtime_ns;
	maker_live(maker, TFP_BLOCK_THREADS, NULL, slots, sizeof slots);
	maker->live.threads_count = 2;
	add_facts(maker, side);
	maker_gpu_facts(maker, 2, 1);
	MAKER_ADD(made.device, made.time, gpu_clock, .ticks = maker->header.origin.ticks + made.time, .width = 40,
		  .timestamp = made.realtime + made.time);
	add_block(&made, 1 << 20, 5 * bytes, 1); /* weights: it stays */
	for (uint64_t step = 1; step <= STEPS; step++) {
		MAKER_ADD(made.calls, made.time, step, .number = step);
		made.started = made.started > made.time + 2000 ? made.started : made.time + 2000;
		for (unsigned i = 0; i < PAIRS; i++) {
			add_op(&made, MM, SHAPES, product_ns, address(i, 0), bytes);
			add_op(&made, RELU, 0, other_ns, address(i, 1), bytes / 2);
			add_block(&made, address(i, 1), bytes / 2, 2);
		}
		for (unsigned i = PAIRS; i-- > 0;)
			add_block(&made, address(i, 0), bytes, 2);
		if (waits && made.time < made.started)
			made.time = made.started;
	}
	maker_chunk(maker, 1, 0, 1, made.calls);
	maker_chunk(maker, 2, 0, 1, made.device);
	maker->live.end_kind = TFP_END_EXIT;
	maker->live.end_time = (made.time > made.started ? made.time : made.started) + 2000;
	maker_finish(maker);
	free(made.calls);
	free(made.device);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The merge of every analysis (reducer/analysis/analysis.def) on random spans: associative, commutative, an empty result
 * changes nothing, and telling it in two passes gives the same.
 *
 * Rule: a result is compared by what its `print` says; the seed of a failure is printed and can be set by MERGE_SEED.
 */
#include "reducer/analysis/analysis.h"
#include "reducer/analysis/phases.h"
#include "reducer/model/internal.h"
#include "test/unit/straight_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define PROCESSES 3
#define SPANS 400
#define ROUNDS 20
#define LOOKS 100

static uint64_t seed;

static uint64_t random_below(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static const char *const names[] = {"aten::mm",
				    "model/dense/MatMul:MatMul",
				    "gradient_tape/model/Relu:ReluGrad",
				    "nccl:all_reduce",
				    "ncclDevKernel_AllReduce",
				    "volta_fp16_s884gemm",
				    "sgemm",
				    "Optimizer.step#SGD.step",
				    "Iterator::Prefetch::Map",
				    "step",
				    "autograd::engine::evaluate_function: MulBackward0"};
#define NAMES (sizeof names / sizeof *names)

static struct gpu_shape shapes[] = {
	{.id = 1, .grid = {1, 1, 1}, .block = {32, 1, 1}, .registers = 16},
	{.id = 2, .grid = {2, 1, 1}, .block = {64, 1, 1}, .registers = 32, .static_shared = 128, .dynamic_shared = 256},
};
static struct gpu_device devices[] = {{.id = 0, .name = "one"}, {.id = 1, .name = "two"}};
static struct gpu_function functions[] = {
	{.number = 1, .kind = GPU_LAUNCH, .name = "cudaLaunchKernel", .library = "", .arguments = ""},
	{.number = 2, .kind = GPU_SYNC, .name = "cudaDeviceSynchronize", .library = "", .arguments = ""}};
static struct gpu_queue queues[] = {{.id = 1, .device = 0, .context = 1, .stream = 7},
				    {.id = 2, .device = 1, .context = 2, .stream = 8}};
static struct gpu_gap gaps[][3] = {{{1000, 4000}, {20000, 33000}, {60000, 61000}}, {{5000, 5500}, {30000, 30100}, {70000, 99000}}};
static struct gpu_sweep sweeps[] = {{.device = 0, .gaps = gaps[0], .gap_count = 3, .all_gaps = 5},
				    {.device = 1, .gaps = gaps[1], .gap_count = 3, .all_gaps = 3}};
static struct gpu gpu = {.devices = devices,
			 .device_count = 2,
			 .functions = functions,
			 .function_count = 2,
			 .queues = queues,
			 .queue_count = 2,
			 .sweeps = sweeps,
			 .sweep_count = 2};
static struct iterator iterators[] = {{1, 0, "Iterator::Root", ""}, {2, 1, "Iterator::Root::Map", "a=1"}};
/* In no range, in one that is not followed, a, a > b, a > b > a, b. */
static const struct span_nest nests[] = {
	{.name = "", .domain = ""},
	{.name = "", .domain = "", .number = 1, .is_beyond = 1},
	{.outer = &nests[0], .name = "a", .domain = "", .number = 2, .depth = 1},
	{.outer = &nests[2], .name = "b", .domain = "kitchen", .number = 3, .depth = 2, .source = 1},
	{.outer = &nests[3], .name = "a", .domain = "", .number = 4, .depth = 3, .is_inner = 1},
	{.outer = &nests[0], .name = "b", .domain = "kitchen", .number = 5, .depth = 1, .source = 1},
};
static struct window_range ranges[] = {{INT64_MIN, 40000}, {50000, INT64_MAX}};
static struct straight_clock straight;

static struct span random_span(size_t process)
{
	struct span span = {.what = (enum span_what)random_below(SPAN_WHATS),
			    .process = process,
			    .start_ns = (int64_t)random_below(100000),
			    .duration_ns = random_below(3000),
			    .name = names[random_below(NAMES)],
			    .domain = "",
			    .thread = 1,
			    .source = (uint8_t)random_below(9),
			    .key = random_below(3),
			    .called_ns = TIME_UNKNOWN,
			    .phase = (uint8_t)random_below(PHASES + 1),
			    .depth = (uint32_t)random_below(4),
			    .number = random_below(20),
			    .device = GPU_NONE,
			    .context = GPU_NONE,
			    .stream = GPU_NONE,
			    .function = GPU_NONE};

	span.category = span_what_name(span.what);
	span.track = span.thread = 1 + (uint32_t)random_below(3);
	span.self_ns = random_below(span.duration_ns + 1);
	span.op = random_below(2) ? names[random_below(NAMES)] : NULL;
	span.is_open = random_below(20) == 0;
	span.inputs = random_below(2) ? names[random_below(NAMES)] : NULL;
	span.kind = span.what == SPAN_MARK || span.what == SPAN_WINDOW ? SPAN_INSTANT : SPAN_WHOLE;
	span.on = span.what == SPAN_STEP ? SPAN_PROCESS : SPAN_THREAD;
	if (span.what == SPAN_CALL) {
		span.function = (uint32_t)random_below(2);
		span.call = functions[span.function].kind;
	}
	if (span.what >= SPAN_KERNEL && span.what <= SPAN_GRAPH) {
		span.on = SPAN_QUEUE;
		span.track = (uint32_t)random_below(2);
		span.device = queues[span.track].device;
		span.context = queues[span.track].context;
		span.stream = queues[span.track].stream;
		span.nest = span.start_ns % 7 < 6 ? &nests[span.start_ns % 7] : NULL;
		span.shape = &shapes[random_below(2)];
		span.bytes = random_below(4096);
		span.copy_kind = (uint32_t)random_below(11);
		span.from_memory = (uint8_t)random_below(4);
		span.to_memory = (uint8_t)random_below(4);
		span.called_ns = random_below(2) ? span.start_ns - (int64_t)random_below(500) : TIME_UNKNOWN;
	}
	return span;
}

/* Few addresses, so that blocks are given back. */
static void make_block(struct span *span, struct span_block *block)
{
	static const char *const regions[] = {NULL, "output", "temp", "persist/dynamic"};

	if (span->what != SPAN_BLOCK)
		return;
	*block = (struct span_block){.op = names[random_below(NAMES)],
				     .region = regions[random_below(4)],
				     .address = 16 * (1 + random_below(20)),
				     .requested = random_below(100),
				     .type = (uint32_t)random_below(4),
				     .is_release = random_below(3) == 0};
	span->kind = SPAN_INSTANT;
	span->bytes = block->requested + random_below(50);
	span->block = block;
}

/* Of what was counted, and of what holds it. */
static void make_flops(struct span *span, struct span_flops *flops)
{
	if (span->what != SPAN_FLOPS)
		return;
	*flops = (struct span_flops){.flops = {.count = random_below(1000),
					       .type = (enum flops_type)random_below(FLOPS_TYPES),
					       .is_known = 1},
				     .origin = (enum flops_origin)random_below(FLOPS_ORIGINS),
				     .is_counted = random_below(2),
				     .is_innermost = random_below(2),
				     .is_inner = random_below(3) == 0};
	span->flops = flops;
}

struct world {
	struct run run;
	struct process processes[PROCESSES];
	struct step steps[PROCESSES][8];
	struct thread threads[3];
	struct python_look looks[PROCESSES][LOOKS];
	struct analysis_input inputs[PROCESSES];
	struct analysis_options options;
	struct span spans[PROCESSES][SPANS];
	struct span_block blocks[PROCESSES][SPANS];
	struct span_flops flops[PROCESSES][SPANS];
};

static void make_world(struct world *world)
{
	*world = (struct world){.run = {.process_count = PROCESSES, .name = "0", .duration_ns = 100000}};
	world->run.processes = world->processes;
	for (uint32_t t = 0; t < 3; t++)
		world->threads[t] = (struct thread){.serial = t + 1, .tid = 100 + t};
	for (size_t p = 0; p < PROCESSES; p++) {
		for (size_t s = 0; s < 8; s++)
			world->steps[p][s] = (struct step){.time_ns = (int64_t)(s * 12000 + random_below(5000)),
							   .end_ns = TIME_UNKNOWN,
							   .number = s + 1,
							   .thread = 1,
							   .name = "train",
							   .confidence = 1,
							   .is_chosen = 1};
		for (size_t l = 0; l < LOOKS; l++)
			world->looks[p][l] = (struct python_look){.time_ns = (int64_t)random_below(100000), .wall_ns = 1000, .thread = 1};
		world->processes[p] = (struct process){.log_id = 10 + p,
						       .pid = (uint32_t)(100 + p),
						       .command = "train",
						       .end_ns = 100000,
						       .steps = world->steps[p],
						       .step_count = p == 1 ? 0 : 8,
						       .threads = world->threads,
						       .thread_count = 3,
						       .ranges = ranges,
						       .range_count = 2,
						       .iterators = iterators,
						       .iterator_count = 2,
						       .python = {.looks = world->looks[p], .look_count = LOOKS},
						       .gpu = &gpu};
		if (p == 0)
			straight_clock_set(&straight, &world->processes[p], &gpu);
		world->processes[p].log = &straight.log;
		world->processes[p].clock = &straight.map;
		world->inputs[p] = (struct analysis_input){
			.run = &world->run, .process = &world->processes[p], .index = p, .options = &world->options};
		for (size_t i = 0; i < SPANS; i++)
			world->spans[p][i] = random_span(p);
		for (size_t i = 0; i < SPANS; i++) {
			make_block(&world->spans[p][i], &world->blocks[p][i]);
			make_flops(&world->spans[p][i], &world->flops[p][i]);
		}
	}
}

/* The result of process `p`; SIZE_MAX: an empty one. */
static void *result_of(const struct world *world, const struct analysis_kind *kind, size_t p)
{
	void *result = kind->begin(p == SIZE_MAX ? NULL : &world->inputs[p]);

	for (size_t i = 0; p != SIZE_MAX && i < SPANS; i++)
		if (kind->wants & SPAN_BIT(world->spans[p][i].what))
			kind->span(result, &world->spans[p][i]);
	if (kind->end && p != SIZE_MAX)
		kind->end(result);
	return result;
}

/* Merges by a recipe: numbers are results pushed, '+' merges the last into the one before it. */
static char *merged(const struct world *world, const struct analysis_kind *kind, const char *recipe)
{
	void *stack[8];
	size_t count = 0;
	struct text text = {0};

	for (; *recipe; recipe++) {
		if (*recipe == '+') {
			kind->merge(stack[count - 2], stack[count - 1]);
			kind->free(stack[--count]);
		} else {
			stack[count++] = result_of(world, kind, *recipe == 'e' ? SIZE_MAX : (size_t)(*recipe - '0'));
		}
	}
	assert_int_equal(count, 1);
	text_string(&text, "");
	kind->print(stack[0], &text);
	kind->free(stack[0]);
	return text.bytes;
}

static void same(const struct world *world, const struct analysis_kind *kind, const char *one, const char *other, uint64_t start)
{
	char *a = merged(world, kind, one), *b = merged(world, kind, other);

	if (strcmp(a, b) != 0)
		fail_msg("%s: %s is not %s (MERGE_SEED=%llu)\n%s\n---\n%s", kind->name, one, other, (unsigned long long)start, a,
			 b);
	free(a);
	free(b);
}

static void merges(void **state)
{
	struct world *world = calloc(1, sizeof *world);
	const char *given = getenv("MERGE_SEED");

	(void)state;
	seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 2654435761u + 1;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = seed;
		make_world(world);
		for (size_t k = 0; k < analysis_kind_count; k++) {
			const struct analysis_kind *kind = analysis_kinds[k];
			same(world, kind, "01+2+", "012++", start);
			same(world, kind, "01+2+", "21+0+", start);
			same(world, kind, "01+", "10+", start);
			same(world, kind, "0", "e0+", start);
			same(world, kind, "2", "2e+", start);
		}
	}
	clock_free(&straight.map);
	free(world);
}

/* What is merged must say more than what is not, or `print` shows nothing and the test above proves nothing. */
static void prints_what_it_holds(void **state)
{
	struct world *world = calloc(1, sizeof *world);

	(void)state;
	seed = 8;
	make_world(world);
	for (size_t k = 0; k < analysis_kind_count; k++) {
		char *one = merged(world, analysis_kinds[k], "0"), *both = merged(world, analysis_kinds[k], "02+");
		if (strcmp(one, both) == 0 || !one[0])
			fail_msg("%s prints the same for one and for two processes:\n%s", analysis_kinds[k]->name, one);
		free(one);
		free(both);
	}
	clock_free(&straight.map);
	free(world);
}

/* An analysis that holds a row a process, and goes through what it merges. */
#define RANKS 4096
struct held {
	size_t rows;
};
static size_t looked_at;

static void *begin_held(const struct analysis_input *input)
{
	struct held *held = base_alloc(1, sizeof *held);

	held->rows = input != NULL;
	return held;
}

static void merge_held(void *into, const void *from)
{
	struct held *held = into;

	held->rows += ((const struct held *)from)->rows;
	looked_at += held->rows;
}

static void free_held(void *result)
{
	free(result);
}

static void merging_many_processes_is_not_quadratic(void **state)
{
	static const struct analysis_kind kind = {.name = "held", .begin = begin_held, .merge = merge_held, .free = free_held};
	static const struct analysis_options options;
	struct run_storage storage = {.jobs = 1};
	struct run run = {.process_count = RANKS, .private = &storage};
	struct analyses *analyses;

	(void)state;
	run.processes = calloc(RANKS, sizeof *run.processes);
	analyses = analyses_open(&run, &options, NULL, NULL);
	assert_int_equal(((const struct held *)analyses_whole(analyses, &kind))->rows, RANKS);
	assert_true(looked_at < 32 * RANKS); /* one after the other it was half of its square: 2048 for each */
	analyses_free(analyses);
	free(run.processes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(merges), cmocka_unit_test(prints_what_it_holds),
					   cmocka_unit_test(merging_many_processes_is_not_quadratic)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of the analysis of loading: loaders, reads and copies made by hand go in, what they took comes out.
 *
 * Rule: the cases are named for what they are.
 */
#include "reducer/analysis/input_kinds.h"
#include "reducer/analysis/loading.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define US 1000

static void *result;

/* A process with steps of 100 us on thread 1, and a worker process below it. */

static struct process family[2];
static struct step steps[3];
static struct thread threads[2] = {{.serial = 1, .tid = 100}, {.serial = 2, .tid = 101}};
static struct run both = {.processes = family, .process_count = 2};
static struct analysis_input inputs[2] = {{.run = &both, .process = &family[0], .index = 0},
					  {.run = &both, .process = &family[1], .index = 1}};

static void begin_loading(size_t which, int64_t marked_us)
{
	for (size_t i = 0; i < 3; i++)
		steps[i] = (struct step){.time_ns = (int64_t)i * 100 * US,
					 .end_ns = marked_us ? ((int64_t)i * 100 + marked_us) * US : TIME_UNKNOWN,
					 .number = i + 1,
					 .thread = 1,
					 .is_chosen = 1};
	family[0] = (struct process){.log_id = 1,
				     .pid = 10,
				     .parent = PROCESS_NONE,
				     .threads = threads,
				     .thread_count = 2,
				     .steps = steps,
				     .step_count = 3,
				     .end_ns = 1000 * US};
	family[1] =
		(struct process){.log_id = 2, .pid = 11, .parent = 0, .threads = threads, .thread_count = 2, .end_ns = 1000 * US};
	result = analysis_loading.begin(&inputs[which]);
}

static void tell(enum span_what what, const char *name, uint32_t thread, uint32_t depth, int64_t from, int64_t to)
{
	analysis_loading.span(result, &(struct span){.what = what,
						     .name = name,
						     .thread = thread,
						     .depth = depth,
						     .source = 5,
						     .start_ns = from * US,
						     .duration_ns = (uint64_t)(to - from) * US,
						     .self_ns = (uint64_t)(to - from) * US});
}

static const struct loading_row *loaded(void)
{
	analysis_loading.end(result);
	return &((const struct loading *)result)->rows[0];
}

static int drop_loading(void **state)
{
	(void)state;
	analysis_loading.free(result);
	result = NULL;
	return 0;
}

#define ONE "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
#define MANY "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"

static const struct loading_op *op_of(const char *name)
{
	const struct loading *found = result;

	for (size_t i = 0; i < found->op_count; i++)
		if (strcmp(found->ops[i].name, name) == 0)
			return &found->ops[i];
	fail_msg("%s is no op of the input", name);
	return NULL;
}

/* What a loader's call holds is its own; what came before it is not. */
static void loader_owns_what_began_in_it(void **state)
{
	(void)state;
	begin_loading(0, 0);
	tell(SPAN_OP, "aten::stack", 1, 0, 1, 4);
	tell(SPAN_READ, "/data/before", 1, 0, 4, 5);
	tell(SPAN_READ, "/data/sample", 1, 1, 11, 21);
	tell(SPAN_OP, "aten::cat", 1, 2, 31, 33); /* part of stack */
	tell(SPAN_OP, "aten::stack", 1, 1, 30, 35);
	tell(SPAN_OP, ONE, 1, 0, 10, 60);
	const struct loading_row *row = loaded();
	assert_int_equal(row->ns[LOADING_LOADER], 50 * US);
	assert_int_equal(row->ns[LOADING_LOADER_READS], 10 * US);
	assert_int_equal(row->ns[LOADING_LOADER_COLLATE], 5 * US);
	assert_int_equal(row->ns[LOADING_DEMAND_READS], 11 * US);
	assert_false(row->has_workers);
}

/* aten::pin_memory holds aten::_pin_memory: its time counts once, of each name what it took. */
static void what_is_pinned_counts_once(void **state)
{
	(void)state;
	begin_loading(0, 0);
	tell(SPAN_OP, "aten::_pin_memory", 2, 1, 12, 30);
	tell(SPAN_OP, "aten::pin_memory", 2, 0, 10, 31);
	assert_int_equal(loaded()->ns[LOADING_PINNING], 21 * US);
	assert_int_equal(op_of("aten::_pin_memory")->total_ns, 18 * US);
	assert_int_equal(op_of("aten::pin_memory")->category, INPUT_ENQUEUE);
}

/* What workers prepare is in their ops; the loop's own call waits for them. */
static void a_loop_that_waits_for_workers_prepares_nothing(void **state)
{
	(void)state;
	begin_loading(0, 0);
	tell(SPAN_OP, MANY, 1, 0, 10, 60);
	loaded();
	assert_int_equal(op_of(MANY)->category, INPUT_OTHER);
	analysis_loading.free(result);
	begin_loading(0, 0);
	tell(SPAN_OP, ONE, 1, 0, 10, 60);
	loaded();
	assert_int_equal(op_of(ONE)->category, INPUT_PREPROCESSING);
}

/* A thread may do many ops between two calls of a loader: those are forgotten, and nobody misses them. */
static void only_ops_of_a_loader_are_missed(void **state)
{
	(void)state;
	begin_loading(0, 0);
	for (int i = 0; i < 40000; i++)
		tell(SPAN_OP, "aten::add", 1, 0, 1, 2);
	tell(SPAN_OP, ONE, 1, 0, 10, 60);
	assert_int_equal(loading_row_of(result, family[0].log_id)->forgotten, 0);
	for (int i = 0; i < 40000; i++)
		tell(SPAN_OP, "aten::add", 1, 1, 70, 71);
	tell(SPAN_OP, ONE, 1, 0, 65, 90);
	assert_true(loaded()->forgotten > 0);
}

/* Code and libraries are no data; other threads read ahead; a loader on another thread is no wait. */
static void reads_are_told_apart(void **state)
{
	(void)state;
	begin_loading(0, 0);
	tell(SPAN_READ, "/usr/lib/python3/module.py", 1, 0, 1, 2);
	tell(SPAN_READ, "/proc/self/maps", 1, 0, 2, 3);
	tell(SPAN_READ, "/data/a", 2, 0, 1, 8);
	tell(SPAN_READ, "(pipe)", 2, 0, 8, 10);
	tell(SPAN_READ, "(internet socket)", 1, 0, 10, 14);
	tell(SPAN_OP, ONE, 2, 0, 20, 90);
	const struct loading_row *row = loaded();
	assert_int_equal(row->ns[LOADING_DEMAND_READS], 4 * US);
	assert_int_equal(row->ns[LOADING_DEMAND_NETWORK], 4 * US);
	assert_int_equal(row->ns[LOADING_ADVANCE_READS], 7 * US);
	assert_int_equal(row->ns[LOADING_QUEUE_READS], 2 * US);
	assert_int_equal(row->counts[LOADING_LOADER], 0);
}

/* Steps last 40 us as marked; what waits behind that mark is outside. */
static void iterator_outside_of_the_step(void **state)
{
	(void)state;
	begin_loading(0, 40);
	tell(SPAN_RANGE, "input", 1, 0, 10, 20);
	tell(SPAN_RANGE, "input", 1, 0, 150, 180);
	const struct loading_row *row = loaded();
	assert_int_equal(row->ns[LOADING_INSIDE], 10 * US);
	assert_int_equal(row->ns[LOADING_OUTSIDE], 30 * US);
	assert_int_equal(row->ns[LOADING_RANGES], 40 * US);
}

/* What lies before the first step and behind the last one's begin (it has no end) does not count. */
static void time_outside_of_steps_does_not_count(void **state)
{
	(void)state;
	begin_loading(0, 0);
	steps[0].time_ns = 50 * US;
	analysis_loading.end(result);
	analysis_loading.free(result);
	result = analysis_loading.begin(&inputs[0]);
	tell(SPAN_READ, "/data/a", 1, 0, 10, 20);
	tell(SPAN_READ, "/data/a", 1, 0, 60, 70);
	tell(SPAN_READ, "/data/a", 1, 0, 250, 270);
	const struct loading_row *row = loaded();
	assert_int_equal(row->window_ns, 150 * US);
	assert_int_equal(row->ns[LOADING_DEMAND_READS], 10 * US);
}

/* A worker gets an index by a pipe, reads, makes samples, puts them together; then it waits for the next one. */
static void worker_is_busy_from_index_to_last_work(void **state)
{
	(void)state;
	begin_loading(1, 0);
	tell(SPAN_READ, "(pipe)", 1, 0, 5, 10);
	tell(SPAN_READ, "/data/sample", 1, 0, 12, 20);
	tell(SPAN_OP, "aten::stack", 1, 0, 30, 40);
	tell(SPAN_READ, "(pipe)", 1, 0, 90, 100);
	tell(SPAN_OP, "aten::rand", 1, 0, 110, 120);
	const struct loading_row *row = loaded();
	assert_false(row->has_steps);
	assert_int_equal(row->counts[LOADING_BUSY], 2);
	assert_int_equal(row->ns[LOADING_BUSY], (30 + 20) * US);
	assert_int_equal(row->ns[LOADING_WORKER_READS], 8 * US);
	assert_int_equal(row->ns[LOADING_WORKER_COLLATE], 10 * US);
	assert_int_equal(row->ns[LOADING_ALIVE], (120 - 10) * US);
}

/* A spawned worker is told how to start, and imports; then it is as any other. Code that it reads later may be its data. */
static void start_of_a_spawned_worker_is_no_batch(void **state)
{
	(void)state;
	begin_loading(1, 0);
	tell(SPAN_READ, "(pipe)", 1, 0, 1, 2);
	tell(SPAN_READ, "/usr/lib/python3/torch.pyc", 1, 0, 3, 4);
	tell(SPAN_OP, "aten::rand", 1, 0, 40, 50);
	tell(SPAN_READ, "(pipe)", 1, 0, 60, 65);
	tell(SPAN_READ, "/data/corpus.py", 1, 0, 66, 67);
	tell(SPAN_OP, "aten::stack", 1, 0, 70, 75);
	const struct loading_row *row = loaded();
	assert_int_equal(row->counts[LOADING_BUSY], 1);
	assert_int_equal(row->ns[LOADING_BUSY], 10 * US);
	assert_int_equal(row->ns[LOADING_ALIVE], 10 * US);
}

/* The worker starts at 50 us: the call around it waits for that; the first one counts apart, whatever started. */
static void starts_of_workers_count_apart(void **state)
{
	(void)state;
	begin_loading(0, 0);
	family[1].start_ns = 50 * US;
	analysis_loading.end(result);
	analysis_loading.free(result);
	result = analysis_loading.begin(&inputs[0]);
	tell(SPAN_OP, MANY, 1, 0, 10, 20);
	tell(SPAN_OP, MANY, 1, 0, 40, 70);
	tell(SPAN_OP, MANY, 1, 0, 80, 85);
	const struct loading_row *row = loaded();
	assert_int_equal(row->counts[LOADING_LOADER], 3);
	assert_int_equal(row->ns[LOADING_FIRST], 10 * US);
	assert_int_equal(row->counts[LOADING_STARTS], 1);
	assert_int_equal(row->ns[LOADING_STARTS], 30 * US);
}

/* The call in which the worker ends has no batch: an epoch is over. */
static void ends_of_workers_count_apart(void **state)
{
	(void)state;
	begin_loading(0, 0);
	family[1].start_ns = 15 * US;
	family[1].end_ns = 75 * US;
	analysis_loading.end(result);
	analysis_loading.free(result);
	result = analysis_loading.begin(&inputs[0]);
	tell(SPAN_OP, MANY, 1, 0, 10, 20);
	tell(SPAN_OP, MANY, 1, 0, 40, 45);
	tell(SPAN_OP, MANY, 1, 0, 50, 90);
	tell(SPAN_OP, MANY, 1, 0, 92, 95);
	const struct loading_row *row = loaded();
	assert_int_equal(row->counts[LOADING_LOADER], 4);
	assert_int_equal(row->counts[LOADING_STARTS], 0);
	assert_int_equal(row->counts[LOADING_ENDS], 1);
	assert_int_equal(row->ns[LOADING_ENDS], 40 * US);
}

static void workers_are_known_by_the_loader(void **state)
{
	(void)state;
	begin_loading(0, 0);
	tell(SPAN_OP, MANY, 1, 0, 10, 60);
	assert_true(loaded()->has_workers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(loader_owns_what_began_in_it, drop_loading),
		cmocka_unit_test_teardown(only_ops_of_a_loader_are_missed, drop_loading),
		cmocka_unit_test_teardown(what_is_pinned_counts_once, drop_loading),
		cmocka_unit_test_teardown(a_loop_that_waits_for_workers_prepares_nothing, drop_loading),
		cmocka_unit_test_teardown(reads_are_told_apart, drop_loading),
		cmocka_unit_test_teardown(iterator_outside_of_the_step, drop_loading),
		cmocka_unit_test_teardown(time_outside_of_steps_does_not_count, drop_loading),
		cmocka_unit_test_teardown(worker_is_busy_from_index_to_last_work, drop_loading),
		cmocka_unit_test_teardown(start_of_a_spawned_worker_is_no_batch, drop_loading),
		cmocka_unit_test_teardown(workers_are_known_by_the_loader, drop_loading),
		cmocka_unit_test_teardown(starts_of_workers_count_apart, drop_loading),
		cmocka_unit_test_teardown(ends_of_workers_count_apart, drop_loading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

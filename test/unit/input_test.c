/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of the input analyses: calls of iterators, loops and reads made by hand go in, what was waited for comes out.
 *
 * Rule: the cases are named for what they are; numbers of the TensorFlow Profiler's own tests stand here as it expects them.
 */
#include "reducer/analysis/input_kinds.h"
#include "reducer/analysis/pipelines.h"
#include "reducer/tables/input_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define US 1000
#define ITERATOR_SOURCE 8 /* row of range_sources.def */

static struct process process;
static struct run run = {.processes = &process, .process_count = 1};
static struct analysis_input input = {.run = &run, .process = &process};
static void *result;

static void begin(struct iterator *iterators, size_t count)
{
	process = (struct process){.log_id = 1, .pid = 10, .iterators = iterators, .iterator_count = count};
	result = analysis_pipelines.begin(&input);
}

static void call(uint32_t thread, uint64_t node, const char *name, int64_t from, int64_t to)
{
	analysis_pipelines.span(result, &(struct span){.what = SPAN_OP,
						       .source = ITERATOR_SOURCE,
						       .thread = thread,
						       .key = node,
						       .name = name,
						       .start_ns = from * US,
						       .duration_ns = (uint64_t)(to - from) * US});
}

static const struct pipelines *done(void)
{
	analysis_pipelines.end(result);
	return result;
}

static const struct pipeline_node *node(const char *name)
{
	const struct pipelines *all = result;

	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->nodes[i].name, name) == 0)
			return &all->nodes[i];
	fail_msg("there is no node %s", name);
	return NULL;
}

static int tear_down(void **state)
{
	(void)state;
	if (result)
		analysis_pipelines.free(result);
	result = NULL;
	return 0;
}

/* Prefetch [0, 100], [200, 220]; on another thread Range [0, 80], [100, 180]. */
static void xprof_8_prefetch_waits_for_range(void **state)
{
	struct iterator nodes[] = {{123, 0, "Iterator::Prefetch", ""}, {456, 123, "Iterator::Prefetch::Range", ""}};

	(void)state;
	begin(nodes, 2);
	call(2, 456, "Iterator::Prefetch::Range", 0, 80);
	call(1, 123, "Iterator::Prefetch", 0, 100);
	call(2, 456, "Iterator::Prefetch::Range", 100, 180);
	call(1, 123, "Iterator::Prefetch", 200, 220);
	const struct pipelines *all = done();
	const struct pipeline_node *root = node("Iterator::Prefetch"), *range = node("Iterator::Prefetch::Range");
	assert_int_equal(root->total_ns / root->calls, 60 * US);
	assert_int_equal(root->min_ns, 20 * US);
	assert_int_equal(root->max_ns, 100 * US);
	assert_int_equal(root->slow_calls, 1);
	assert_false(root->is_device);
	assert_ptr_equal(pipelines_bottleneck(all, root), range);
	assert_ptr_equal(pipelines_longest(all, root), range);
	assert_int_equal(range->longest_ns, 80 * US);
	assert_int_equal(range->calls, 2);
	assert_int_equal(range->blocking_calls, 1); /* the second call of the root waits for nothing below it */
	assert_int_equal(root->self_ns, (20 + 20) * US);
	assert_ptr_equal(pipelines_above(all, range), root);
	assert_ptr_equal(pipelines_root(all, range), root);
}

/* Prefetch 30 and 100 over a Generator of 80: a pipeline that feeds a device. */
static void xprof_9_device_pipeline(void **state)
{
	struct iterator nodes[] = {{1, 0, "Iterator::Prefetch", ""}, {2, 1, "Iterator::Prefetch::Generator", ""}};

	(void)state;
	begin(nodes, 2);
	call(1, 1, "Iterator::Prefetch", 0, 30);
	call(1, 2, "Iterator::Prefetch::Generator", 110, 190);
	call(1, 1, "Iterator::Prefetch", 100, 200);
	done();
	const struct pipeline_node *root = node("Iterator::Prefetch");
	assert_true(root->is_device);
	assert_int_equal(root->total_ns / root->calls, 65 * US);
	assert_int_equal(root->min_ns, 30 * US);
	assert_int_equal(root->max_ns, 100 * US);
	assert_int_equal(root->slow_calls, 1);
}

/* MapAndBatch [0, 100]; its producers ask Range at [0, 30] and [40, 70]. */
static void xprof_10_map_and_batch(void **state)
{
	struct iterator nodes[] = {{123, 0, "Iterator::MapAndBatch", ""}, {456, 123, "Iterator::MapAndBatch::Range", ""}};

	(void)state;
	begin(nodes, 2);
	call(2, 456, "Iterator::MapAndBatch::Range", 0, 30);
	call(3, 456, "Iterator::MapAndBatch::Range", 40, 70);
	call(1, 123, "Iterator::MapAndBatch", 0, 100);
	done();
	assert_int_equal(node("Iterator::MapAndBatch")->self_ns, 40 * US);
	assert_int_equal(node("Iterator::MapAndBatch::Range")->self_ns, 60 * US);
	assert_int_equal(node("Iterator::MapAndBatch::Range")->blocking_calls, 2);
}

/* A call below that goes on when the root's call is over counts only while that waited. */
static void work_ahead_is_not_waited_for(void **state)
{
	struct iterator nodes[] = {{1, 0, "Iterator::Root", ""}, {2, 1, "Iterator::Root::Map", ""}};

	(void)state;
	begin(nodes, 2);
	call(1, 1, "Iterator::Root", 0, 60);
	call(2, 2, "Iterator::Root::Map", 50, 1000);
	call(1, 1, "Iterator::Root", 2000, 2010);
	done();
	assert_int_equal(node("Iterator::Root::Map")->self_ns, 10 * US);
	assert_int_equal(node("Iterator::Root")->self_ns, (50 + 10) * US);
}

/* A loop over a dataset inside a function: what its body asks is a pipeline, what runs the body is none. */
static void the_body_of_a_loop_is_no_input(void **state)
{
	struct iterator nodes[] = {{1, 0, "ReduceIterator::Root", ""},
				   {2, 1, "ReduceIterator::Root::Scan", ""},
				   {3, 2, "ReduceIterator::Root::Scan::Batch", ""},
				   {4, 3, "ReduceIterator::Root::Scan::Batch::Range", ""}};

	(void)state;
	begin(nodes, 4);
	call(1, 4, "ReduceIterator::Root::Scan::Batch::Range", 0, 60);
	call(1, 3, "ReduceIterator::Root::Scan::Batch", 0, 70);
	call(1, 2, "ReduceIterator::Root::Scan", 0, 900);
	call(1, 1, "ReduceIterator::Root", 0, 1000);
	const struct pipelines *all = done();
	const struct pipeline_node *root = node("ReduceIterator::Root::Scan::Batch");
	assert_int_equal(all->count, 2);
	assert_true(root->is_root);
	assert_int_equal(root->total_ns, 70 * US);
	assert_ptr_equal(pipelines_bottleneck(all, root), node("ReduceIterator::Root::Scan::Batch::Range"));
}

/* The parts above: an iterator is waited for only where the one that asks it is. */
static void blocking_goes_down_the_chain(void **state)
{
	struct iterator nodes[] = {{1, 0, "Iterator::Root", ""},
				   {2, 1, "Iterator::Root::Prefetch", ""},
				   {3, 2, "Iterator::Root::Prefetch::Map", ""}};

	(void)state;
	begin(nodes, 3);
	call(1, 2, "Iterator::Root::Prefetch", 0, 10);
	call(2, 3, "Iterator::Root::Prefetch::Map", 20, 90);
	call(1, 1, "Iterator::Root", 0, 100);
	const struct pipelines *all = done();
	assert_int_equal(node("Iterator::Root::Prefetch::Map")->self_ns, 0);
	assert_ptr_equal(pipelines_bottleneck(all, node("Iterator::Root")), node("Iterator::Root"));
}

/* One pipeline an epoch, and one of another shape. */
static void epochs_share_a_row(void **state)
{
	struct iterator nodes[] = {{1, 0, "Iterator::Root", ""},	   {2, 1, "Iterator::Root::Map", ""},
				   {3, 0, "Iterator::Root", ""},	   {4, 3, "Iterator::Root::Map", ""},
				   {5, 0, "Iterator::Root", ""},	   {6, 5, "Iterator::Root::Batch", ""},
				   {7, 0, "Iterator::Root", "never asked"}};
	size_t roots = 0;

	(void)state;
	begin(nodes, 7);
	for (uint64_t root = 1; root < 7; root += 2) {
		int64_t at = (int64_t)root * 1000;
		call(1, root + 1, "", at + 10, at + 70);
		call(1, root, "", at, at + 80);
	}
	const struct pipelines *all = done();
	for (size_t i = 0; i < all->count; i++)
		roots += all->nodes[i].is_root;
	assert_int_equal(roots, 2);
	assert_int_equal(node("Iterator::Root::Map")->calls, 2);
	assert_int_equal(node("Iterator::Root::Batch")->calls, 1);
	assert_int_equal(pipelines_root(all, node("Iterator::Root::Map"))->made, 2);
}

/* Without facts (another tool's log), TraceMe events say who is who; the innermost are told first. */
static void traces_name_their_parents(void **state)
{
	struct span_argument of_map[] = {{"id", NULL, 77}, {"parent_id", NULL, 55}}, of_root[] = {{"id", NULL, 55}};

	(void)state;
	begin(NULL, 0);
	analysis_pipelines.span(result, &(struct span){.what = SPAN_TRACE,
						       .name = "Iterator::Root::Map[3]",
						       .start_ns = 10 * US,
						       .duration_ns = 70 * US,
						       .arguments = of_map,
						       .argument_count = 2});
	analysis_pipelines.span(result, &(struct span){.what = SPAN_TRACE,
						       .name = "Iterator::Root",
						       .start_ns = 0,
						       .duration_ns = 100 * US,
						       .arguments = of_root,
						       .argument_count = 1});
	const struct pipelines *all = done();
	assert_ptr_equal(pipelines_bottleneck(all, node("Iterator::Root")), node("Iterator::Root::Map"));
	assert_int_equal(node("Iterator::Root::Map")->self_ns, 70 * US);
}

static void foreign_numbers_do_no_harm(void **state)
{
	struct iterator nodes[] = {{1, 9, "Iterator::Root", ""}, {2, 1, "", ""}};

	(void)state;
	begin(nodes, 2);
	call(1, 1, "x", 0, 5);
	call(1, 2, "x", 0, 0);
	call(1, 3, "x", 0, 5);
	assert_int_equal(done()->count, 2);
}

static struct span named(enum span_what what, const char *name, uint32_t thread)
{
	return (struct span){.what = what, .name = name, .thread = thread};
}

static void waits_are_known_by_name_and_thread(void **state)
{
	static const struct {
		enum span_what what;
		const char *name;
		uint32_t thread;
		bool is_wait;
		enum input_loops loops;
	} cases[] = {
		{SPAN_OP, "Iterator::Root", 7, true, LOOPS_IN_SCAN},
		{SPAN_OP, "SingleElementIterator::Root", 7, true, LOOPS_PLAIN},
		{SPAN_OP, "ReduceIterator::Root", 7, true, LOOPS_PLAIN},
		{SPAN_OP, "ReduceIterator::Root", 7, false, LOOPS_IN_SCAN},
		{SPAN_OP, "ReduceIterator::Root", 7, false, LOOPS_UNKNOWN},
		{SPAN_OP, "ReduceIterator::Root::Scan", 7, false, LOOPS_IN_SCAN},
		{SPAN_OP, "ReduceIterator::Root::Scan::Batch", 7, true, LOOPS_IN_SCAN},
		{SPAN_OP, "ReduceIterator::Root::Scan::Batch::Scan::Map", 7, false, LOOPS_IN_SCAN},
		{SPAN_OP, "Iterator::Root", 7, true},
		{SPAN_OP, "Iterator::Root::Map", 7, false},
		{SPAN_OP, "IteratorGetNextAsOptional", 1, true},
		{SPAN_OP, "IteratorGetNext:IteratorGetNext", 7, true},
		{SPAN_OP, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, true},
		{SPAN_OP, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 2, false},
		{SPAN_RANGE, "Next Batch", 1, true},
		{SPAN_RANGE, "next batch", 2, false},
		{SPAN_OP, "data", 1, false},
		{SPAN_KERNEL, "Iterator::Root", 1, false},
		{SPAN_RANGE, "forward", 1, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct span span = named(cases[i].what, cases[i].name, cases[i].thread);
		if (input_is_wait(&span, cases[i].loops, 1) != cases[i].is_wait)
			fail_msg("%s on thread %u", cases[i].name, cases[i].thread);
	}
}

static void readers_are_sorted_by_what_stands_above(void **state)
{
	static const struct {
		const char *name;
		enum input_category category;
	} cases[] = {
		{"Iterator::Root::Map::TFRecord", INPUT_DEMAND_READ},
		{"Iterator::Root::TextLine", INPUT_DEMAND_READ},
		{"Iterator::Root::FixedLengthRecordV2", INPUT_DEMAND_READ},
		{"Iterator::Root::Prefetch::TFRecord", INPUT_ADVANCE_READ},
		{"Iterator::Root::Batch::Interleave::TFRecordV2", INPUT_ADVANCE_READ},
		{"Iterator::Root::ParallelMapV2::TFRecord", INPUT_ADVANCE_READ},
		{"Iterator::Root::Prefetch", INPUT_PREPROCESSING},
		{"Iterator::Root::TFRecord::Map", INPUT_PREPROCESSING},
		{"TFRecord", INPUT_PREPROCESSING},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (input_category_of(cases[i].name) != cases[i].category)
			fail_msg("%s: %s", cases[i].name, input_category_name(input_category_of(cases[i].name)));
}

static void test_a_thread_that_may_have_rested(void **state)
{
	(void)state;
	assert_true(input_may_rest(0.6, 0.3, 0, false));  /* a generator that sleeps, and ops that compute */
	assert_false(input_may_rest(0.1, 0.3, 0, false)); /* nothing was recorded of too little */
	assert_false(input_may_rest(0.6, 0.9, 0, false)); /* it computed */
	assert_false(input_may_rest(0.6, 0.3, 0.6, false)); /* it had no processor */
	assert_false(input_may_rest(0.6, -1, 0, false));    /* not read */
	assert_false(input_may_rest(0.23, 0.28, 0, true));  /* a loop of JAX that waits for each result computes in Python what it used */
	assert_true(input_may_rest(0.8, 0.1, 0, true));	    /* and one whose generator sleeps */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(xprof_8_prefetch_waits_for_range, tear_down),
		cmocka_unit_test_teardown(xprof_9_device_pipeline, tear_down),
		cmocka_unit_test_teardown(xprof_10_map_and_batch, tear_down),
		cmocka_unit_test_teardown(work_ahead_is_not_waited_for, tear_down),
		cmocka_unit_test_teardown(the_body_of_a_loop_is_no_input, tear_down),
		cmocka_unit_test_teardown(blocking_goes_down_the_chain, tear_down),
		cmocka_unit_test_teardown(epochs_share_a_row, tear_down),
		cmocka_unit_test_teardown(traces_name_their_parents, tear_down),
		cmocka_unit_test_teardown(foreign_numbers_do_no_harm, tear_down),
		cmocka_unit_test(waits_are_known_by_name_and_thread),
		cmocka_unit_test(readers_are_sorted_by_what_stands_above),
		cmocka_unit_test(test_a_thread_that_may_have_rested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

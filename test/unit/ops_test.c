/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of ops: self and total times with nesting and recursion, ends that do not nest or come on another thread, windows,
 * forward ops of backward functions, and ranges that are known at their end.
 */
#include "reducer/model/ops_stacks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { TORCH = 5, TRACE = 3 };
enum { MATMUL = 1, ADD = 2, BACKWARD_NAME = 3 };

static struct op_stacks ops;

static int begin_each(void **state)
{
	static const uint32_t threads[] = {1, 2};

	(void)state;
	memset(&ops, 0, sizeof ops);
	return op_stacks_begin(&ops, threads, 2);
}

static int end_each(void **state)
{
	(void)state;
	op_stacks_free(&ops);
	return 0;
}

static void push(size_t stack, uint32_t name, uint64_t key, uint64_t time, uint8_t scope)
{
	op_stacks_push(&ops, stack, name, (struct op_frame){.key = key, .begin = time, .source = TORCH, .scope = scope});
}

static void pop(size_t stack, uint64_t key, uint64_t time)
{
	op_stacks_pop(&ops, stack, key, TORCH, time);
}

static const struct op_sum *sum_of(uint32_t name)
{
	return &ops.sums[op_stacks_sum(&ops, name, TORCH, 0)];
}

static void expect(uint32_t name, uint64_t occurrences, uint64_t total, uint64_t self)
{
	const struct op_sum *sum = sum_of(name);

	assert_int_equal(sum->occurrences, occurrences);
	assert_int_equal(sum->total, total);
	assert_int_equal(sum->self, self);
}

static void self_is_without_what_lies_inside(void **state)
{
	(void)state;
	push(0, MATMUL, 100, 10, 0);
	push(0, ADD, 101, 20, 0);
	pop(0, 101, 25);
	push(0, ADD, 102, 30, 0);
	pop(0, 102, 50);
	pop(0, 100, 60);
	expect(MATMUL, 1, 50, 25);
	expect(ADD, 2, 25, 25);
}

static void recursion_counts_its_time_once(void **state)
{
	(void)state;
	push(0, MATMUL, 1, 0, 0);
	push(0, MATMUL, 2, 10, 0);
	push(0, MATMUL, 3, 20, 0);
	pop(0, 3, 30);
	pop(0, 2, 40);
	pop(0, 1, 100);
	expect(MATMUL, 3, 100, 100);
	assert_int_equal(sum_of(MATMUL)->nested, 2);
	/* On two threads at once it is no recursion. */
	push(0, ADD, 4, 100, 0);
	push(1, ADD, 5, 100, 0);
	pop(1, 5, 110);
	pop(0, 4, 110);
	expect(ADD, 2, 20, 20);
}

static void ends_need_not_nest(void **state)
{
	(void)state;
	push(0, MATMUL, 1, 0, 0);
	push(0, ADD, 2, 10, 0);
	pop(0, 1, 30); /* the outer one first: a generator, an async op */
	assert_int_equal(ops.overlapped, 1);
	pop(0, 2, 50);
	expect(MATMUL, 1, 30, 30);
	expect(ADD, 1, 40, 40);
	push(0, MATMUL, 3, 60, 16);
	pop(1, 3, 90); /* on another thread */
	assert_int_equal(ops.crossed, 1);
	expect(MATMUL, 2, 60, 60);
	pop(1, 99, 95);
	assert_int_equal(ops.unbegun, 1);
	uint64_t since;
	assert_int_equal(op_stacks_innermost(&ops, 0, &since), OPS_NONE);
}

static void a_window_forgets_what_is_open(void **state)
{
	(void)state;
	push(0, MATMUL, 1, 0, 0);
	push(1, ADD, 2, 0, 0);
	op_stacks_clear(&ops);
	assert_int_equal(ops.unfinished, 2);
	pop(0, 1, 50);
	assert_int_equal(ops.unbegun, 1);
	expect(MATMUL, 0, 0, 0);
	push(0, MATMUL, 1, 60, 0); /* the same again is no recursion */
	pop(0, 1, 70);
	expect(MATMUL, 1, 10, 10);
}

static void ranges_are_no_ops(void **state)
{
	uint64_t since = 0;

	(void)state;
	push(0, ADD, 1, 5, 7);
	assert_int_equal(op_stacks_top(&ops, 0), OPS_NONE);
	assert_int_not_equal(op_stacks_innermost(&ops, 0, &since), OPS_NONE);
	assert_int_equal(since, 5);
	push(0, MATMUL, 2, 6, 0);
	push(0, ADD, 3, 7, 7);
	assert_int_equal(ops.sums[op_stacks_top(&ops, 0)].name, MATMUL);
	op_stacks_innermost(&ops, 0, &since);
	assert_int_equal(since, 6);
	pop(0, 3, 8), pop(0, 2, 9), pop(0, 1, 10);
	expect(ADD, 0, 0, 0); /* as an op */
	assert_int_equal(ops.sums[op_stacks_sum(&ops, ADD, TORCH, 1)].occurrences, 2);
}

static void backward_finds_forward(void **state)
{
	(void)state;
	ops.stacks[0].framework_id = 11;
	push(0, MATMUL, 1, 0, 0);
	op_stacks_link(&ops, 0, 42, 0);
	pop(0, 1, 1);
	push(1, BACKWARD_NAME, 2, 2, 1); /* by the engine's own thread */
	op_stacks_link(&ops, 1, 42, 11);
	pop(1, 2, 3);
	assert_int_equal(sum_of(BACKWARD_NAME)->joined, 1);
	assert_int_equal(ops.sums[sum_of(BACKWARD_NAME)->forward].name, MATMUL);
	push(1, BACKWARD_NAME, 3, 4, 1); /* of another thread's forward op */
	op_stacks_link(&ops, 1, 42, 12);
	assert_int_equal(ops.unjoined, 1);
	push(1, BACKWARD_NAME, 4, 5, 1); /* one that came 65,536 later has its place */
	op_stacks_link(&ops, 1, 42 + OPS_SEQUENCES, 11);
	assert_int_equal(ops.unjoined, 2);
}

/* Told when over: what lies inside comes first. */
static void traces_nest_by_time(void **state)
{
	(void)state;
	op_stacks_trace(&ops, 0, ADD, TRACE, 0, (struct op_span){.start = 20, .duration = 5});
	op_stacks_trace(&ops, 0, ADD, TRACE, 0, (struct op_span){.start = 30, .duration = 10});
	op_stacks_trace(&ops, 1, ADD, TRACE, 0, (struct op_span){.start = 30, .duration = 10}); /* another thread */
	op_stacks_trace(&ops, 0, MATMUL, TRACE, 0, (struct op_span){.start = 10, .duration = 50});
	op_stacks_trace(&ops, 0, BACKWARD_NAME, TRACE, 1, (struct op_span){.start = 0, .duration = 100});
	const struct op_sum *matmul = &ops.sums[op_stacks_sum(&ops, MATMUL, TRACE, 0)];
	const struct op_sum *outer = &ops.sums[op_stacks_sum(&ops, BACKWARD_NAME, TRACE, 1)];
	assert_int_equal(matmul->total, 50);
	assert_int_equal(matmul->self, 35);
	assert_int_equal(outer->self, 50);
	assert_int_equal(ops.stacks[0].span_count, 1);
	/* A million side by side: bounded, and the newest half can still find what is around it. */
	for (uint64_t i = 0; i < 1000000; i++)
		op_stacks_trace(&ops, 0, ADD, TRACE, 0, (struct op_span){.start = 1000 + i * 10, .duration = 5});
	assert_true(ops.stacks[0].span_count <= 65536);
	op_stacks_trace(&ops, 0, MATMUL, TRACE, 0, (struct op_span){.start = 1000 + 999990 * 10, .duration = 100});
	assert_int_equal(matmul->self, 35 + 50);
}

/* A range inside one of its name, whatever lies between, counts once for the total. */
static void a_range_inside_itself_counts_once(void **state)
{
	(void)state;
	op_stacks_trace(&ops, 0, ADD, TRACE, 1, (struct op_span){.start = 5, .duration = 2}); /* before it */
	op_stacks_trace(&ops, 0, ADD, TRACE, 1, (struct op_span){.start = 20, .duration = 5});
	op_stacks_trace(&ops, 0, MATMUL, TRACE, 1, (struct op_span){.start = 18, .duration = 10});
	op_stacks_trace(&ops, 0, ADD, TRACE, 1, (struct op_span){.start = 30, .duration = 5});
	op_stacks_trace(&ops, 1, ADD, TRACE, 1, (struct op_span){.start = 20, .duration = 5}); /* another thread */
	op_stacks_trace(&ops, 0, ADD, TRACE, 1, (struct op_span){.start = 10, .duration = 40});
	op_stacks_trace(&ops, 0, ADD, TRACE, 1, (struct op_span){.start = 45, .duration = 5}); /* ends with the outer one, told later */
	op_stacks_trace(&ops, 0, ADD, TRACE, 1, (struct op_span){.start = 45, .duration = 10}); /* overlaps: not inside */
	const struct op_sum *add = &ops.sums[op_stacks_sum(&ops, ADD, TRACE, 1)];
	const struct op_sum *matmul = &ops.sums[op_stacks_sum(&ops, MATMUL, TRACE, 1)];
	assert_int_equal(add->occurrences, 7);
	assert_int_equal(add->nested, 3);
	assert_int_equal(add->total, 2 + 40 + 5 + 10);
	assert_int_equal(matmul->total, 10);
	/* Side by side beyond all bounds: those that are kept are still found in one around them. */
	for (uint64_t i = 0; i < 200000; i++)
		op_stacks_trace(&ops, 0, ADD, TRACE, 1, (struct op_span){.start = 1000 + i * 10, .duration = 5});
	assert_true(ops.stacks[0].range_room <= 65536);
	op_stacks_trace(&ops, 0, ADD, TRACE, 1, (struct op_span){.start = 1000 + 199990 * 10, .duration = 100});
	assert_int_equal(add->nested, 3 + 10);
	assert_int_equal(add->total, 57 + 199990 * 5 + 100);
}

static void foreign_numbers_do_no_harm(void **state)
{
	(void)state;
	push(0, 70000, 1, 0, 0); /* no id that the library gives */
	assert_true(ops.is_short);
	op_stacks_pop(&ops, 0, 1, 200, 5);
	op_stacks_link(&ops, 0, 1, 1);
	assert_int_equal(op_stacks_sum(&ops, 1, 99, 0), OPS_NONE);
	pop(0, 0, 5); /* key 0 with nothing open */
	assert_int_equal(ops.unbegun, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(self_is_without_what_lies_inside, begin_each, end_each),
		cmocka_unit_test_setup_teardown(recursion_counts_its_time_once, begin_each, end_each),
		cmocka_unit_test_setup_teardown(ends_need_not_nest, begin_each, end_each),
		cmocka_unit_test_setup_teardown(a_window_forgets_what_is_open, begin_each, end_each),
		cmocka_unit_test_setup_teardown(ranges_are_no_ops, begin_each, end_each),
		cmocka_unit_test_setup_teardown(backward_finds_forward, begin_each, end_each),
		cmocka_unit_test_setup_teardown(traces_nest_by_time, begin_each, end_each),
		cmocka_unit_test_setup_teardown(a_range_inside_itself_counts_once, begin_each, end_each),
		cmocka_unit_test_setup_teardown(foreign_numbers_do_no_harm, begin_each, end_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

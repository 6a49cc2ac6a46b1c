/* SPDX-License-Identifier: Apache-2.0 */
/* Nesting, self time, recursion, crossing domains, ends without beginnings, ranges of the whole process. */
#include "reducer/model/ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { API = 0, NVTX = 1 };

static struct ranges ranges;

static int make(void **state)
{
	(void)state;
	return ranges_begin(&ranges, 3);
}

static int drop(void **state)
{
	(void)state;
	ranges_free(&ranges);
	return 0;
}

static uint32_t named(uint64_t name)
{
	return ranges_sum(&ranges, name, 0, NVTX);
}

static void push(size_t thread, uint64_t name, uint64_t time)
{
	ranges_push(&ranges, thread, named(name), time, 0);
}

static void pop(size_t thread, uint64_t time)
{
	ranges_pop(&ranges, thread, 0, NVTX, time);
}

static void has(uint64_t name, uint64_t occurrences, uint64_t total, uint64_t self)
{
	const struct range_sum *sum = &ranges.sums[named(name)];

	assert_int_equal(sum->occurrences, occurrences);
	assert_int_equal(sum->total, total);
	assert_int_equal(sum->self, self);
}

static void self_time_is_without_direct_children(void **state)
{
	uint64_t begin;

	(void)state;
	push(0, 'a', 100);
	push(0, 'b', 110);
	push(0, 'c', 120);
	push(1, 'b', 125); /* another thread has nothing to do with it */
	assert_int_equal(ranges_top(&ranges, 0, &begin), named('c'));
	assert_int_equal(begin, 120);
	pop(0, 130);
	pop(0, 150);
	push(0, 'b', 160);
	pop(0, 165);
	pop(0, 200);
	pop(1, 225);
	has('a', 1, 100, 55);
	has('b', 3, 40 + 5 + 100, 30 + 5 + 100);
	has('c', 1, 10, 10);
	assert_int_equal(ranges.sums[named('b')].min, 5);
	assert_int_equal(ranges.sums[named('b')].max, 100);
	assert_int_equal(ranges_top(&ranges, 0, &begin), 0);
	assert_int_equal(begin, 0);
}

static void recursion_counts_once(void **state)
{
	(void)state;
	push(0, 'f', 0);
	push(0, 'g', 10);
	push(0, 'f', 20);
	push(0, 'f', 30);
	pop(0, 40);
	pop(0, 50);
	pop(0, 60);
	pop(0, 100);
	has('f', 3, 100, 50 + 20 + 10);
	has('g', 1, 50, 20);
	assert_int_equal(ranges.sums[named('f')].nested, 2);
}

/* a [0,60] and b [20,100] of two domains overlap: until 60 b is inside a. */
static void domains_may_cross(void **state)
{
	uint32_t other = ranges_sum(&ranges, 'b', 7, NVTX);

	(void)state;
	push(0, 'o', 0);
	push(0, 'a', 0);
	ranges_push(&ranges, 0, other, 20, 0);
	push(0, 'c', 30);
	pop(0, 40);
	pop(0, 60); /* a, from the middle of the stack */
	assert_int_equal(ranges.crossed, 1);
	ranges_pop(&ranges, 0, 7, NVTX, 100);
	pop(0, 110);
	has('a', 1, 60, 20);
	has('c', 1, 10, 10);
	assert_int_equal(ranges.sums[other].total, 80);
	assert_int_equal(ranges.sums[other].self, 70);
	has('o', 1, 110, 10); /* a and then the rest of b lie inside */
}

static void an_end_without_a_beginning_is_counted(void **state)
{
	(void)state;
	pop(0, 10);
	push(0, 'a', 20);
	assert_int_equal(ranges_pop(&ranges, 0, 3, NVTX, 25), 0);
	assert_int_equal(ranges_pop(&ranges, 0, 0, API, 26), 0);
	pop(0, 30);
	ranges_end(&ranges, 99, 0, 40);
	assert_int_equal(ranges.unbegun, 4);
	has('a', 1, 10, 10);
}

static void a_closed_window_cuts(void **state)
{
	(void)state;
	push(0, 'a', 0);
	push(0, 'b', 10);
	ranges_start(&ranges, 5, named('w'), 0, 3);
	ranges_cut(&ranges, 50);
	pop(0, 60);
	pop(0, 70);
	ranges_end(&ranges, 5, 0, 80);
	has('a', 1, 50, 10);
	has('b', 1, 40, 40);
	has('w', 1, 47, 0);
	assert_int_equal(ranges.sums[named('a')].cut, 1);
	assert_int_equal(ranges.sums[named('w')].cut, 1);
	push(0, 'a', 100);
	pop(0, 130);
	ranges_start(&ranges, 6, named('w'), 0, 100);
	ranges_end(&ranges, 6, 0, 120);
	assert_int_equal(ranges.sums[named('a')].whole, 1); /* how long those are that an edge cuts nobody knows */
	assert_int_equal(ranges.sums[named('a')].whole_total, 30);
	assert_int_equal(ranges.sums[named('a')].min, 30);
	assert_int_equal(ranges.sums[named('a')].max, 50);
	assert_int_equal(ranges.sums[named('w')].min, 20);
	assert_int_equal(ranges.sums[named('b')].min, UINT64_MAX);
	assert_int_equal(ranges.unbegun, 3);
}

static void ranges_of_the_process_end_anywhere(void **state)
{
	(void)state;
	for (uint64_t id = 1; id <= 5000; id++)
		ranges_start(&ranges, id, named('w'), 1, id);
	for (uint64_t id = 5000; id >= 1; id--)
		ranges_end(&ranges, id, id % 2 ? 1 : 2, id + 10);
	has('w', 5000, 50000, 0);
	assert_int_equal(ranges.sums[named('w')].elsewhere, 2500);
	assert_int_equal(ranges.sums[named('w')].process_wide, 5000);
	assert_int_equal(ranges.wide_count, 0);
	assert_int_equal(ranges.unbegun, 0);
}

static void names_and_depth_are_bounded(void **state)
{
	(void)state;
	for (uint64_t name = 1; name <= 300000; name++) {
		push(0, name, name);
		pop(0, name + 1);
	}
	assert_int_equal(ranges.sum_count, RANGES_NAMES_MAX);
	has(77, 1, 1, 1);
	assert_int_equal(ranges.sums[0].occurrences, 300000 - (RANGES_NAMES_MAX - 1));
	for (uint64_t i = 0; i < 100000; i++)
		push(1, 5, i);
	for (uint64_t i = 0; i < 100000; i++)
		pop(1, 100000 + i);
	assert_int_equal(ranges.too_deep, 100000 - RANGES_DEPTH_MAX);
	assert_int_equal(ranges.unbegun, 0);
	assert_int_equal(ranges.sums[named(5)].total, 1 + 199999);
}

static void a_range_may_mark_a_step(void **state)
{
	(void)state;
	ranges_push(&ranges, 0, named('s'), 0, 8);
	push(0, 'a', 1);
	pop(0, 2);
	assert_int_equal(ranges_pop(&ranges, 0, 0, NVTX, 3), 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(self_time_is_without_direct_children, make, drop),
		cmocka_unit_test_setup_teardown(recursion_counts_once, make, drop),
		cmocka_unit_test_setup_teardown(domains_may_cross, make, drop),
		cmocka_unit_test_setup_teardown(an_end_without_a_beginning_is_counted, make, drop),
		cmocka_unit_test_setup_teardown(a_closed_window_cuts, make, drop),
		cmocka_unit_test_setup_teardown(ranges_of_the_process_end_anywhere, make, drop),
		cmocka_unit_test_setup_teardown(names_and_depth_are_bounded, make, drop),
		cmocka_unit_test_setup_teardown(a_range_may_mark_a_step, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

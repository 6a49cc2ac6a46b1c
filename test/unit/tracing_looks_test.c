/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of when a compiler ran by looks at Python code: what they add to what stacks at allocations say. */
#include "reducer/model/tracing_looks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define APART 100

static void expect(const struct python_rows *rows, size_t at, uint32_t thread, int64_t from, int64_t to)
{
	assert_true(at < rows->tracing_count);
	assert_int_equal(rows->tracings[at].thread, thread);
	assert_int_equal(rows->tracings[at].from_ns, from);
	assert_int_equal(rows->tracings[at].to_ns, to);
}

static void looks_tell_of_a_wait_that_allocates_nothing(void **state)
{
	struct python_rows rows = {0};
	struct tracing_look looks[] = {
		{50, 1, TRACER_TORCH}, {30, 1, TRACER_TORCH}, {40, 1, TRACER_TORCH}, {60, 1, TRACER_NONE}, {35, 2, TRACER_TORCH},
	};

	(void)state;
	tracing_add_looks(&rows, looks, 5, NULL, 0, APART);
	assert_int_equal(rows.tracing_count, 1);
	expect(&rows, 0, 1, 30, 50);
	free(rows.tracings);
}

static void what_stacks_and_looks_say_is_one_stretch(void **state)
{
	struct python_rows rows = {.tracings = calloc(8, sizeof(struct python_tracing)), .tracing_count = 1};
	struct tracing_look looks[] = {
		{30, 1, TRACER_TORCH}, {90, 1, TRACER_TORCH}, /* both ends of the stacks' */
		{25, 1, TRACER_TORCH}, {95, 1, TRACER_TORCH}, {10, 1, TRACER_NONE}, {105, 2, TRACER_TORCH}, {106, 2, TRACER_TORCH},
	};

	(void)state;
	rows.tracings[0] = (struct python_tracing){.from_ns = 30, .to_ns = 90, .thread = 1, .stacks = 2, .tracer = TRACER_TORCH};
	tracing_add_looks(&rows, looks, 7, NULL, 0, APART);
	assert_int_equal(rows.tracing_count, 2);
	expect(&rows, 0, 1, 25, 95);
	expect(&rows, 1, 2, 105, 106);
	free(rows.tracings);
}

static void a_stack_outside_a_look_far_off_or_another_compiler_ends_it(void **state)
{
	struct python_rows rows = {0};
	struct python_moment against[] = {{25, 1}, {15, 3}};
	struct tracing_look looks[] = {
		{10, 1, TRACER_TORCH}, {20, 1, TRACER_TORCH}, {30, 1, TRACER_TORCH}, {40, 1, TRACER_TORCH}, /* a stack at 25 */
		{10, 2, TRACER_TORCH}, {20, 2, TRACER_TORCH}, {121, 2, TRACER_TORCH}, /* too far off */
		{10, 3, TRACER_TORCH}, {20, 3, TRACER_TORCH}, /* a stack at 15 */
		{22, 4, TRACER_TORCH}, {23, 4, TRACER_JAX}, {24, 4, TRACER_JAX},
	};

	(void)state;
	tracing_add_looks(&rows, looks, 12, against, 2, APART);
	assert_int_equal(rows.tracing_count, 4);
	expect(&rows, 2, 4, 23, 24);
	expect(&rows, 3, 1, 30, 40);
	assert_int_equal(rows.tracings[0].to_ns, 20);
	assert_int_equal(rows.tracings[1].to_ns, 20);
	assert_int_equal(rows.tracings[0].thread + rows.tracings[1].thread, 3);
	free(rows.tracings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looks_tell_of_a_wait_that_allocates_nothing),
		cmocka_unit_test(what_stacks_and_looks_say_is_one_stretch),
		cmocka_unit_test(a_stack_outside_a_look_far_off_or_another_compiler_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

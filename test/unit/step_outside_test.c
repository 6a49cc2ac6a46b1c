/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of what a process did beside its steps.
 *
 * Rule: expected times were added by hand.
 */
#include "reducer/tables/step_values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Two loops side by side, 10 to 40 and 20 to 50, and a step from 60 to 70 that came first: 50 of 100 are in a step, not 70. */
static void steps_of_two_threads_count_once(void **state)
{
	const struct process process = {.start_ns = 0, .end_ns = 100};
	struct step_cover cover = {0};
	struct step_outside outside;

	(void)state;
	step_cover_add(&cover, 60, 10);
	step_cover_add(&cover, 20, 30);
	step_cover_add(&cover, 10, 30);
	step_cover_add(&cover, 25, 5);
	assert_true(step_outside(&process, &cover, &outside));
	assert_int_equal(outside.life, 100);
	assert_int_equal(outside.all, 50);
	assert_int_equal(outside.before, 10);
	assert_int_equal(outside.between, 10);
	assert_int_equal(outside.after, 30);
	free(cover.items);
}

static void little_or_unknown_is_not_told(void **state)
{
	const struct process process = {.start_ns = 0, .end_ns = 100}, late = {.start_ns = 20, .end_ns = 100},
			     windows = {.start_ns = 0, .end_ns = 100, .window_count = 1};
	struct step_cover cover = {0}, most = {0};
	struct step_outside outside;

	(void)state;
	assert_false(step_outside(&process, &cover, &outside));
	step_cover_add(&cover, 10, 20);
	assert_true(step_outside(&process, &cover, &outside));
	assert_false(step_outside(&late, &cover, &outside));
	assert_false(step_outside(&windows, &cover, &outside));
	step_cover_add(&most, 10, 85);
	assert_false(step_outside(&process, &most, &outside));
	free(cover.items);
	free(most.items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_of_two_threads_count_once),
		cmocka_unit_test(little_or_unknown_is_not_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of collectors/window.c: which steps and calls open and close, and what the mode is then.
 *
 * Rule: there is no log here, so every edge changes the mode and its record finds no thread; edges in logs are a case's.
 */
#include "collectors/window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "collectors/heap.h"

static int ready(void)
{
	return 0;
}
int (*const tfp_start_process)(void) = ready;

static struct tfp_state state_now;
static struct tfp_file_live live;
static struct tfp_thread thread;
static struct tfp_thread_slot slot;

/* A thread inside two hooks: an edge changes the mode and its record is counted as lost. */
static int begin(void **unused)
{
	(void)unused;
	state_now.live = &live;
	state_now.phase = TFP_STATE_READY;
	tfp_state = &state_now;
	thread.is_ready = 1;
	thread.slot = &slot;
	thread.depth = 2;
	thread.entered = UINTPTR_MAX / 2;
	tfp_self = &thread;
	return 0;
}

static void plan(uint32_t count, const struct tfp_window_range *ranges)
{
	struct tfp_window_plan wanted = {.count = count, .open_mode = TFP_MODE_FULL, .closed_mode = TFP_MODE_TOTALS};

	memcpy(wanted.ranges, ranges, count * sizeof *ranges);
	tfp_window_begin(&wanted);
	tfp_window_step(UINT64_MAX - 1); /* outside every range below */
}

static int is_open_at(uint64_t step)
{
	tfp_window_step(step);
	assert_int_equal(live.heap_mode == TFP_MODE_FULL || tfp_mode_now == TFP_MODE_TOTALS, 1);
	return tfp_mode_now == TFP_MODE_FULL;
}

static void test_steps_inside_are_open(void **state)
{
	(void)state;
	plan(1, (struct tfp_window_range[]){{TFP_CAUSE_STEP, 3, 5, 0}});
	for (uint64_t step = 0; step < 10; step++)
		assert_int_equal(is_open_at(step), step >= 3 && step <= 5);
}

static void test_steps_that_jump(void **state)
{
	(void)state;
	plan(1, (struct tfp_window_range[]){{TFP_CAUSE_STEP, 3, 5, 0}});
	assert_true(is_open_at(4));
	assert_false(is_open_at(100));
	assert_true(is_open_at(5));
	assert_false(is_open_at(2));
}

static void test_windows_in_any_order_and_side_by_side(void **state)
{
	(void)state;
	plan(3, (struct tfp_window_range[]){{TFP_CAUSE_STEP, 7, 8, 0}, {TFP_CAUSE_STEP, 3, 4, 0}, {TFP_CAUSE_STEP, 1, 2, 0}});
	for (uint64_t step = 0; step < 10; step++)
		assert_int_equal(is_open_at(step), (step >= 1 && step <= 4) || step == 7 || step == 8);
}

static void test_the_last_step_there_is(void **state)
{
	(void)state;
	plan(1, (struct tfp_window_range[]){{TFP_CAUSE_STEP, 10, UINT64_MAX - 2, 0}});
	assert_true(is_open_at(UINT64_MAX - 2));
	assert_false(is_open_at(UINT64_MAX - 1));
	assert_false(is_open_at(0));
}

/* What was opened or closed by hand stays so until the next edge. */
static void test_by_hand(void **state)
{
	(void)state;
	plan(1, (struct tfp_window_range[]){{TFP_CAUSE_STEP, 3, 9, 0}});
	assert_true(is_open_at(3));
	tfp_window_change(0, TFP_CAUSE_API, 0);
	assert_false(is_open_at(4));
	tfp_window_toggle(TFP_CAUSE_SIGNAL);
	assert_true(is_open_at(5));
	assert_true(is_open_at(10)); /* opened by the signal, so a step does not close it */
	tfp_window_toggle(TFP_CAUSE_SIGNAL);
	assert_int_equal(tfp_mode_now, TFP_MODE_TOTALS);
}

static int is_open_at_launch(uint64_t launch)
{
	state_now.gpu_launches = launch;
	tfp_window_launch(launch);
	return tfp_mode_now == TFP_MODE_FULL;
}

/* Launches that its window holds are none of a window that was closed by hand. */
static void test_launches_behind_a_hand(void **state)
{
	(void)state;
	for (int cause = TFP_CAUSE_SIGNAL; cause <= TFP_CAUSE_API; cause++) {
		plan(1, (struct tfp_window_range[]){{TFP_CAUSE_LAUNCH, 3, 9, 20}});
		assert_true(is_open_at_launch(3) && tfp_window_takes_launch(3));
		tfp_window_change(0, (enum tfp_window_cause)cause, 0);
		assert_false(is_open_at_launch(4) || tfp_window_takes_launch(4));
		tfp_window_change(1, (enum tfp_window_cause)cause, 0);
		assert_true(is_open_at_launch(5) && tfp_window_takes_launch(5));
		tfp_window_change(0, (enum tfp_window_cause)cause, 0);
		assert_false(is_open_at_launch(10) || tfp_window_takes_launch(9));
		assert_true(is_open_at_launch(23) && tfp_window_takes_launch(23)); /* the next turn */
		assert_false(is_open_at_launch(30));
		assert_true(tfp_window_takes_launch(29)); /* another thread's, which came before the edge */
	}
}

/* Of windows that overlap all of the time is recorded, whichever opened first. */
static void test_windows_of_two_units_overlap(void **state)
{
	(void)state;
	plan(2, (struct tfp_window_range[]){{TFP_CAUSE_STEP, 3, 9, 0}, {TFP_CAUSE_LAUNCH, 20, 29, 0}});
	assert_true(is_open_at_launch(20));
	assert_true(is_open_at(3));
	assert_true(is_open_at_launch(30)); /* the steps' goes on */
	assert_true(tfp_window_takes_launch(30));
	assert_true(is_open_at(9));
	assert_false(is_open_at(10));
	assert_true(is_open_at(3));
	assert_true(is_open_at_launch(20));
	assert_true(is_open_at(10)); /* and here that of the launches */
	assert_false(is_open_at_launch(30));
	assert_true(is_open_at(3));
	tfp_window_change(0, TFP_CAUSE_API, 0); /* of what was closed by hand nothing is left */
	assert_true(is_open_at_launch(20));
	assert_false(is_open_at_launch(30));
}

static void test_again_and_again(void **state)
{
	(void)state;
	plan(2, (struct tfp_window_range[]){{TFP_CAUSE_STEP, 3, 5, 10}, {TFP_CAUSE_STEP, 20, 20, 0}});
	for (uint64_t step = 0; step < 1000; step++)
		assert_int_equal(is_open_at(step), step == 20 || step % 10 == 3 || step % 10 == 4 || step % 10 == 5);
	assert_true(tfp_window_last_step() == UINT64_MAX);
	plan(1, (struct tfp_window_range[]){{TFP_CAUSE_LAUNCH, 3, 5, 10}});
	for (uint64_t launch = 1; launch < 1000; launch++)
		assert_int_equal(tfp_window_takes_launch(launch), launch % 10 >= 3 && launch % 10 <= 5);
	assert_true(tfp_window_awaits_launch(UINT64_MAX - 1));
	plan(1, (struct tfp_window_range[]){{TFP_CAUSE_LAUNCH, 3, 5, 0}});
	assert_true(tfp_window_awaits_launch(4));
	assert_false(tfp_window_awaits_launch(5));
	assert_true(tfp_window_last_step() == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps_inside_are_open),
		cmocka_unit_test(test_steps_that_jump),
		cmocka_unit_test(test_windows_in_any_order_and_side_by_side),
		cmocka_unit_test(test_the_last_step_there_is),
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_launches_behind_a_hand),
		cmocka_unit_test(test_windows_of_two_units_overlap),
		cmocka_unit_test(test_again_and_again),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}

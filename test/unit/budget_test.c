/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of collectors/budget.c: when its window closes, and when it opens again. */
#include "collectors/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define SECOND 100

static const struct tfp_budget_rule rule = {.percent = 5, .steps = 4, .second = SECOND};
static uint64_t now;
static int holds;

static int begin(void **state)
{
	(void)state;
	now = 1000000;
	holds = 1;
	tfp_budget_choose(&rule);
	return tfp_budget_begin(now, 1) ? 0 : -1;
}

/* A step of so many ticks begins and ends; recording makes it longer. Returns whether it was recorded. */
static int step(uint64_t time, uint64_t more)
{
	holds = tfp_budget_step(now, holds);
	now += holds ? time + more : time;
	return holds;
}

/* Steps until one is recorded again, or `most`. */
static unsigned steps_outside(uint64_t time, uint64_t more, unsigned most)
{
	unsigned count = 0;

	while (count < most && !step(time, more))
		count++;
	return count;
}

static void window(uint64_t time, uint64_t more)
{
	for (unsigned i = 0; i < rule.steps; i++)
		assert_int_equal(step(time, more), 1);
}

/* 4 steps of 120 and pauses of 100: 4 * 20 are 5 % of 1600, of which the window itself took 480 and the steps outside 1100, 1200. */
static void a_window_opens_when_its_cost_is_so_many_percent_of_the_time(void **state)
{
	(void)state;
	window(100, 20);
	assert_int_equal(steps_outside(100, 20, 1000), 12);
	for (unsigned i = 0; i < 50; i++) {
		for (unsigned held = 1; held < rule.steps; held++)
			assert_int_equal(step(100, 20), 1);
		assert_int_equal(steps_outside(100, 20, 1000), 12);
	}
}

static void what_costs_nothing_is_half_recorded(void **state)
{
	(void)state;
	window(100, 0);
	assert_int_equal(steps_outside(100, 0, 1000), 4);
}

static void windows_are_a_second_apart(void **state)
{
	(void)state;
	window(2, 0);
	assert_int_equal(steps_outside(2, 0, 1000), 64 - rule.steps); /* of 8, 16, 32, 64 steps the first that take as long */
	for (unsigned held = 1; held < rule.steps; held++)
		assert_int_equal(step(2, 0), 1);
	assert_int_equal(steps_outside(2, 0, 1000), 64 - rule.steps);
}

/* Whatever each costs: ranks in lockstep, whose costs differ, record the same steps. */
static void windows_open_with_steps_of_a_grid(void **state)
{
	unsigned at = 1, opened = 1;

	(void)state;
	(void)step(100, 0);
	for (uint64_t dice = 1; at < 100000; at++) {
		int was_open = holds;
		dice = dice * 6364136223846793005u + 1442695040888963407u;
		if (!step(100, (dice >> 33) % 50) || was_open)
			continue;
		assert_int_equal(at % (2 * rule.steps), 0);
		opened++;
	}
	assert_in_range(opened, 1000, 100000 / 8);
}

/* What is slow once, in a window or behind it, is not what recording costs. */
static void one_slow_step_changes_nothing(void **state)
{
	(void)state;
	assert_int_equal(step(100000, 20), 1);
	for (unsigned i = 1; i < rule.steps; i++)
		assert_int_equal(step(100, 20), 1);
	assert_int_equal(steps_outside(100, 20, 1000), 12);
	for (unsigned i = 1; i < rule.steps; i++)
		assert_int_equal(step(100, 20), 1);
	assert_int_equal(steps_outside(100, 20, 1000), 12);
}

/* From one that closes now to the next: asked as often as that is wanted, which is often enough for one that a step opens meanwhile. */
static uint64_t closed_for(void)
{
	uint64_t from = now, due;

	while (!tfp_budget_look(now, &due)) {
		assert_in_range(due, now, now + TFP_BUDGET_FIRST * SECOND);
		now = due;
	}
	return now - from;
}

static void without_steps_a_window_ends_and_comes_back(void **state)
{
	uint64_t due;

	(void)state;
	assert_int_equal(tfp_budget_look(now, &due), 1);
	assert_int_equal(due, now + TFP_BUDGET_FIRST * SECOND);
	now = due;
	assert_int_equal(closed_for(), TFP_BUDGET_FIRST * SECOND * 20);
	assert_int_equal(tfp_budget_look(now, &due), 1);
	assert_int_equal(due, now + TFP_BUDGET_LATER * SECOND);
	now = due;
	assert_int_equal(closed_for(), TFP_BUDGET_LATER * SECOND * 20);
}

/* A loop that begins while nothing is recorded has its first window behind twice as many steps as it holds. */
static void steps_behind_a_long_beginning_are_recorded_soon(void **state)
{
	uint64_t due;

	(void)state;
	now += TFP_BUDGET_FIRST * SECOND;
	holds = tfp_budget_look(now, &due);
	assert_int_equal(holds, 0);
	assert_int_equal(steps_outside(100, 20, 1000), 8);
	for (unsigned i = 1; i < rule.steps; i++)
		assert_int_equal(step(100, 20), 1);
	assert_int_equal(steps_outside(100, 20, 1000), 20);
	for (unsigned i = 1; i < rule.steps; i++)
		assert_int_equal(step(100, 20), 1);
	assert_int_equal(steps_outside(100, 20, 1000), 12);
}

/* 4 steps of 600 s: a window of 300 s would not hold one. */
static void steps_longer_than_a_window_without_steps_are_held_as_well(void **state)
{
	uint64_t due;

	(void)state;
	window(100 * SECOND, 0);
	assert_int_equal(steps_outside(600 * SECOND, 0, 1000), 4);
	assert_int_equal(tfp_budget_look(now, &due), 1);
	assert_true(due > now + 4 * 600 * SECOND);
}

static void a_loop_that_ends_leaves_no_window_open(void **state)
{
	uint64_t due;

	(void)state;
	assert_int_equal(step(100, 20), 1);
	now += TFP_BUDGET_FIRST * SECOND;
	assert_int_equal(tfp_budget_look(now, &due), 0);
}

static void another_loop_is_not_held_against_the_one_before(void **state)
{
	(void)state;
	window(1000, 0);
	tfp_budget_anew(now);
	assert_int_equal(steps_outside(10, 0, 1000), 8);
}

static void a_child_begins_as_its_parent_was(void **state)
{
	(void)state;
	tfp_budget_begin(now, 0);
	assert_int_equal(closed_for(), TFP_BUDGET_FIRST * SECOND * 20);
	tfp_budget_begin(now, 0);
	holds = 0;
	assert_int_equal(steps_outside(100, 0, 1000), 8);
}

/* The first test: nothing was chosen yet. */
static void without_a_budget_nothing_is_said(void **state)
{
	uint64_t due = 0;

	(void)state;
	assert_int_equal(tfp_budget_begin(1000, 1), 0);
	assert_int_equal(tfp_budget_step(1000, 1), -1);
	assert_int_equal(tfp_budget_look(1000, &due), -1);
	assert_int_equal(due, UINT64_MAX);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_budget_nothing_is_said),
		cmocka_unit_test_setup(a_window_opens_when_its_cost_is_so_many_percent_of_the_time, begin),
		cmocka_unit_test_setup(what_costs_nothing_is_half_recorded, begin),
		cmocka_unit_test_setup(windows_are_a_second_apart, begin),
		cmocka_unit_test_setup(windows_open_with_steps_of_a_grid, begin),
		cmocka_unit_test_setup(one_slow_step_changes_nothing, begin),
		cmocka_unit_test_setup(without_steps_a_window_ends_and_comes_back, begin),
		cmocka_unit_test_setup(steps_behind_a_long_beginning_are_recorded_soon, begin),
		cmocka_unit_test_setup(steps_longer_than_a_window_without_steps_are_held_as_well, begin),
		cmocka_unit_test_setup(a_loop_that_ends_leaves_no_window_open, begin),
		cmocka_unit_test_setup(another_loop_is_not_held_against_the_one_before, begin),
		cmocka_unit_test_setup(a_child_begins_as_its_parent_was, begin),
	};

	return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of collectors/slow.c: which steps are slow, and which ones behind them are recorded. */
#include "collectors/slow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct tfp_slow_rule rule = {.percent = 50, .steps = 3, .every = 20};
static uint64_t now;

/* Steps that take no time at all for long enough that nothing of an earlier test is left. */
static int forget(void **state)
{
	int holds;

	(void)state;
	tfp_slow_forked();
	for (unsigned i = 0; i < 40; i++)
		tfp_slow_step(&rule, now, 0, &holds);
	return 0;
}

/* A step begins, `time` after the one before. Returns what it says of that one. */
static uint32_t step(uint64_t time, int *holds)
{
	now += time;
	return tfp_slow_step(&rule, now, *holds > 0, holds);
}

static void steps(unsigned count, uint64_t time)
{
	int holds = 0;

	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(step(time, &holds), 0);
		assert_int_equal(holds, 0);
	}
}

static void three_steps_behind_a_slow_one_hold(void **state)
{
	int holds = 0;

	(void)state;
	steps(20, 100);
	struct tfp_slow_found before = tfp_slow_last();
	assert_int_equal(step(149, &holds), 0);
	assert_int_equal(tfp_slow_last().number, before.number);
	assert_int_equal(step(160, &holds), 60);
	struct tfp_slow_found found = tfp_slow_last();
	assert_int_equal(found.number, before.number + 1);
	assert_int_equal(found.from, now - 160);
	assert_int_equal(found.to, now);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(holds, 1);
		assert_int_equal(step(1000, &holds), 0);
	}
	assert_int_equal(holds, 0);
}

static void steps_of_no_time_are_held_against_nothing(void **state)
{
	int holds = 0;

	(void)state;
	tfp_slow_forked();
	steps(15, 0);
	assert_int_equal(step(100, &holds), 0);
	assert_int_equal(step(100000, &holds), 0);
}

static void what_comes_each_few_steps_is_usual(void **state)
{
	int holds = 0;

	(void)state;
	for (unsigned i = 0; i < 40; i++)
		(void)step(i % 5 ? 100 : 300, &holds);
	holds = 0;
	for (unsigned i = 0; i < 60; i++) {
		assert_int_equal(step(i % 5 ? 100 : 300, &holds), 0);
		assert_int_equal(holds, 0);
	}
}

static void the_next_window_waits(void **state)
{
	int holds = 0;
	unsigned opened = 0;

	(void)state;
	steps(20, 100);
	for (unsigned i = 0; i < 61; i++)
		opened += step(i % 10 ? 100 : 400 + 1000 * i, &holds) != 0;
	assert_int_equal(opened, 4); /* 0, 20, 40, 60 */
}

static void recorded_steps_say_nothing(void **state)
{
	int holds = 1;

	(void)state;
	steps(20, 100);
	for (unsigned i = 0; i < 5; i++) {
		now += 100000;
		assert_int_equal(tfp_slow_step(&rule, now, 1, &holds), 0);
		assert_int_equal(holds, 0);
	}
	assert_int_equal(step(5000, &holds), 0); /* began while a window was open */
	assert_int_equal(step(160, &holds), 60);
}

static void a_clock_that_steps_back_is_no_step(void **state)
{
	int holds = 0;

	(void)state;
	steps(20, 100);
	now -= 50;
	assert_int_equal(tfp_slow_step(&rule, now, 0, &holds), 0);
	assert_int_equal(step(100, &holds), 0);
	assert_int_equal(holds, 0);
}

static void a_child_begins_anew(void **state)
{
	int holds = 0;

	(void)state;
	steps(20, 100);
	tfp_slow_forked();
	assert_int_equal(step(1000000, &holds), 0);
	assert_int_equal(step(200, &holds), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(steps_of_no_time_are_held_against_nothing, forget),
		cmocka_unit_test_setup(three_steps_behind_a_slow_one_hold, forget),
		cmocka_unit_test_setup(what_comes_each_few_steps_is_usual, forget),
		cmocka_unit_test_setup(the_next_window_waits, forget),
		cmocka_unit_test_setup(recorded_steps_say_nothing, forget),
		cmocka_unit_test_setup(a_clock_that_steps_back_is_no_step, forget),
		cmocka_unit_test_setup(a_child_begins_anew, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

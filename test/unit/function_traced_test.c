/* SPDX-License-Identifier: Apache-2.0 */
/* Which call of a function of TensorFlow began with its tracing. */
#include "reducer/model/function_traced.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OF_TRAINING 1u
#define OF_VARIABLES 2u

static void a_call_begins_with_what_was_traced_for_it(void **state)
{
	struct function_traced traced = {.count = 0};

	(void)state;
	function_traced_add(&traced, OF_TRAINING, 600, 1000);
	function_traced_add(&traced, OF_VARIABLES, 1020, 1040);
	assert_int_equal(function_traced_begin(&traced, OF_VARIABLES, 1050), 1020);
	assert_int_equal(function_traced_begin(&traced, OF_TRAINING, 1100), 600);
	assert_int_equal(function_traced_begin(&traced, OF_TRAINING, 1200), 1200); /* the next one needs nothing */
}

static void a_function_that_makes_variables_is_traced_twice(void **state)
{
	struct function_traced traced = {.count = 0};

	(void)state;
	function_traced_add(&traced, OF_TRAINING, 600, 1000);
	function_traced_add(&traced, OF_TRAINING, 1200, 1500);
	assert_int_equal(function_traced_begin(&traced, OF_TRAINING, 1600), 600);
}

/* get_concrete_function, then data are read; a batch is taken first; a tracing of long ago and one for this call. */
static void what_was_traced_and_set_aside_is_no_part_of_a_call(void **state)
{
	struct function_traced traced = {.count = 0};

	(void)state;
	function_traced_add(&traced, OF_TRAINING, 600, 1000);
	assert_int_equal(function_traced_begin(&traced, OF_TRAINING, 1401), 1401);
	function_traced_add(&traced, OF_TRAINING, 1600, 2000);
	function_traced_leave(&traced);
	assert_int_equal(function_traced_begin(&traced, OF_TRAINING, 2010), 2010);
	function_traced_add(&traced, OF_TRAINING, 2990, 3000);
	function_traced_add(&traced, OF_TRAINING, 3900, 4000);
	assert_int_equal(function_traced_begin(&traced, OF_TRAINING, 4001), 3900);
}

static void more_functions_than_there_is_room_for_forget_the_first(void **state)
{
	struct function_traced traced = {.count = 0};

	(void)state;
	for (uint32_t i = 0; i <= FUNCTION_TRACED_MOST; i++)
		function_traced_add(&traced, i, 500 + i, 1000 + i);
	assert_int_equal(function_traced_begin(&traced, 0, 1100), 1100);
	assert_int_equal(function_traced_begin(&traced, FUNCTION_TRACED_MOST, 1100), 508);
}

static void times_that_no_clock_had_break_nothing(void **state)
{
	struct function_traced traced = {.count = 0};

	(void)state;
	function_traced_add(&traced, OF_TRAINING, 2000, 1000);
	assert_int_equal(function_traced_begin(&traced, OF_TRAINING, 1000), 1000);
	function_traced_add(&traced, OF_TRAINING, 900, 1000);
	assert_int_equal(function_traced_begin(&traced, OF_TRAINING, 500), 500);
}

#define DAY UINT64_C(1700000000000000000)

static void times_of_day_become_ticks_by_the_newest_reading(void **state)
{
	struct function_clock clock = {.ticks = 0};

	(void)state;
	assert_int_equal(function_clock_ticks(&clock, DAY), 0);
	function_clock_read(&clock, 5000, DAY, 2000000000);
	assert_int_equal(function_clock_ticks(&clock, DAY + 300), 5600);
	assert_int_equal(function_clock_ticks(&clock, DAY - 1000), 3000);
	assert_int_equal(function_clock_ticks(&clock, DAY - 100000), 0);
	function_clock_read(&clock, 5000 + 2000200000, DAY + 1000000000, 2000000000); /* the log's estimate was 100 ppm off */
	assert_int_equal(function_clock_ticks(&clock, DAY + 1100000000), 5000 + 2200220000);
	function_clock_read(&clock, 5000 + 4000400000, DAY + 90000000000, 2000000000); /* somebody set the time of day */
	assert_int_equal(function_clock_ticks(&clock, DAY + 90000001000), 5000 + 4000402000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_begins_with_what_was_traced_for_it),
		cmocka_unit_test(a_function_that_makes_variables_is_traced_twice),
		cmocka_unit_test(what_was_traced_and_set_aside_is_no_part_of_a_call),
		cmocka_unit_test(more_functions_than_there_is_room_for_forget_the_first),
		cmocka_unit_test(times_that_no_clock_had_break_nothing),
		cmocka_unit_test(times_of_day_become_ticks_by_the_newest_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

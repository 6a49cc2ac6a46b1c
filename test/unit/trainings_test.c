/* SPDX-License-Identifier: Apache-2.0 */
/* Where another training begins, by backward passes. */
#include "reducer/model/trainings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define PERIODS 64

static struct period periods[PERIODS];
static size_t count;

static int clear(void **state)
{
	(void)state;
	count = 0;
	return 0;
}

static void learn(uint64_t backward)
{
	periods[count++] = (struct period){.found = {.backward = backward, .has_stepped = 1, .trained_from = 1}};
}

static void learn_often(uint64_t backward, size_t times)
{
	while (times--)
		learn(backward);
}

/* Where the first one begins, as an index; 0 = none does. How many do. */
static size_t first_found(size_t *found)
{
	uint8_t *begins = trainings_find(periods, count);
	size_t first = 0;

	*found = 0;
	for (size_t k = 0; k < count; k++) {
		*found += begins[k];
		first = begins[k] && first == 0 ? k : first;
	}
	free(begins);
	return first;
}

static void expect(size_t first, size_t many)
{
	size_t found, at = first_found(&found);

	assert_int_equal(at, first);
	assert_int_equal(found, many);
}

static void one_after_the_other(void **state)
{
	(void)state;
	learn_often(1, 12);
	learn_often(2, 8);
	learn_often(3, 9);
	expect(12, 2);
}

static void what_follows_the_last_step_is_of_none(void **state)
{
	(void)state;
	learn_often(1, 12);
	periods[count++] = (struct period){.found = {.trained_from = 0}};
	learn_often(2, 8);
	expect(13, 1);
}

static void odd_steps_between_are_of_the_second(void **state)
{
	(void)state;
	learn_often(1, 12);
	learn(7);
	learn(8);
	learn_often(2, 8);
	expect(12, 1);
}

static void losses_that_take_turns_are_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < 10; i++) {
		learn(1);
		learn(2);
	}
	learn_often(1, 9);
	expect(0, 0);
}

static void few_steps_are_none_of_their_own(void **state)
{
	(void)state;
	learn_often(1, 12);
	learn_often(2, 7);
	expect(0, 0);
}

static void passes_that_all_differ_are_one(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 40; i++)
		learn(i);
	expect(0, 0);
}

static void nothing_is_one(void **state)
{
	(void)state;
	expect(0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_after_the_other, clear),
		cmocka_unit_test_setup(what_follows_the_last_step_is_of_none, clear),
		cmocka_unit_test_setup(odd_steps_between_are_of_the_second, clear),
		cmocka_unit_test_setup(losses_that_take_turns_are_one, clear),
		cmocka_unit_test_setup(few_steps_are_none_of_their_own, clear),
		cmocka_unit_test_setup(passes_that_all_differ_are_one, clear),
		cmocka_unit_test_setup(nothing_is_one, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

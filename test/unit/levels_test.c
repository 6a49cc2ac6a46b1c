/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of reducer/analysis/levels.c: changes that are there are found where they are, and none that are not. */
#include "reducer/analysis/levels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 20000

static uint64_t values[MOST];
static struct level levels[LEVELS_MOST];

/* A usual spread: most within a tenth, one in fifty several times as long. */
static double noise(void)
{
	double factor = 1 + 0.1 * ((double)rand() / RAND_MAX - 0.5) * 2;

	return rand() % 50 ? factor : factor * (2 + rand() % 5);
}

static void fill(size_t first, size_t end, double from, double to)
{
	for (size_t i = first; i < end; i++)
		values[i] = (uint64_t)((from + (to - from) * (double)(i - first) / (double)(end - first)) * noise());
}

static void nothing_changes(void **unused)
{
	(void)unused;
	srand(1);
	for (int round = 0; round < 300; round++) {
		size_t count = 90 + (size_t)rand() % 3000;
		fill(0, count, 1e7, 1e7);
		assert_int_equal(levels_find(values, count, levels), 1);
		assert_int_equal(levels[0].end, count);
	}
	memset(values, 0, sizeof(values));
	assert_int_equal(levels_find(values, 1000, levels), 1);
	assert_int_equal(levels_find(values, 0, levels), 1);
	assert_int_equal(levels_find(values, LEVELS_LEAST - 1, levels), 1);
}

/* Every third and every tenth step longer, a checkpoint each hundred: the level is the same. */
static void what_comes_again_is_no_change(void **unused)
{
	(void)unused;
	srand(2);
	for (int round = 0; round < 100; round++) {
		fill(0, 2000, 1e7, 1e7);
		for (size_t i = 0; i < 2000; i++)
			values[i] *= i % 3 == 0 ? 3 : i % 100 == 99 ? 40 : 1;
		assert_int_equal(levels_find(values, 2000, levels), 1);
	}
}

/* A twentieth of the steps, though they were ten times as long: no level. */
static void a_short_pause_is_no_change(void **unused)
{
	(void)unused;
	srand(3);
	fill(0, 2000, 1e7, 1e7);
	fill(500, 600, 1e8, 1e8);
	assert_int_equal(levels_find(values, 2000, levels), 1);
}

static void a_change_is_found_where_it_is(void **unused)
{
	(void)unused;
	srand(4);
	for (int round = 0; round < 200; round++) {
		size_t count = 200 + (size_t)rand() % (MOST - 200), at = count / 5 + (size_t)rand() % (count * 3 / 5);
		double ratio = round % 2 ? 1.4 + (double)(rand() % 100) / 50 : 1 / (1.4 + (double)(rand() % 100) / 50);
		fill(0, at, 1e7, 1e7);
		fill(at, count, 1e7 * ratio, 1e7 * ratio);
		assert_int_equal(levels_find(values, count, levels), 2);
		if (llabs((long long)levels[0].end - (long long)at) > 3)
			fail_msg("%zu instead of %zu, of %zu, ratio %g", levels[0].end, at, count, ratio);
		assert_int_equal(levels[1].first, levels[0].end);
		assert_int_equal(levels[1].end, count);
		assert_true(fabs((double)levels[1].median / (double)levels[0].median / ratio - 1) < 0.1);
		assert_false(levels[0].is_growing || levels[1].is_growing);
	}
}

static void a_while_and_back(void **unused)
{
	(void)unused;
	srand(5);
	fill(0, 3000, 1e7, 1e7);
	fill(1000, 1700, 2e7, 2e7);
	assert_int_equal(levels_find(values, 3000, levels), 3);
	assert_true(llabs((long long)levels[1].first - 1000) <= 3 && llabs((long long)levels[1].end - 1700) <= 3);
}

/* Longer and longer: levels, each of which grows within itself. */
static void growing_all_along(void **unused)
{
	(void)unused;
	srand(6);
	fill(0, 4000, 1e7, 3e7);
	size_t count = levels_find(values, 4000, levels);
	assert_in_range(count, 2, LEVELS_MOST);
	for (size_t k = 0; k < count; k++)
		assert_true(levels[k].is_growing);
	fill(0, 4000, 1e7, 1.1e7);
	assert_int_equal(levels_find(values, 4000, levels), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_changes),	       cmocka_unit_test(what_comes_again_is_no_change),
		cmocka_unit_test(a_short_pause_is_no_change),  cmocka_unit_test(a_change_is_found_where_it_is),
		cmocka_unit_test(a_while_and_back),	       cmocka_unit_test(growing_all_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of the comparison of two runs: ranks of steps, limits.
 *
 * Rule: the expected numbers were worked out by hand from the published formula, beside the test that has them.
 */
#include "reducer/comparison/limits.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void few_values_tell_nothing(void **state)
{
	const uint64_t before[] = {1, 2, 3}, after[] = {10, 20, 30};
	struct ranks ranks = ranks_compare(before, 3, after, 3);

	(void)state;
	assert_int_equal(ranks.verdict, RANKS_FEW);
	assert_true(ranks.longer_share == 1);
	ranks = ranks_compare(before, 0, after, 3);
	assert_int_equal(ranks.verdict, RANKS_FEW);
	assert_true(ranks.longer_share == 0.5);
}

/* All 64 pairs longer: U = 64, mean 32, variance 8*8*17/12 = 90.67, 32 / 9.522 = 3.361. */
static void a_shift_is_told(void **state)
{
	uint64_t before[8], after[8];
	struct ranks ranks;

	(void)state;
	for (uint64_t i = 0; i < 8; i++) {
		before[i] = 100 + i;
		after[i] = 200 + i;
	}
	ranks = ranks_compare(before, 8, after, 8);
	assert_int_equal(ranks.verdict, RANKS_LONGER);
	assert_true(fabs(ranks.deviations - 3.3606) < 0.001);
	ranks = ranks_compare(after, 8, before, 8);
	assert_int_equal(ranks.verdict, RANKS_SHORTER);
	assert_true(ranks.longer_share == 0 && ranks.deviations < -3.36);
}

/*
 * 1,1,2,2,3,3,4,4 and 2,2,3,3,4,4,5,5. Pairs: against two 1s all 8 win, two 2s 6 + 2/2, two 3s 4 + 2/2, two 4s 2 + 2/2:
 * 2 * (8 + 7 + 5 + 3) = 46 of 64. Ties: 2 + 4 + 4 + 4 + 2 equal values, sum of t^3 - t = 6 + 60 + 60 + 60 + 6 = 192;
 * variance 64 / 12 * (17 - 192 / 240) = 86.4; (46 - 32) / 9.2952 = 1.5062.
 */
static void ties_count_half(void **state)
{
	const uint64_t before[] = {1, 1, 2, 2, 3, 3, 4, 4}, after[] = {2, 2, 3, 3, 4, 4, 5, 5};
	struct ranks ranks = ranks_compare(before, 8, after, 8);

	(void)state;
	assert_int_equal(ranks.verdict, RANKS_EQUAL);
	assert_true(ranks.longer_share == 46.0 / 64);
	assert_true(fabs(ranks.deviations - 1.5062) < 0.001);
}

static void equal_values_are_equal(void **state)
{
	uint64_t values[20];
	struct ranks ranks;

	(void)state;
	for (size_t i = 0; i < 20; i++)
		values[i] = 7;
	ranks = ranks_compare(values, 20, values, 20);
	assert_int_equal(ranks.verdict, RANKS_EQUAL);
	assert_true(ranks.deviations == 0 && ranks.longer_share == 0.5);
}

/* Equal runs must be called different about once in a hundred times, not in every tenth. */
static void chance_is_rarely_a_difference(void **state)
{
	uint64_t random = 88172645463325252, a[40], b[40];
	unsigned told = 0;

	(void)state;
	for (unsigned trial = 0; trial < 2000; trial++) {
		for (size_t i = 0; i < 80; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			uint64_t value = random % 1000;
			uint64_t *list = i < 40 ? a : b;
			size_t at = i % 40;
			while (at && list[at - 1] > value) {
				list[at] = list[at - 1];
				at--;
			}
			list[at] = value;
		}
		told += ranks_compare(a, 40, b, 40).verdict != RANKS_EQUAL;
	}
	assert_in_range(told, 5, 45);
}

static struct compared compared_of(struct figure *before, struct figure *after, enum ranks_verdict verdict)
{
	return (struct compared){
		.before = {.items = before, .count = 1}, .after = {.items = after, .count = 1}, .ranks = {.verdict = verdict}};
}

static void limits_are_judged(void **state)
{
	struct figure before = {.id = "step_p50", .unit = UNIT_NS, .value = 100e6}, after = before;
	struct figure_limits limits = {0};
	struct compared compared;
	double most;

	(void)state;
	figure_limits_take(&limits, "limit", "step_p50=5%");
	after.value = 104e6;
	compared = compared_of(&before, &after, RANKS_LONGER);
	assert_int_equal(figure_limits_judge(&limits, &compared, &after, &most), LIMIT_KEPT);
	assert_true(fabs(most - 105e6) < 1);
	after.value = 106e6;
	assert_int_equal(figure_limits_judge(&limits, &compared, &after, &most), LIMIT_EXCEEDED);
	compared.ranks.verdict = RANKS_FEW; /* a build must not pass because it ran three steps */
	assert_int_equal(figure_limits_judge(&limits, &compared, &after, &most), LIMIT_EXCEEDED);
	compared.ranks.verdict = RANKS_EQUAL;
	assert_int_equal(figure_limits_judge(&limits, &compared, &after, &most), LIMIT_KEPT);
	figure_limits_take(&limits, "limit", "step_p50=0.1055s"); /* how steps vary excuses nothing here */
	assert_int_equal(figure_limits_judge(&limits, &compared, &after, &most), LIMIT_EXCEEDED);
	assert_true(fabs(most - 105e6) < 1);
	figure_limits_free(&limits);
	figure_limits_take(&limits, "limit", "peak:device:0=2GiB");
	assert_string_equal(limits.items[0].figure, "peak:device:0");
	assert_true(limits.items[0].value == 2147483648.0);
	assert_int_equal(figure_limits_judge(&limits, &compared, &after, &most), LIMIT_NONE);
	figure_limits_free(&limits);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_values_tell_nothing),
		cmocka_unit_test(a_shift_is_told),
		cmocka_unit_test(ties_count_half),
		cmocka_unit_test(equal_values_are_equal),
		cmocka_unit_test(chance_is_rarely_a_difference),
		cmocka_unit_test(limits_are_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

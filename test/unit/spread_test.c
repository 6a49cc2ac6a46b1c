/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of the deviation of values that stream by; percentiles are tested with the tables that show them.
 *
 * Rule: each expectation follows from the values by hand.
 */
#include "reducer/model/spread.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_deviation(void **state)
{
	struct spread spread = {0};

	(void)state;
	assert_true(isnan(spread_deviation(&spread)));
	spread_add(&spread, 2);
	assert_true(isnan(spread_deviation(&spread)));
	spread_add(&spread, 4);
	spread_add(&spread, 9);
	assert_true(fabs(spread_deviation(&spread) - sqrt(13)) < 1e-12); /* (9 + 1 + 16) / 2 */
	spread_scale(&spread, 3);
	assert_true(fabs(spread_deviation(&spread) - 3 * sqrt(13)) < 1e-12);
	spread_free(&spread);
	/* Beyond what is kept as it is, too: classes are for percentiles alone. */
	for (uint64_t i = 0; i < 4000; i++)
		spread_add(&spread, i % 2 ? 10000 : 30000);
	assert_true(spread.is_classed);
	assert_true(fabs(spread_deviation(&spread) / (10000 * sqrt(4000.0 / 3999)) - 1) < 1e-9);
	spread_free(&spread);
	for (uint64_t i = 0; i < 4000; i++)
		spread_add(&spread, 12345);
	assert_true(spread_deviation(&spread) < 1e-9);
	spread_free(&spread);
}

/* All of one class, or of two neighbours: the deviation is that of the values, not of the classes' middles. */
static void test_deviation_within_a_class(void **state)
{
	struct spread parts[2] = {{0}, {0}}, both = {0};

	(void)state;
	for (uint64_t i = 0; i < 2000; i++) {
		spread_add(&parts[0], i % 2 ? 2190 : 2210);
		spread_add(&parts[1], i % 2 ? 2290 : 2310);
	}
	assert_true(parts[0].is_classed);
	assert_true(fabs(spread_deviation(&parts[0]) / (10 * sqrt(2000.0 / 1999)) - 1) < 1e-9);
	spread_merge(&both, &parts[0]);
	assert_true(fabs(spread_deviation(&both) / (10 * sqrt(2000.0 / 1999)) - 1) < 1e-9);
	spread_merge(&both, &parts[1]);
	assert_true(fabs(spread_deviation(&both) / sqrt((10 * 10 + 50 * 50) * 4000.0 / 3999) - 1) < 1e-9);
	spread_scale(&both, 0.4);
	assert_true(fabs(spread_deviation(&both) / (0.4 * sqrt((10 * 10 + 50 * 50) * 4000.0 / 3999)) - 1) < 1e-9);
	spread_free(&both);
	spread_free(&parts[0]);
	spread_free(&parts[1]);
}

/* Durations of two machines whose counters run at different rates: 1,000 ticks of 1 ns, and as many of 3 ns. */
static void test_merging_what_was_scaled_differently(void **state)
{
	struct spread slow = {0}, fast = {0}, both = {0};

	(void)state;
	for (unsigned i = 0; i < 4000; i++) {
		spread_add(&slow, 1000);
		spread_add(&fast, 1000);
	}
	spread_scale(&slow, 1);
	spread_scale(&fast, 3);
	spread_merge(&both, &slow);
	spread_merge(&both, &fast);
	assert_int_equal(both.count, 8000);
	assert_int_equal(both.sum, 4000 * 1000 + 4000 * 3000);
	assert_in_range(spread_percentile(&both, 25), 1000 - 16, 1000 + 16);
	assert_in_range(spread_percentile(&both, 75), 3000 - 48, 3000 + 48);
	spread_free(&both);
	spread_merge(&both, &fast);
	spread_merge(&both, &slow);
	assert_in_range(spread_percentile(&both, 25), 1000 - 16, 1000 + 16);
	assert_in_range(spread_percentile(&both, 75), 3000 - 48, 3000 + 48);
	spread_free(&both);
	spread_free(&slow);
	spread_free(&fast);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merging_what_was_scaled_differently),
		cmocka_unit_test(test_deviation),
		cmocka_unit_test(test_deviation_within_a_class),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

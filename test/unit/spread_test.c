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
	/* Beyond what is kept as it is: classes, each at most 1/128 off. */
	for (uint64_t i = 0; i < 4000; i++)
		spread_add(&spread, i % 2 ? 10000 : 30000);
	assert_true(spread.is_classed);
	assert_true(fabs(spread_deviation(&spread) / (10000 * sqrt(4000.0 / 3999)) - 1) < 0.03);
	spread_free(&spread);
	for (uint64_t i = 0; i < 4000; i++)
		spread_add(&spread, 12345);
	assert_true(spread_deviation(&spread) < 1e-9);
	spread_free(&spread);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deviation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

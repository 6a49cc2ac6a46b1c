/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of collectors/cupti_ranges.c: which calls windows held, however many of them opened. */
#include "collectors/cupti_ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct tfp_cupti_ranges ranges;

static void close_at(uint64_t correlation)
{
	tfp_cupti_range_last(&ranges)->to = correlation;
}

static void before_the_first_nothing_is_wanted(void **unused)
{
	(void)unused;
	memset(&ranges, 0, sizeof ranges);
	assert_true(tfp_cupti_range_last(&ranges)->from != TFP_CUPTI_AWAITED);
	assert_int_equal(tfp_cupti_range_find(&ranges, 1), TFP_CUPTI_OUTSIDE);
	tfp_cupti_range_begin(&ranges, 5);
	assert_int_equal(tfp_cupti_range_find(&ranges, 4), TFP_CUPTI_OUTSIDE);
	assert_int_equal(tfp_cupti_range_find(&ranges, 5), TFP_CUPTI_INSIDE);
	assert_int_equal(tfp_cupti_range_find(&ranges, UINT64_MAX - 1), TFP_CUPTI_INSIDE);
}

/* A window that no call was made in takes no place, and its successor awaits the same call. */
static void a_window_without_calls(void **unused)
{
	(void)unused;
	memset(&ranges, 0, sizeof ranges);
	tfp_cupti_range_begin(&ranges, 5);
	close_at(9);
	for (int i = 0; i < 3; i++) {
		tfp_cupti_range_begin(&ranges, TFP_CUPTI_AWAITED);
		assert_int_equal(tfp_cupti_range_find(&ranges, 12), TFP_CUPTI_OUTSIDE);
		close_at(12);
	}
	assert_int_equal(ranges.count, 2);
	tfp_cupti_range_begin(&ranges, TFP_CUPTI_AWAITED);
	tfp_cupti_range_last(&ranges)->from = 20;
	assert_int_equal(tfp_cupti_range_find(&ranges, 12), TFP_CUPTI_OUTSIDE);
	assert_int_equal(tfp_cupti_range_find(&ranges, 20), TFP_CUPTI_INSIDE);
	assert_int_equal(tfp_cupti_range_find(&ranges, 9), TFP_CUPTI_INSIDE);
	assert_int_equal(tfp_cupti_range_find(&ranges, 10), TFP_CUPTI_OUTSIDE);
}

/* Calls 10 to 12 of each ten, in more windows than there is room for: those known are told apart, older ones are forgotten. */
static void many_windows(void **unused)
{
	const uint64_t windows = 3 * TFP_CUPTI_RANGES + 7;

	(void)unused;
	memset(&ranges, 0, sizeof ranges);
	for (uint64_t i = 1; i <= windows; i++) {
		tfp_cupti_range_begin(&ranges, 10 * i);
		close_at(10 * i + 2);
	}
	uint64_t oldest = 10 * (windows - TFP_CUPTI_RANGES + 1);
	for (uint64_t call = 1; call < 10 * windows + 20; call++) {
		int is_inside = call % 10 <= 2 && call >= 10 && call <= 10 * windows + 2;
		assert_int_equal(tfp_cupti_range_find(&ranges, call), call < oldest ? TFP_CUPTI_FORGOTTEN
								      : is_inside   ? TFP_CUPTI_INSIDE
										    : TFP_CUPTI_OUTSIDE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(before_the_first_nothing_is_wanted),
		cmocka_unit_test(a_window_without_calls),
		cmocka_unit_test(many_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

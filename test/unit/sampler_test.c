/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of collectors/sampler.c: the distances have the right distribution, estimates from samples are unbiased, and
 * the table of live samples forgets nothing that it said it holds.
 *
 * Rule: seeds are fixed, bounds are statistical (5 standard errors), so a right sampler never fails.
 */
#include "collectors/sampler.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "writer/stream.h"

static int never(void)
{
	return -1;
}
int (*const tfp_start_process)(void) = never;

#define DRAWS 200000

static void test_distances_are_exponential(void **state)
{
	static const uint64_t intervals[] = {4096, 524288, UINT64_C(1) << 32};

	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		double mean = 0, square = 0, interval = (double)intervals[seed % 3];
		uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15), beyond = 0;

		for (int i = 0; i < DRAWS; i++) {
			double distance = (double)tfp_sampler_distance(&random, intervals[seed % 3]) / interval;
			mean += distance / DRAWS;
			square += distance * distance / DRAWS;
			beyond += distance > 1;
		}
		double error = 5 / sqrt(DRAWS), share = exp(-1);
		assert_true(fabs(mean - 1) < error);
		assert_true(fabs(square - 2) < error * sqrt(20)); /* E x^4 - (E x^2)^2 = 24 - 4 */
		assert_true(fabs((double)beyond / DRAWS - share) < error * sqrt(share * (1 - share)));
	}
}

/* As the hooks and the reducer do it: a block is taken when the distance ends in it, and stands for 1 / its chance. */
static void test_estimates_are_unbiased(void **state)
{
	static const struct {
		uint64_t bytes, count;
	} mix[] = {{24, 400000}, {104, 100000}, {4104, 20000}, {70000, 3000}, {3000000, 40}};
	const uint64_t interval = 65536;

	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		uint64_t random = seed << 33 | 1;
		int64_t left = tfp_sampler_distance(&random, interval);

		for (size_t kind = 0; kind < sizeof mix / sizeof *mix; kind++) {
			double chance = 1 - exp(-(double)mix[kind].bytes / (double)interval), count = (double)mix[kind].count;
			double estimate = 0, error = sqrt(count * (1 - chance) / chance);

			for (uint64_t i = 0; i < mix[kind].count; i++) {
				left -= (int64_t)mix[kind].bytes;
				if (left >= 0)
					continue;
				estimate += 1 / chance;
				left = tfp_sampler_distance(&random, interval);
			}
			assert_true(fabs(estimate - count) <= 5 * error + 1e-6 * count);
		}
	}
}

static void *block(uint64_t i)
{
	return (void *)(uintptr_t)(0x7f0000000000 + i * 48);
}

static void test_table_holds_what_it_took(void **state)
{
	enum { BLOCKS = 100000 };
	char *taken = calloc(BLOCKS, 1);
	uint64_t full = 0;

	(void)state;
	assert_non_null(taken);
	assert_int_equal(tfp_sampler_make(524288), 0);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		taken[i] = tfp_sampler_add(block(i)) == 0;
		full += !taken[i];
	}
	assert_true(full > 0 && full < BLOCKS / 2); /* there are 65,536 places */
	for (uint64_t i = 0; i < BLOCKS; i++) {
		assert_true(!taken[i] || tfp_sampler_may_hold(block(i)));
		assert_int_equal(tfp_sampler_remove(block(i)), taken[i]);
		assert_int_equal(tfp_sampler_remove(block(i)), 0);
	}
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(tfp_sampler_add(block(i)), 0); /* places are used again */
	assert_int_equal(tfp_sampler_remove(block(1000)), 0);
	free(taken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distances_are_exponential),
		cmocka_unit_test(test_estimates_are_unbiased),
		cmocka_unit_test(test_table_holds_what_it_took),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

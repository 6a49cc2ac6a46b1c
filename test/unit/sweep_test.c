/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit test of reducer/analysis/sweep: what is active when, of intervals in any order, against counting moment by moment.
 */
#include "reducer/analysis/sweep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOMENTS 4000 /* nothing ends later */
#define INTERVALS 1500
#define APART 5 /* an order: those of one kind never overlap */

static uint32_t told[MOMENTS], wanted[MOMENTS];
static uint64_t state_of_chance;

static uint32_t chance(uint32_t below)
{
	state_of_chance = state_of_chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state_of_chance >> 33) % below;
}

static void tell(void *context, int64_t from_ns, int64_t to_ns, uint32_t mask)
{
	(void)context;
	assert_true(from_ns < to_ns && mask);
	for (int64_t at = from_ns; at < to_ns; at++) {
		assert_int_equal(told[at], 0); /* no moment twice */
		told[at] = mask;
	}
}

/* The same moments in two sweeps: sums of one are those of the stretches that the other tells, in a window that cuts both. */
struct sums {
	int64_t from_ns, to_ns;
	uint64_t by_mask[64];
};

static void sum(void *context, uint64_t ns, uint32_t mask)
{
	struct sums *sums = context;

	assert_true(ns && mask && mask < 64);
	sums->by_mask[mask] += ns;
}

static void sum_stretch(void *context, int64_t from_ns, int64_t to_ns, uint32_t mask)
{
	struct sums *sums = context;
	int64_t from = from_ns > sums->from_ns ? from_ns : sums->from_ns, to = to_ns < sums->to_ns ? to_ns : sums->to_ns;

	if (from < to)
		sums->by_mask[mask] += (uint64_t)(to - from);
}

/* `kinds`: of which intervals are, in turn, each kind without overlaps; of each the mask is now this, now that. */
static void check_sums(unsigned kinds, bool is_flushed_midway)
{
	struct sweep sweeps[2] = {{.told_ns = INT64_MIN}, {.told_ns = INT64_MIN}};
	struct sums sums[2] = {{.from_ns = chance(MOMENTS), .to_ns = chance(MOMENTS)}};

	sums[1] = sums[0];
	for (uint32_t i = 0; i < INTERVALS; i++) {
		uint32_t start = i / kinds * 14 + chance(3), end = start + 1 + chance(11);
		uint32_t mask = 1u << (i % kinds) | (chance(4) ? 0 : 1u << (4 + i % kinds % 2));
		for (unsigned s = 0; s < 2; s++)
			sweep_add(&sweeps[s], start, end, mask);
	}
	assert_true(kinds != 2 || (sweeps[0].run_count == 2 && !sweeps[0].runs[0].overlaps && !sweeps[0].runs[1].overlaps));
	for (int last = !is_flushed_midway; last < 2; last++) {
		int64_t until_ns = last ? INT64_MAX : sweep_middle(&sweeps[0]);
		sweep_sum(&sweeps[0], until_ns, sums[0].from_ns, sums[0].to_ns, sum, &sums[0]);
		sweep_flush(&sweeps[1], until_ns, sum_stretch, &sums[1]);
		assert_int_equal(sweeps[0].count, sweeps[1].count);
	}
	assert_memory_equal(sums[0].by_mask, sums[1].by_mask, sizeof(sums[0].by_mask));
	for (unsigned s = 0; s < 2; s++)
		sweep_free(&sweeps[s]);
}

static void sums_are_those_of_stretches(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 400; round++)
		check_sums(1 + round / 2 % 4, round % 2);
}

static void ignore(void *context, int64_t from_ns, int64_t to_ns, uint32_t mask)
{
	(void)context, (void)from_ns, (void)to_ns, (void)mask;
}

/* Where interval `i` begins: in order, nearly in order, one kind behind the other, backwards, apart, anywhere. */
static uint32_t start_of(unsigned order, uint32_t i)
{
	uint32_t straight = i * (MOMENTS - 200) / INTERVALS;

	switch (order) {
	case 0:
		return straight;
	case 1:
		return straight + chance(40);
	case 2:
		return i % 100 < 50 ? straight : straight / 2;
	case 3:
		return MOMENTS - 101 - straight;
	case APART:
		return i / 6 * 14 + chance(2);
	default:
		return chance(MOMENTS - 100);
	}
}

static void check_order(unsigned order, bool is_flushed_midway)
{
	struct sweep sweep = {.told_ns = INT64_MIN};

	memset(told, 0, sizeof(told));
	memset(wanted, 0, sizeof(wanted));
	for (uint32_t i = 0; i < INTERVALS; i++) {
		uint32_t start = start_of(order, i), end = start + 1 + chance(order == APART ? 11 : 99);
		uint32_t mask = 1u << (order == APART ? i % 6 : chance(6));
		sweep_add(&sweep, start, end, mask);
		for (uint32_t at = start; at < end; at++)
			wanted[at] |= mask;
	}
	for (size_t i = 0; order == APART && i < sweep.run_count; i++) /* these go the shorter way */
		assert_false(sweep.runs[i].overlaps || sweep.runs[i].is_mixed);
	if (is_flushed_midway)
		sweep_flush(&sweep, sweep_middle(&sweep), tell, NULL);
	sweep_flush(&sweep, INT64_MAX, tell, NULL);
	assert_memory_equal(told, wanted, sizeof(told));
	assert_int_equal(sweep.late_ns, 0);
	sweep_free(&sweep);
}

static void any_order_tells_the_same(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 20; round++)
		for (unsigned order = 0; order <= APART; order++)
			check_order(order, round % 2);
}

/* Ops inside ops, told by their ends: `times` one that holds `times` of a level below. Of some levels the classes are others. */
static int64_t add_nested(struct sweep *sweep, unsigned level, uint32_t times, int64_t start_ns, uint32_t more)
{
	int64_t at = start_ns;
	uint32_t mask = level == 2 ? 1 | more : 1;

	for (uint32_t i = 0; i < times && level; i++)
		at = add_nested(sweep, level - 1, times, at + 1, more) + 1;
	at += level == 0;
	sweep_add(sweep, start_ns, at, mask);
	for (int64_t i = start_ns; i < at; i++)
		wanted[i] |= mask;
	return at;
}

static void check_nested(uint32_t more, size_t most)
{
	struct sweep sweep = {.told_ns = INT64_MIN};

	memset(told, 0, sizeof(told));
	memset(wanted, 0, sizeof(wanted));
	for (int64_t i = 0; i < 4; i++)
		add_nested(&sweep, 4, 4, i * 1000, more);
	assert_true(sweep.count <= most);
	sweep_flush(&sweep, INT64_MAX, tell, NULL);
	assert_memory_equal(told, wanted, sizeof(told));
	sweep_free(&sweep);
}

static void what_lies_in_another_of_its_classes_waits_no_more(void **state)
{
	(void)state;
	check_nested(0, 4);
	check_nested(2, 4 * 4 * 4 + 4 * 4 + 4); /* of 1,364 */
}

/* Steps of work an interval: `count` calls of a thread and the device work of each, which comes `late` calls behind, in pieces. */
static double steps_of(int64_t count, int64_t late)
{
	struct sweep sweep = {.told_ns = INT64_MIN};
	int64_t answered = 0;
	double steps;

	for (int64_t made = 0; made < count; made++) {
		sweep_add(&sweep, made * 100, made * 100 + 40, 1);
		for (; made - answered >= late + 5000; answered++)
			sweep_add(&sweep, answered * 100 + 50, answered * 100 + 60, 2);
		if (made % 5000 == 0)
			for (; made - answered > late; answered++)
				sweep_add(&sweep, answered * 100 + 50, answered * 100 + 60, 2);
		if (sweep.count > 65536)
			sweep_flush(&sweep, sweep_middle(&sweep), ignore, NULL);
	}
	sweep_flush(&sweep, INT64_MAX, ignore, NULL);
	assert_int_equal(sweep.count, 0);
	steps = (double)sweep.steps / (double)(2 * count);
	sweep_free(&sweep);
	return steps;
}

/* Each interval is added, begins and ends; few runs are looked at for it. It was sorted several times, by more runs in longer logs. */
static void work_grows_with_the_intervals(void **state)
{
	(void)state;
	for (int64_t late = 0; late <= 20000; late += 10000)
		for (int64_t count = 50000; count <= 800000; count *= 4)
			assert_true(steps_of(count, late) <= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order_tells_the_same),
		cmocka_unit_test(sums_are_those_of_stretches),
		cmocka_unit_test(what_lies_in_another_of_its_classes_waits_no_more),
		cmocka_unit_test(work_grows_with_the_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

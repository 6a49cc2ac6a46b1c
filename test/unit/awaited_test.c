/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit test of reducer/model/spans_awaited: each device record finds its call, however late it comes, and the work for a call
 * and a record stays the same, counted in entries looked at, however long the log and however late the device.
 */
#include "reducer/model/spans_awaited.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LOOKS_MOST 8.0 /* for a call and its record: put, find, its share of doubling the table, of a search among what is held  \
			*/

static void put(struct span_awaited *awaited, uint64_t correlation)
{
	struct span_call call = {.correlation = correlation, .begin_ns = (int64_t)correlation * 3, .place = {.is_awaited = 1}};

	assert_null(awaited_unhold(awaited, correlation));
	awaited_put(awaited, &call);
}

static void answer(struct span_awaited *awaited, uint64_t correlation)
{
	struct span_call *call = awaited_find(awaited, correlation);

	assert_non_null(call);
	assert_int_equal(call->begin_ns, correlation * 3);
	call->place.is_awaited = 0;
}

/* `count` calls, the record of each so many calls behind it, told in pieces. Returns the looks for each call. */
static double looks_of(uint64_t count, uint64_t late, uint64_t piece)
{
	struct span_awaited awaited = {0};
	uint64_t answered = 0;
	double looks;

	assert_int_equal(awaited_begin(&awaited), 0);
	for (uint64_t made = 1; made <= count; made++) {
		put(&awaited, made);
		while (made - answered > late + piece || (made > late && made % piece == 0 && answered < made - late))
			answer(&awaited, ++answered);
	}
	while (answered < count)
		answer(&awaited, ++answered);
	assert_true(awaited.room <= AWAITED_MOST);
	looks = (double)awaited.looks / (double)count;
	awaited_free(&awaited);
	return looks;
}

static void finds_late_work_in_equal_time(void **state)
{
	static const uint64_t lates[] = {0, 100, AWAITED_LEAST, 300000};

	(void)state;
	for (size_t i = 0; i < sizeof lates / sizeof *lates; i++)
		for (uint64_t count = 500000; count <= 2000000; count *= 2)
			assert_true(looks_of(count, lates[i], 20000) <= LOOKS_MOST);
}

/* Records whose calls never come fill the ring; that must not slow down the calls that do (it was 4096 entries for each). */
static void is_not_slowed_by_orphans(void **state)
{
	struct span_awaited awaited = {0};
	struct span orphan = {.what = SPAN_KERNEL};
	uint64_t pushed_out = 0, left = 0;

	(void)state;
	assert_int_equal(awaited_begin(&awaited), 0);
	for (uint64_t i = 0; i < 3 * AWAITED_HELD; i++) {
		const struct span *eldest = awaited_make_room(&awaited);
		if (eldest != NULL)
			assert_int_equal(eldest->flow, 1000000000 + pushed_out++ * 7);
		orphan.flow = 1000000000 + i * 7;
		awaited_hold(&awaited, &orphan);
	}
	assert_int_equal(pushed_out, 2 * AWAITED_HELD);
	awaited.looks = 0;
	for (uint64_t made = 1; made <= 500000; made++) {
		put(&awaited, made);
		answer(&awaited, made);
	}
	assert_true((double)awaited.looks / 500000 <= LOOKS_MOST);
	for (const struct span *eldest; (eldest = awaited_unhold_any(&awaited)) != NULL; left++)
		assert_int_equal(eldest->flow, 1000000000 + pushed_out++ * 7);
	assert_int_equal(left, AWAITED_HELD);
	awaited_free(&awaited);
}

/* Work that was told before its call returned, several for one call, others of the same bucket between them. */
static void gives_back_what_was_early_in_order(void **state)
{
	struct span_awaited awaited = {0};
	const uint64_t flows[] = {5, 5 + AWAITED_HELD, 5, 6, 5 + AWAITED_HELD, 5};

	(void)state;
	assert_int_equal(awaited_begin(&awaited), 0);
	for (size_t i = 0; i < sizeof flows / sizeof *flows; i++) {
		assert_null(awaited_make_room(&awaited));
		awaited_hold(&awaited, &(struct span){.flow = flows[i], .number = i});
	}
	for (uint64_t i = 0; i <= 5; i += i == 0 ? 2 : 3) {
		const struct span *span = awaited_unhold(&awaited, 5);
		assert_non_null(span);
		assert_int_equal(span->number, i);
	}
	assert_null(awaited_unhold(&awaited, 5));
	assert_int_equal(awaited_unhold(&awaited, 5 + AWAITED_HELD)->number, 1);
	assert_int_equal(awaited_unhold(&awaited, 6)->number, 3);
	assert_int_equal(awaited_unhold_any(&awaited)->number, 4);
	assert_null(awaited_unhold_any(&awaited));
	awaited_free(&awaited);
}

/* Unanswered for ever: the table stays within its bound and the youngest are found. */
static void stays_within_its_bound(void **state)
{
	struct span_awaited awaited = {0};

	(void)state;
	assert_int_equal(awaited_begin(&awaited), 0);
	for (uint64_t made = 1; made <= 3 * (uint64_t)AWAITED_MOST; made++)
		put(&awaited, made);
	assert_int_equal(awaited.room, AWAITED_MOST);
	assert_null(awaited_find(&awaited, 1));
	for (uint64_t made = 2 * (uint64_t)AWAITED_MOST + 1; made <= 3 * (uint64_t)AWAITED_MOST; made++)
		answer(&awaited, made);
	awaited_free(&awaited);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_late_work_in_equal_time),
		cmocka_unit_test(is_not_slowed_by_orphans),
		cmocka_unit_test(gives_back_what_was_early_in_order),
		cmocka_unit_test(stays_within_its_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

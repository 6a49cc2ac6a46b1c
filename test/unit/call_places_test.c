/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit test of reducer/model/call_places: the words by place are those that a stream kept from the first call on would have, whenever a
 * function is first called from a second place; there is none where it would say what the other stream says.
 */
#include "reducer/model/call_places.h"
#include "reducer/model/step_guess.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define CALLS 3000
#define ALL_AT_ONCE (1 << 20) /* as many words as a stream keeps */

static uint64_t functions[ALL_AT_ONCE], stacks[ALL_AT_ONCE], contexts[ALL_AT_ONCE], times[ALL_AT_ONCE];

static void check_same(const struct periods *one, const struct periods *other)
{
	assert_int_equal(one->count, other->count);
	assert_int_equal(one->symbol_count, other->symbol_count);
	for (size_t i = 0; i < one->count; i++) {
		assert_int_equal(one->words[i].time, other->words[i].time);
		assert_int_equal(one->words[i].symbol, other->words[i].symbol);
		assert_int_equal(one->words[i].thread, other->words[i].thread);
	}
	for (size_t i = 0; i < one->symbol_count; i++) {
		assert_true(one->symbols[i].key == other->symbols[i].key);
		assert_int_equal(one->symbols[i].count, other->symbols[i].count);
		assert_int_equal(one->symbols[i].is_dropped, other->symbols[i].is_dropped);
	}
}

/* Batches of a few calls of seven functions; from `second` on one is called from another place, or at another device; with `others` ranges
 * between them. */
static void check(size_t count, size_t second, int others, int at_another)
{
	struct periods calls, wanted, *found;
	struct call_places places;

	assert_int_equal(periods_begin(&calls), 0);
	assert_int_equal(periods_begin(&wanted), 0);
	assert_int_equal(call_places_begin(&places, &calls), 0);
	for (size_t i = 0; i < count; i++) {
		functions[i] = i * i % 7;
		stacks[i] = functions[i] + (i >= second && i % 3 == 0 && !at_another);
		contexts[i] = 1 + (i >= second && i % 3 == 0 && at_another);
		times[i] = 10 * i;
	}
	for (size_t from = 0, to; from < count; from = to) {
		to = from + 1 + from % 13 < count ? from + 1 + from % 13 : count;
		call_places_add(&places,
				&(struct call_list){functions + from, stacks + from, contexts + from, times + from, to - from}, 3);
		for (size_t i = from; i < to; i++) {
			periods_add(&calls, functions[i] | STEP_GUESS_CALL, times[i], 3);
			periods_add(&wanted, step_guess_place(functions[i], call_place(stacks[i], contexts[i])), times[i], 3);
		}
		if (others)
			periods_add(&calls, 0x8000123456789abcu, times[from], 3);
	}
	found = call_places_stream(&places);
	assert_int_equal(found == NULL, !others && second >= count && count < ALL_AT_ONCE);
	if (found != NULL)
		check_same(found, &wanted);
	else
		assert_int_equal(places.own.count, 0);
	call_places_free(&places);
	periods_free(&calls);
	periods_free(&wanted);
}

static void places_are_those_of_a_stream_of_their_own(void **state)
{
	(void)state;
	for (int others = 0; others < 2; others++)
		for (size_t second = 0; second <= CALLS; second += 300) {
			check(CALLS, second, others, 0);
			check(CALLS, second, others, 1);
		}
}

static void they_are_kept_before_words_are_dropped(void **state)
{
	(void)state;
	check(ALL_AT_ONCE, SIZE_MAX, 0, 0);
	check(ALL_AT_ONCE - 1000, SIZE_MAX, 1, 0); /* the other words fill the stream */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_are_those_of_a_stream_of_their_own),
		cmocka_unit_test(they_are_kept_before_words_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

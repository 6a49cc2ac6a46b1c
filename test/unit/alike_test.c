/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit test of reducer/model/spans_alike: one number stands for one key, whatever else came in between and however many keys share
 * the places.
 */
#include "reducer/model/spans_alike.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEYS 6000u /* more than are kept */
#define ASKED 200000u

static uint64_t state_of_chance;

static uint32_t chance(uint32_t below)
{
	state_of_chance = state_of_chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state_of_chance >> 33) % below;
}

/* Keys that differ in one part alone, each part in turn. */
static struct alike_key key_of(uint32_t i)
{
	struct alike_key key = {.what = SPAN_CALL};
	uint32_t *const parts[] = {&key.first, &key.second, &key.op, &key.inputs, &key.range, &key.depth, &key.thread};

	if (i % 10 < 7)
		*parts[i % 10] = i / 10 + 1;
	else if (i % 10 == 7)
		key.what = SPAN_KERNEL, key.first = i / 10;
	else if (i % 10 == 8)
		key.phase = (uint8_t)(i / 10 % 255 + 1), key.first = i / 10 / 255 + 70000;
	else
		key.op_source = (uint8_t)(i / 10 % 255 + 1), key.first = i / 10 / 255 + 80000;
	return key;
}

/* Who keeps what follows from a number must never find another key under it. */
static void a_number_is_of_one_key(void **state)
{
	struct alikes alikes = {0};
	uint32_t *key_of_number = calloc(ASKED + 1, sizeof(*key_of_number)), made = 0;

	(void)state;
	assert_non_null(key_of_number);
	alikes_begin(&alikes);
	for (uint32_t i = 0; i < ASKED; i++) {
		uint32_t wanted = chance(i % 3 ? 40 : KEYS);
		const struct alike_key key = key_of(wanted);
		int is_new;
		struct alike *alike = alikes_of(&alikes, &key, &is_new);
		if (is_new) {
			alike_begin(&alikes, alike, &key);
			assert_int_equal(key_of_number[alike->span.alike], 0);
			assert_null(alike->span.name);
			alike->span.name = "made";
			key_of_number[alike->span.alike] = wanted + 1;
			made++;
		}
		assert_in_range(alike->span.alike, 1, ASKED);
		assert_int_equal(key_of_number[alike->span.alike], wanted + 1);
		assert_string_equal(alike->span.name, "made");
	}
	assert_true(made < ASKED / 2); /* those that come often stay */
	alikes_free(&alikes);
	free(key_of_number);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_is_of_one_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

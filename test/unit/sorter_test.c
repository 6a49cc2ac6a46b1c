/* SPDX-License-Identifier: Apache-2.0 */
/* The sorter: order and contents are those of a plain sort, in memory, with some runs, and with more runs than merge at once. */
#include "reducer/base/sorter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct wanted {
	uint64_t key[SORTER_WORDS];
	uint64_t number; /* which one it was */
};

static uint64_t random_number(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return *state >> 20;
}

static int by_key(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	for (int i = 0; i < SORTER_WORDS; i++)
		if (x->key[i] != y->key[i])
			return x->key[i] < y->key[i] ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* The bytes of entry `number`: its number, and as many bytes of it as `length` says. */
static void fill(unsigned char *bytes, uint64_t number, size_t length)
{
	memset(bytes, (int)(number & 255), length);
	memcpy(bytes, &number, sizeof(number));
}

static void try_lanes(size_t count, size_t longest, uint64_t keys, unsigned lane_words)
{
	struct wanted *all = calloc(count, sizeof(*all));
	static unsigned char bytes[SORTER_LONGEST], expected[SORTER_LONGEST];
	struct sorter *sorter = sorter_make(0, lane_words);
	const uint64_t *key;
	const void *got;
	size_t length, at = 0;
	uint64_t state = count;

	assert_non_null(all);
	for (size_t i = 0; i < count; i++) {
		for (int k = 0; k < SORTER_WORDS; k++)
			all[i].key[k] = random_number(&state) % keys;
		all[i].number = i;
		length = 8 + i % (longest - 7);
		fill(bytes, i, length);
		sorter_put(sorter, all[i].key, bytes, length);
	}
	if (keys % 2)
		sorter_rest(sorter);
	qsort(all, count, sizeof(*all), by_key);
	while ((got = sorter_next(sorter, &key, &length)) != NULL) {
		assert_true(at < count);
		assert_memory_equal(key, all[at].key, sizeof(all[at].key));
		assert_int_equal(length, 8 + all[at].number % (longest - 7));
		fill(expected, all[at].number, length);
		assert_memory_equal(got, expected, length);
		at++;
	}
	assert_int_equal(at, count);
	sorter_free(sorter);
	free(all);
}

/* All as one lane, a few lanes, more lanes than there is room for, each key a lane. */
static void try(size_t count, size_t longest, uint64_t keys)
{
	for (unsigned lane_words = 0; lane_words <= SORTER_WORDS; lane_words++)
		try_lanes(count, longest, keys, lane_words);
}

static void in_memory(void **state)
{
	(void)state;
	try(1, 8, 1);
	try(1000, 64, 3);
}

/* Sorted by digits, and by comparing. */
static void of_few_digits_and_of_many(void **state)
{
	(void)state;
	try(10000, 16, 70000);
	try(10000, 16, UINT64_C(1) << 40);
}

static void in_runs(void **state)
{
	(void)state;
	try(100000, 100, 5); /* 8 runs of 1 MiB; many equal keys */
	try(300, SORTER_LONGEST, 1000);
}

static void in_more_runs_than_merge_at_once(void **state)
{
	(void)state;
	try(6000, SORTER_LONGEST, 7); /* some 95 runs */
}

static void nothing(void **state)
{
	struct sorter *sorter = sorter_make(0, 0);
	const uint64_t *key;
	size_t length;

	(void)state;
	assert_null(sorter_next(sorter, &key, &length));
	sorter_free(sorter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(nothing), cmocka_unit_test(in_memory),
					   cmocka_unit_test(of_few_digits_and_of_many), cmocka_unit_test(in_runs),
					   cmocka_unit_test(in_more_runs_than_merge_at_once)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

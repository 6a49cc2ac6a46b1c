/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in decimal digits are what printf prints, at each end of each length; so is what is formatted, however much room is left. */
#include "reducer/base/base.h"

#include <inttypes.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check(uint64_t number)
{
	char digits[BASE_DIGITS + 1] = {0}, wanted[32];
	struct text text = {0};

	*base_put_natural(digits, number) = 0;
	snprintf(wanted, sizeof(wanted), "%" PRIu64, number);
	assert_string_equal(digits, wanted);
	text_integer(&text, (int64_t)number);
	snprintf(wanted, sizeof(wanted), "%" PRId64, (int64_t)number);
	assert_string_equal(text.bytes, wanted);
	text_clear(&text);
	text_natural(&text, number);
	assert_string_equal(text.bytes, digits);
	for (double sign = -1; sign <= 1; sign += 0.25) { /* -0 as well, by 0 */
		text_clear(&text);
		text_real(&text, sign * (double)number);
		snprintf(wanted, sizeof(wanted), "%.9g", sign * (double)number);
		assert_string_equal(text.bytes, wanted);
	}
	text_free(&text);
}

/* A text that grows byte by byte meets each end of its room. */
static void test_room(void **state)
{
	char wanted[200] = "";

	(void)state;
	for (size_t before = 0; before < 100; before++) {
		struct text text = {0};

		text_format(&text, "%s", wanted);
		for (size_t more = 0; more < 70; more++) {
			size_t length = text.length;

			text_format(&text, "%.*s", (int)more, "0123456789012345678901234567890123456789012345678901234567890123456789");
			assert_int_equal(text.length, length + more);
			assert_int_equal(strlen(text.bytes), text.length);
			assert_true(text.room > text.length);
			text.length = length; /* again, behind the same */
			text.bytes[length] = 0;
		}
		assert_string_equal(text.bytes, wanted);
		text_free(&text);
		wanted[before] = 'x';
	}
}

static void test_lengths(void **state)
{
	uint64_t ten = 1;

	(void)state;
	for (int i = 0; i < 20; i++, ten *= 10)
		for (uint64_t near = ten - 2; near != ten + 3; near++)
			check(near);
	for (int i = 0; i < 64; i++)
		for (uint64_t near = (UINT64_C(1) << i) - 2; near != (UINT64_C(1) << i) + 3; near++)
			check(near);
}

static int by_size(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

/* Few and many, of few bytes and of all, some of them equal. */
static void test_sort(void **state)
{
	static uint64_t sorted[1000], wanted[1000];
	uint64_t number = 1;

	(void)state;
	for (size_t count = 0; count < 1000; count += 1 + count / 8)
		for (int bits = 1; bits <= 64; bits += 7) {
			for (size_t i = 0; i < count; i++) {
				number = number * UINT64_C(6364136223846793005) + 1442695040888963407u;
				sorted[i] = wanted[i] = number >> (64 - bits);
			}
			base_sort_naturals(sorted, count);
			qsort(wanted, count, sizeof(*wanted), by_size);
			assert_memory_equal(sorted, wanted, count * sizeof(*wanted));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_lengths), cmocka_unit_test(test_room), cmocka_unit_test(test_sort)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

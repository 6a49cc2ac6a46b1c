/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in decimal digits are what printf prints, at each end of each length. */
#include "reducer/base/base.h"

#include <inttypes.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
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
	text_free(&text);
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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_lengths)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

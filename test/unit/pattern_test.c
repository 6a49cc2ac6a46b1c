/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions that libc would need minutes or gigabytes for are refused, all others are as regcomp takes them. */
#include "reducer/base/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int compiled(const char *pattern)
{
	regex_t regex;
	int error = pattern_compile(&regex, pattern, REG_NOSUB);

	if (!error)
		regfree(&regex);
	return error;
}

static char *many(const char *text, size_t count)
{
	size_t length = strlen(text);
	char *all = calloc(count, length + 1);

	assert_non_null(all);
	for (size_t i = 0; i < count; i++)
		memcpy(all + i * length, text, length);
	return all;
}

static void what_is_too_large_is_refused(void **state)
{
	static const char *const patterns[] = {
		"(((((((a{100}){100}){100}){100}){100}){100}){100})", "a{1,32767}", "((a{0,100}){0,100}){0,100}", "(a|b){20000}",
		"((((((((((((((x+)+)+)+)+)+)+)+)+)+)+)+)+)+)", "a{18446744073709551615,18446744073709551616}", "(a{101}|b){0,99}",
	};
	static const char *const repeated[][2] = {{"(", "60000"}, {"()", "60000"}, {"a|", "60000"}, {"a*", "60000"}};

	(void)state;
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
		assert_int_equal(compiled(patterns[i]), REG_ESIZE);
	for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++) {
		char *pattern = many(repeated[i][0], (size_t)atoi(repeated[i][1]));

		assert_int_equal(compiled(pattern), REG_ESIZE);
		free(pattern);
	}
}

static void what_is_meant_is_taken(void **state)
{
	static const char *const patterns[] = {
		"", "a{1,2000}",
		"((a*)*)*b", "[0-9a-f]{16,64}", "[]+{(]x", "[^])+]{2}", "[[:alpha:](]+", "[[.(.]]", "(aten::|c10::)+[a-z_]+",
		"\\(\\{", "a{,3}", "{", "x{0}y", "^(conv|mm)_?$",
	};
	char *names = many("aten::add|", 999);

	(void)state;
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
		if (compiled(patterns[i]) == REG_ESIZE)
			fail_msg("%s", patterns[i]);
	assert_int_equal(compiled(names), 0);
	free(names);
}

/* Whatever is wrong stays what libc says of it. */
static void what_is_wrong_is_told_by_libc(void **state)
{
	static const char *const patterns[] = {"(", "[", "[[:", "[[:x", "a{", "a{1", "a{1,", "a{2,1}", "a{,", "\\", "(a", "[a-", "x{1,2"};

	(void)state;
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		regex_t regex;
		int error = regcomp(&regex, patterns[i], REG_EXTENDED | REG_NOSUB);

		if (!error)
			regfree(&regex);
		assert_int_equal(compiled(patterns[i]), error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_too_large_is_refused),
		cmocka_unit_test(what_is_meant_is_taken),
		cmocka_unit_test(what_is_wrong_is_told_by_libc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

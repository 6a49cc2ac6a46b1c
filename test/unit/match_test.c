/* SPDX-License-Identifier: Apache-2.0 */
/* The pattern matcher of the setting STEP_RANGE. */
#include "collectors/match.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct tfp_pattern pattern;

static int is_in(const char *text, const char *in)
{
	assert_null(tfp_pattern_make(&pattern, text));
	return tfp_pattern_is_in(&pattern, in, strlen(in));
}

static void finds_what_it_should(void **state)
{
	(void)state;
	assert_true(is_in("step", "step"));
	assert_true(is_in("step", "a step of many"));
	assert_false(is_in("step", "ste p"));
	assert_false(is_in("^step", "a step"));
	assert_true(is_in("^step", "step 4"));
	assert_true(is_in("step$", "a step"));
	assert_false(is_in("step$", "steps"));
	assert_true(is_in("^step \\d+$", "step 1234567"));
	assert_false(is_in("^step \\d+$", "step "));
	assert_false(is_in("^step \\d+$", "step 12a"));
	assert_true(is_in("^ProfilerStep#\\d+$|^train step", "train step 8"));
	assert_true(is_in("^ProfilerStep#\\d+$|^train step", "ProfilerStep#0"));
	assert_false(is_in("^ProfilerStep#\\d+$|^train step", "ProfilerStep#"));
	assert_true(is_in("a.c", "abc"));
	assert_true(is_in("a.*c", "ac"));
	assert_true(is_in("ab?c", "ac"));
	assert_true(is_in("ab?c", "abc"));
	assert_false(is_in("ab?c", "abbc"));
	assert_true(is_in("[A-Cx]1", "B1"));
	assert_false(is_in("[^A-Cx]1", "B1"));
	assert_true(is_in("[]]", "]"));
	assert_true(is_in("a$b", "a$b"));
	assert_true(is_in("\\(x\\)", "f(x)"));
	assert_true(is_in("\\w+_\\d", "batch_9"));
	assert_true(is_in("x*", ""));
	assert_true(is_in("b*$", "aaa"));
	assert_true(is_in("\303\274ber", "\303\274ber 3"));
}

static void refuses_what_it_does_not_know(void **state)
{
	static const char *const bad[] = {"(a)", "a{3}", "*a", "a|", "|a", "[abc", "a\\", "^", "^$", ""};
	char text[300];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_non_null(tfp_pattern_make(&pattern, bad[i]));
		assert_false(tfp_pattern_is_in(&pattern, "a", 1));
	}
	memset(text, 'a', sizeof text - 1);
	text[sizeof text - 1] = 0;
	assert_non_null(tfp_pattern_make(&pattern, text));
	text[123] = 0;
	assert_null(tfp_pattern_make(&pattern, text));
	assert_true(tfp_pattern_is_in(&pattern, text, 123));
}

/* A pattern that backtracking would need years for. */
static void takes_bounded_time(void **state)
{
	static char text[4096];

	(void)state;
	memset(text, 'a', sizeof text);
	assert_null(tfp_pattern_make(&pattern, "a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b$"));
	assert_false(tfp_pattern_is_in(&pattern, text, sizeof text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_it_should),
		cmocka_unit_test(refuses_what_it_does_not_know),
		cmocka_unit_test(takes_bounded_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of reducer/model/tf_config.c: which rank a TF_CONFIG tells, and that no text harms. */
#include "reducer/model/tf_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORKERS "\"worker\": [\"b:1\", \"c:1\"]"

static const struct {
	const char *text;
	int rank, ranks; /* -1: none is told */
	const char *addresses;
} cases[] = {
	{"{\"cluster\": {" WORKERS "}, \"task\": {\"type\": \"worker\", \"index\": 1}}", 1, 2, "b:1,c:1,"},
	{"{\"task\":{\"index\":0,\"type\":\"worker\"},\"cluster\":{" WORKERS "}}", 0, 2, "b:1,c:1,"},
	{"{\"cluster\": {" WORKERS ", \"chief\": [\"a:1\"]}, \"task\": {\"type\": \"worker\", \"index\": 1}}", 2, 3, "a:1,b:1,c:1,"},
	{"{\"cluster\": {" WORKERS ", \"chief\": [\"a:1\"]}, \"task\": {\"type\": \"chief\", \"index\": 0}}", 0, 3, "a:1,b:1,c:1,"},
	{"{\"cluster\": {" WORKERS ", \"master\": [\"a:1\"]}, \"task\": {\"type\": \"master\", \"index\": \"0\"}}", 0, 3, "a:1,b:1,c:1,"},
	{" { \"environment\" : \"cloud\", \"more\": [1, {\"a\": [null, true]}, -2.5e3], \"cluster\" : {" WORKERS
	 ", \"evaluator\": [\"e:1\"]} ,\n\"task\" : { \"cloud\": {}, \"type\" : \"worker\" , \"index\" : 0 } } ",
	 0, 2, "b:1,c:1,"},
	{"{\"cluster\": {" WORKERS ", \"evaluator\": [\"e:1\"]}, \"task\": {\"type\": \"evaluator\", \"index\": 0}}", -1, 0, ""},
	{"{\"cluster\": {" WORKERS ", \"ps\": [\"p:1\"]}, \"task\": {\"type\": \"worker\", \"index\": 0}}", -1, 0, ""},
	{"{\"cluster\": {" WORKERS ", \"ps\" : [ ] }, \"task\": {\"type\": \"worker\", \"index\": 1}}", 1, 2, "b:1,c:1,"},
	{"{\"cluster\": {" WORKERS ", \"ps\": {\"0\": \"p:1\"}}, \"task\": {\"type\": \"worker\", \"index\": 0}}", -1, 0, ""},
	{"{\"cluster\": {" WORKERS "}, \"task\": {\"type\": \"worker\", \"index\": 2}}", -1, 0, ""},
	{"{\"cluster\": {" WORKERS "}, \"task\": {\"type\": \"worker\"}}", -1, 0, ""},
	{"{\"cluster\": {\"worker\": []}, \"task\": {\"type\": \"worker\", \"index\": 0}}", -1, 0, ""},
	{"{\"task\": {\"type\": \"worker\", \"index\": 0}}", -1, 0, ""},
	{"{\"cluster\": {\"worker\": \"b:1\"}, \"task\": {\"type\": \"worker\", \"index\": 0}}", -1, 0, ""},
	{"{}", -1, 0, ""},
	{"", -1, 0, ""},
	{"[[[[[[[[[[[[[[[[[[[[[[", -1, 0, ""},
	{"{\"a\": [[[[[[[[[[[[[[[[[[[[[[", -1, 0, ""},
	{"{\"a\\", -1, 0, ""},
};

static void ranks_are_told(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tf_config config;
		int found = tf_config_read(&config, cases[i].text);
		if ((found == 0) != (cases[i].rank >= 0))
			fail_msg("%s: %d", cases[i].text, found);
		if (found != 0)
			continue;
		assert_int_equal(config.rank, cases[i].rank);
		assert_int_equal(config.ranks, cases[i].ranks);
		assert_string_equal(config.addresses.bytes, cases[i].addresses);
		tf_config_free(&config);
	}
}

/* Cut anywhere, as long variables are, it tells none; with any letter changed it may, or not. */
static void cut_and_changed(void **unused)
{
	const char *whole = cases[5].text;
	size_t length = strlen(whole) - 2; /* the last bracket, a space */

	(void)unused;
	for (size_t i = 0; i < length; i++) {
		struct tf_config config;
		char *text = malloc(i + 1); /* exact, so that reading past the end is seen under a sanitizer */
		memcpy(text, whole, i);
		text[i] = 0;
		assert_int_equal(tf_config_read(&config, text), -1);
		free(text);
		for (const char *letter = "\"[]{},:\\x "; *letter; letter++) {
			text = strdup(whole);
			text[i] = *letter;
			if (tf_config_read(&config, text) == 0)
				tf_config_free(&config);
			free(text);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_are_told),
		cmocka_unit_test(cut_and_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

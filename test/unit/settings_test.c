/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser of settings: every good value comes back as written, every bad one is refused with its reason and range.
 */
#include "preload/settings_parse.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct tfp_settings settings;
static struct tfp_setting_problem problem;

static int apply(const char *name, const char *value)
{
	return tfp_settings_apply(&settings, name, value, &problem);
}

static const char *shown(int number)
{
	static char text[TFP_SETTING_TEXT];
	size_t length = tfp_setting_format(&settings, number, text, sizeof text);

	assert_int_equal(length, strlen(text));
	return text;
}

/* Every default is a good value, and is printed as the table writes it. */
static void defaults_come_back(void **state)
{
	int number;

	(void)state;
	memset(&settings, 0xa5, sizeof settings);
	tfp_settings_default(&settings);
	for (number = 0; number < TFP_SETTING_COUNT; number++) {
		const struct tfp_setting_row *row = tfp_setting_row(number);

		assert_string_equal(shown(number), row->initial);
		assert_int_equal(apply(row->name, row->initial), 0);
	}
	assert_null(tfp_setting_row(TFP_SETTING_COUNT));
	assert_null(tfp_setting_row(-1));
}

static const struct good {
	int number;
	const char *value, *shown;
} good[] = {
	{TFP_SETTING_OUT, "/a b/c", "/a b/c"},
	{TFP_SETTING_WINDOW, "off", "off"},
	{TFP_SETTING_WINDOW, "time:0-1500ms", "time:0ns-1500ms"},
	{TFP_SETTING_WINDOW, "time:5s-15s,step:10-15,launch:1000-1000", "time:5s-15s,step:10-15,launch:1000-1000"},
	{TFP_SETTING_WINDOW, "time:60s-1h", "time:1m-1h"},
	{TFP_SETTING_WINDOW, "slow:50%", "slow:50%:10/100"},
	{TFP_SETTING_WINDOW, "step:3-9,slow:5%:20/1000", "step:3-9,slow:5%:20/1000"},
	{TFP_SETTING_WINDOW, "slow:5%/11", "slow:5%:10/11"},
	{TFP_SETTING_WINDOW, "budget:1%", "budget:1%:10"},
	{TFP_SETTING_WINDOW, "slow:50%,budget:100%:1000000", "slow:50%:10/100,budget:100%:1000000"},
	{TFP_SETTING_WINDOW, "time:0-5s/600s,step:1-9/010,launch:7-7/2", "time:0ns-5s/10m,step:1-9/10,launch:7-7/2"},
	{TFP_SETTING_WINDOW, "all", "all"},
	{TFP_SETTING_SIGNAL, "USR2", "USR2"},
	{TFP_SETTING_SIGNAL, "SIGUSR1", "USR1"},
	{TFP_SETTING_SIGNAL, "sigprof", "PROF"},
	{TFP_SETTING_SIGNAL, "12", "USR2"},
	{TFP_SETTING_SIGNAL, "34", "34"},
	{TFP_SETTING_SIGNAL, "64", "64"},
	{TFP_SETTING_SIGNAL, "0", "none"},
	{TFP_SETTING_MALLOC, "off", "off"},
	{TFP_SETTING_MALLOC, "totals", "totals"},
	{TFP_SETTING_MALLOC, "full", "full"},
	{TFP_SETTING_MALLOC, "sample:4096", "sample:4k"},
	{TFP_SETTING_MALLOC, "sample:1M", "sample:1M"},
	{TFP_SETTING_MALLOC, "sample:1000000", "sample:1000000"},
	{TFP_SETTING_TOTALS, "exact", "exact"},
	{TFP_SETTING_OPS, "off", "off"},
	{TFP_SETTING_OPS, "shapes", "shapes"},
	{TFP_SETTING_STEP_RANGE, "^step \\d+$|train", "^step \\d+$|train"},
	{TFP_SETTING_STEP_RANGE, "", ""},
	{TFP_SETTING_TOTALS, "batched", "batched"},
	{TFP_SETTING_DRAIN, "inline", "inline"},
	{TFP_SETTING_DRAIN, "thread", "thread"},
	{TFP_SETTING_DRAIN, "helper", "helper"},
	{TFP_SETTING_STACKS, "0", "0"},
	{TFP_SETTING_STACKS, "256", "256"},
	{TFP_SETTING_MAX_BYTES, "1M", "1M"},
	{TFP_SETTING_MAX_BYTES, "2g", "2G"},
	{TFP_SETTING_MAX_BYTES, "0", "0"},
	{TFP_SETTING_MAX_TOTAL_BYTES, "8M", "8M"},
	{TFP_SETTING_FULL, "wrap", "wrap"},
	{TFP_SETTING_ONLY, "python3,redis-*", "python3,redis-*"},
	{TFP_SETTING_ONLY, "", ""},
	{TFP_SETTING_SKIP, "default,mine", "default,mine"},
	{TFP_SETTING_SKIP, "", ""},
	{TFP_SETTING_ENV, "0", "0"},
};

static void good_values_come_back(void **state)
{
	size_t i;

	(void)state;
	tfp_settings_default(&settings);
	for (i = 0; i < sizeof good / sizeof good[0]; i++) {
		assert_int_equal(apply(tfp_setting_row(good[i].number)->name, good[i].value), 0);
		assert_int_equal(problem.fault, TFP_SETTING_FINE);
		assert_string_equal(shown(good[i].number), good[i].shown);
	}
}

static const struct bad {
	int number;
	const char *value, *why;
} bad[] = {
	{TFP_SETTING_STEP_RANGE, "(a)", "groups and counts"},
	{TFP_SETTING_STEP_RANGE, "step|", "an alternative is empty"},
	{TFP_SETTING_OUT, "", "it is empty"},
	{TFP_SETTING_WINDOW, "", "an entry begins with neither"},
	{TFP_SETTING_WINDOW, "never", "an entry begins with neither"},
	{TFP_SETTING_WINDOW, "time:5-15", "an entry is not FROM-TO or FROM-TO/EVERY with units"},
	{TFP_SETTING_WINDOW, "time:5s", "an entry is not FROM-TO or FROM-TO/EVERY with units"},
	{TFP_SETTING_WINDOW, "time:5s-15", "an entry is not FROM-TO or FROM-TO/EVERY with units"},
	{TFP_SETTING_WINDOW, "time:5s-15d", "an entry is not FROM-TO or FROM-TO/EVERY with units"},
	{TFP_SETTING_WINDOW, "time:5s-15s;step:1-2", "an entry is not FROM-TO or FROM-TO/EVERY with units"},
	{TFP_SETTING_WINDOW, "time:1s-18446744073709551615h", "an entry is not FROM-TO or FROM-TO/EVERY with units"},
	{TFP_SETTING_WINDOW, "time:15s-5s", "a window ends before it begins"},
	{TFP_SETTING_WINDOW, "time:5s-5s", "a window ends before it begins"},
	{TFP_SETTING_WINDOW, "step:1s-2s", "an entry is not FROM-TO or FROM-TO/EVERY in whole numbers"},
	{TFP_SETTING_WINDOW, "step:3-2", "a window ends before it begins"},
	{TFP_SETTING_WINDOW, "step:1-2/", "an entry is not FROM-TO or FROM-TO/EVERY in whole numbers"},
	{TFP_SETTING_WINDOW, "step:1-2/0", "a window is not over when it begins again"},
	{TFP_SETTING_WINDOW, "step:1-2/2", "a window is not over when it begins again"},
	{TFP_SETTING_WINDOW, "step:0-18446744073709551615/7", "a window is not over when it begins again"},
	{TFP_SETTING_WINDOW, "launch:1-2/3/4", "an entry is not FROM-TO or FROM-TO/EVERY in whole numbers"},
	{TFP_SETTING_WINDOW, "time:5s-15s/10s", "a window is not over when it begins again"},
	{TFP_SETTING_WINDOW, "time:5s-15s/20", "an entry is not FROM-TO or FROM-TO/EVERY with units"},
	{TFP_SETTING_WINDOW, "slow:50", "slow: is not PERCENT%"},
	{TFP_SETTING_WINDOW, "slow:50%:x", "slow: is not PERCENT%"},
	{TFP_SETTING_WINDOW, "slow:50%:2000000", "slow: is not PERCENT%"},
	{TFP_SETTING_WINDOW, "slow:50%10", "slow: is not PERCENT%"},
	{TFP_SETTING_WINDOW, "slow:0%", "slow: is from 1%"},
	{TFP_SETTING_WINDOW, "slow:50%:0/9", "a window of slow: has at least one step"},
	{TFP_SETTING_WINDOW, "slow:50%:10/10", "a window of slow: has at least one step"},
	{TFP_SETTING_WINDOW, "slow:50%,time:0s-1s,slow:60%", "there is more than one slow:"},
	{TFP_SETTING_WINDOW, "budget:1%,slow:50%,budget:2%", "there is more than one slow: or budget:"},
	{TFP_SETTING_WINDOW, "budget:1", "budget: is not PERCENT%"},
	{TFP_SETTING_WINDOW, "budget:1%:10/100", "budget: is not PERCENT%"},
	{TFP_SETTING_WINDOW, "budget:1%:2000000", "budget: is not PERCENT%"},
	{TFP_SETTING_WINDOW, "budget:0%", "budget: is from 1%"},
	{TFP_SETTING_WINDOW, "budget:101%", "budget: is from 1%"},
	{TFP_SETTING_WINDOW, "budget:1%:0", "budget: is from 1%"},
	{TFP_SETTING_WINDOW, "step:1-2,", "an entry begins with neither"},
	{TFP_SETTING_WINDOW, "step:1-2,all", "an entry begins with neither"},
	{TFP_SETTING_WINDOW,
	 "step:1-1,step:2-2,step:3-3,step:4-4,step:5-5,step:6-6,step:7-7,step:8-8,step:9-9,step:10-10,step:11-11,"
	 "step:12-12,step:13-13,step:14-14,step:15-15,step:16-16,step:17-17",
	 "there are more than 16 windows"},
	{TFP_SETTING_SIGNAL, "KILL", "no such signal can open a window"},
	{TFP_SETTING_SIGNAL, "9", "no such signal can open a window"},
	{TFP_SETTING_SIGNAL, "SIGSEGV", "no such signal can open a window"},
	{TFP_SETTING_SIGNAL, "32", "no such signal can open a window"},
	{TFP_SETTING_SIGNAL, "65", "no such signal can open a window"},
	{TFP_SETTING_SIGNAL, "12x", "no such signal can open a window"},
	{TFP_SETTING_SIGNAL, "", "no such signal can open a window"},
	{TFP_SETTING_MALLOC, "", "there is no such mode"},
	{TFP_SETTING_MALLOC, "fulll", "there is no such mode"},
	{TFP_SETTING_MALLOC, "sample:", "what follows sample: is not a size"},
	{TFP_SETTING_MALLOC, "sample:512q", "what follows sample: is not a size"},
	{TFP_SETTING_MALLOC, "sample:4095", "the sampling interval is too small"},
	{TFP_SETTING_MALLOC, "sample:0", "the sampling interval is too small"},
	{TFP_SETTING_TOTALS, "1", "there is no such choice"},
	{TFP_SETTING_TOTALS, "", "there is no such choice"},
	{TFP_SETTING_DRAIN, "auto,inline", "there is no such choice"},
	{TFP_SETTING_STACKS, "257", "it is too large"},
	{TFP_SETTING_STACKS, "-1", "it is not a whole number"},
	{TFP_SETTING_STACKS, "1k", "it is not a whole number"},
	{TFP_SETTING_STACKS, "18446744073709551616", "it is not a whole number"},
	{TFP_SETTING_CUDA_FLUSH, "9", "it is too small"},
	{TFP_SETTING_MAX_BYTES, "1023k", "it is too small"},
	{TFP_SETTING_MAX_TOTAL_BYTES, "8191k", "it is too small"},
	{TFP_SETTING_MAX_BYTES, "1.5G", "it is not a size"},
	{TFP_SETTING_MAX_BYTES, "G", "it is not a size"},
	{TFP_SETTING_MAX_BYTES, "99999999T", "it is not a size"},
	{TFP_SETTING_FULL, "drop", "there is no such choice"},
	{TFP_SETTING_ONLY, "/usr/bin/python3", "a program is named by its file name"},
	{TFP_SETTING_ENV, "yes", "it is neither 0 nor 1"},
	{TFP_SETTING_ENV, "", "it is neither 0 nor 1"},
	{TFP_SETTING_ENV, "10", "it is neither 0 nor 1"},
};

/* A bad value leaves the settings as they were, and the remedy is the reason with the row's own range. */
static void bad_values_are_refused(void **state)
{
	static struct tfp_settings before;
	char expected[TFP_SETTING_REMEDY];
	size_t i;

	(void)state;
	tfp_settings_default(&settings);
	before = settings;
	for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		const struct tfp_setting_row *row = tfp_setting_row(bad[i].number);

		if (!apply(row->name, bad[i].value))
			fail_msg("%s=%s was taken", row->name, bad[i].value);
		assert_int_equal(problem.fault, TFP_SETTING_BAD);
		assert_int_equal(problem.row, bad[i].number);
		if (strncmp(problem.remedy, bad[i].why, strlen(bad[i].why)))
			fail_msg("%s=%s: %s", row->name, bad[i].value, problem.remedy);
		snprintf(expected, sizeof expected, "; good: %s", row->range);
		assert_non_null(strstr(problem.remedy, expected));
		assert_memory_equal(&settings, &before, sizeof settings);
	}
}

static void long_texts_are_refused(void **state)
{
	static char text[TFP_SETTING_TEXT + 1];

	(void)state;
	tfp_settings_default(&settings);
	memset(text, 'x', TFP_SETTING_TEXT);
	assert_int_equal(apply("OUT", text), -1);
	assert_int_equal(apply("SKIP", text), -1);
	text[TFP_SETTING_TEXT - 1] = 0;
	assert_int_equal(apply("OUT", text), 0);
	assert_string_equal(settings.out, text);
}

static const struct unknown {
	const char *name;
	int nearest;
} unknown[] = {
	{"MALOC", TFP_SETTING_MALLOC}, {"malloc", TFP_SETTING_MALLOC},  {"MAXBYTES", TFP_SETTING_MAX_BYTES},
	{"MAX-BYTES", TFP_SETTING_MAX_BYTES}, {"STACK", TFP_SETTING_STACKS}, {"WIDNOW", TFP_SETTING_WINDOW},
	{"OUTPUT", TFP_SETTING_OUT}, {"XYZZY", -1}, {"", -1}, {"MALLOC_MALLOC_MALLOC_MALLOC_MALLOC_MALLOC", -1},
};

static void unknown_names_get_the_nearest(void **state)
{
	size_t i;

	(void)state;
	tfp_settings_default(&settings);
	for (i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
		assert_int_equal(apply(unknown[i].name, "1"), -1);
		assert_int_equal(problem.fault, TFP_SETTING_UNKNOWN);
		if (problem.row != unknown[i].nearest)
			fail_msg("%s: %s", unknown[i].name, problem.remedy);
		assert_true(problem.remedy[0] != 0);
	}
}

/* The numbers behind the words, as the guest reads them. */
static void words_mean_their_numbers(void **state)
{
	(void)state;
	tfp_settings_default(&settings);
	assert_int_equal(settings.heap.mode, TFP_MODE_SAMPLE);
	assert_int_equal(settings.heap.sample_bytes, 512 * 1024);
	assert_int_equal(settings.stacks, 32);
	assert_int_equal(settings.window.kind, TFP_WINDOW_ALL);
	assert_int_equal(apply("MALLOC", "off"), 0);
	assert_int_equal(settings.heap.mode, TFP_MODE_PASS);
	assert_int_equal(apply("MALLOC", "sample"), 0);
	assert_int_equal(settings.heap.sample_bytes, 512 * 1024);
	assert_int_equal(apply("TOTALS", "exact"), 0);
	assert_int_equal(settings.totals, TFP_TOTALS_EXACT);
	assert_int_equal(apply("DRAIN", "auto"), 0);
	assert_int_equal(settings.drain, TFP_DRAIN_AUTO);
	assert_int_equal(apply("DRAIN", "inline"), 0);
	assert_int_equal(settings.drain, TFP_DRAIN_INLINE);
	assert_int_equal(apply("DRAIN", "thread"), 0);
	assert_int_equal(settings.drain, TFP_DRAIN_THREAD);
	assert_int_equal(apply("DRAIN", "helper"), 0);
	assert_int_equal(settings.drain, TFP_DRAIN_HELPER);
	assert_int_equal(apply("FULL", "wrap"), 0);
	assert_int_equal(settings.full, TFP_FULL_WRAP);
	assert_int_equal(apply("SIGNAL", "USR2"), 0);
	assert_int_equal(settings.window_signal, SIGUSR2);
	assert_int_equal(apply("WINDOW", "time:500ms-2m,step:7-9"), 0);
	assert_int_equal(settings.window.count, 2);
	assert_int_equal(settings.window.entries[0].unit, TFP_WINDOW_TIME);
	assert_int_equal(settings.window.entries[0].from, 500000000);
	assert_int_equal(settings.window.entries[0].to, 120000000000);
	assert_int_equal(settings.window.entries[1].unit, TFP_WINDOW_STEP);
	assert_int_equal(settings.window.entries[1].to, 9);
	assert_int_equal(settings.window.entries[1].every, 0);
	assert_int_equal(apply("WINDOW", "time:5s-15s/10m,step:7-9/500"), 0);
	assert_int_equal(settings.window.entries[0].every, 600000000000);
	assert_int_equal(settings.window.entries[1].every, 500);
}

static void a_short_buffer_cuts(void **state)
{
	char text[8];

	(void)state;
	tfp_settings_default(&settings);
	assert_int_equal(tfp_setting_format(&settings, TFP_SETTING_OUT, text, sizeof text), 7);
	assert_string_equal(text, "tfprof-");
	assert_int_equal(tfp_setting_format(&settings, TFP_SETTING_OUT, text, 0), 0);
}

static void lists_name_programs(void **state)
{
	(void)state;
	assert_false(tfp_settings_names_program("", "sh"));
	assert_false(tfp_settings_names_program("", ""));
	assert_true(tfp_settings_names_program("a,b", "b"));
	assert_false(tfp_settings_names_program("a,b", "ab"));
	assert_false(tfp_settings_names_program("a,b", "a,b"));
	assert_false(tfp_settings_names_program("python3", "python3.11"));
	assert_true(tfp_settings_names_program("python3*", "python3.11"));
	assert_true(tfp_settings_names_program("*", "anything"));
	assert_true(tfp_settings_names_program("x*y*z", "xaybyz"));
	assert_false(tfp_settings_names_program("x*y*z", "xaybyzz_"));
	assert_true(tfp_settings_names_program("default", "bash"));
	assert_true(tfp_settings_names_program("mine,default", "gcc-12"));
	assert_true(tfp_settings_names_program("default", "x86_64-linux-gnu-g++-12"));
	assert_true(tfp_settings_names_program("default", "clang-18"));
	assert_false(tfp_settings_names_program("default", "gcc-"));
	assert_false(tfp_settings_names_program("default", "python3"));
	assert_false(tfp_settings_names_program("default", "shell"));
	assert_false(tfp_settings_names_program("default", ""));
	assert_false(tfp_settings_names_program("mine", "bash"));
	assert_true(tfp_settings_skips_tool("mine,default", "ldconfig"));
	assert_true(tfp_settings_skips_tool("git*", "git-lfs"));
	assert_false(tfp_settings_skips_tool("", "ldconfig"));
	assert_false(tfp_settings_skips_tool("default", "bash"));
	assert_false(tfp_settings_skips_tool("mine", "mine"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_come_back),   cmocka_unit_test(good_values_come_back),
		cmocka_unit_test(bad_values_are_refused), cmocka_unit_test(long_texts_are_refused),
		cmocka_unit_test(unknown_names_get_the_nearest), cmocka_unit_test(words_mean_their_numbers),
		cmocka_unit_test(a_short_buffer_cuts),  cmocka_unit_test(lists_name_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

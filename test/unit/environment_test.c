/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of preload/environment.c: what is handed on is understood again, bad values are nothing, the host's own
 * environment stays as it is.
 *
 * Rule: the file under test is compiled beside this one (test/unit/Makefile.inc), as only the hooks' own objects hold it.
 */
#include "preload/environment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "writer/stream.h"

static int never(void)
{
	return -1;
}
int (*const tfp_start_process)(void) = never;

/* Stands for the loader's word: where the kernel put the number of words, the words, 0, and, above them, the texts. */
extern void *stack_end_of_test;
void *stack_end_of_test;

static void begin(uint64_t log_id, uint32_t exec_count)
{
	tfp_origin.log_id = log_id;
	tfp_origin.exec_count = exec_count;
	for (int i = 0; i < 16; i++)
		tfp_origin.job_id[i] = (uint8_t)(17 * i);
}

static const char *value_in(char *const *environment)
{
	const char *found = NULL;

	for (; *environment; environment++) {
		if (strncmp(*environment, "TFPROF_PARENT=", 14))
			continue;
		assert_null(found); /* once */
		found = *environment + 14;
	}
	return found;
}

static void test_what_is_handed_on_is_understood(void **state)
{
	static const uint64_t ids[] = {1, UINT64_MAX, UINT64_C(0x0123456789abcdef)};
	char *host[] = {(char *)"A=1", (char *)"LD_PRELOAD=x", (char *)"TFPROF_PARENT=old", (char *)"B=", NULL};
	struct tfp_environment changed;
	struct tfp_descent descent;

	(void)state;
	for (int i = 0; i < 3; i++) {
		begin(ids[i], 7);
		char *const *made = tfp_environment_make(&changed, host, 0);
		assert_ptr_not_equal(made, host);
		assert_string_equal(made[0], "A=1");
		assert_string_equal(host[2], "TFPROF_PARENT=old");
		assert_non_null(value_in(made));
		setenv("TFPROF_PARENT", value_in(made), 1);
		tfp_environment_drop(&changed);
		tfp_environment_descent(&descent);
		assert_int_equal(descent.parent_log_id, ids[i]);
		assert_memory_equal(descent.job_id, tfp_origin.job_id, 16);
		assert_int_equal(descent.exec_count, 8);
	}
	unsetenv("TFPROF_PARENT");
}

static void test_where_nothing_is_handed_on(void **state)
{
	char *without[] = {(char *)"A=1", NULL}, *with[] = {(char *)"LD_PRELOAD=x", NULL}, *none[] = {NULL};
	struct tfp_environment changed;

	(void)state;
	begin(5, 0);
	assert_null(tfp_environment_make(&changed, NULL, 0));
	assert_ptr_equal(tfp_environment_make(&changed, without, 0), without);
	assert_ptr_equal(tfp_environment_make(&changed, none, 0), none);
	tfp_environment_allow(0);
	assert_ptr_equal(tfp_environment_make(&changed, with, 0), with);
	tfp_environment_allow(1);
}

static void test_bad_values_are_nothing(void **state)
{
	static const char *const bad[] = {
		"", ":", "00", "xyz", "00112233445566778899aabbccddeeff", "00112233445566778899aabbccddeeff:",
		"00112233445566778899aabbccddeef", "00112233445566778899AABBCCDDEEFF:0000000000000001:00000000",
		"00112233445566778899aabbccddeeff 0000000000000001:00000000", "\xff\xff\xff\xff",
	};
	struct tfp_descent descent;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		setenv("TFPROF_PARENT", bad[i], 1);
		tfp_environment_descent(&descent);
		assert_int_equal(descent.parent_log_id, 0);
		assert_int_equal(descent.exec_count, 0);
	}
	unsetenv("TFPROF_PARENT");
	setenv("TFPROF_JOB", "000102030405060708090a0b0c0d0e0f", 1);
	tfp_environment_descent(&descent);
	for (int i = 0; i < 16; i++)
		assert_int_equal(descent.job_id[i], i);
	unsetenv("TFPROF_JOB");
}

static void test_names_are_found_whole(void **state)
{
	(void)state;
	setenv("TFPROF_TEST_NAME_LONGER", "no", 1);
	assert_null(tfp_environment_get("TFPROF_TEST_NAME"));
	setenv("TFPROF_TEST_NAME", "", 1);
	assert_string_equal(tfp_environment_get("TFPROF_TEST_NAME"), "");
}

/* As the kernel and loaders leave them; one of glibc before 2.36 that was run by hand has written over its own last word. */
static void test_words_are_the_programs_or_none(void **state)
{
	static struct {
		uintptr_t words[8];
		char texts[32];
	} stack = {.texts = "ld.so\0program\0-v"};
	const char *texts = stack.texts;
	const struct {
		uintptr_t words[8];
		const char *first;
		size_t bytes;
	} rows[] = {
		{{3, (uintptr_t)texts, (uintptr_t)texts + 6, (uintptr_t)texts + 14}, texts, 17},
		{{1, (uintptr_t)texts + 6}, texts + 6, 8},
		{{3, 2, (uintptr_t)texts + 6, (uintptr_t)texts + 14}, NULL, 0},
		{{3, (uintptr_t)texts, 1, (uintptr_t)texts + 14}, NULL, 0},
		{{0}, NULL, 0},
		{{2, (uintptr_t)texts, (uintptr_t)texts + 14}, NULL, 0},
	};

	(void)state;
	stack_end_of_test = stack.words;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t bytes = 0;

		memcpy(stack.words, rows[i].words, sizeof stack.words);
		assert_ptr_equal(tfp_environment_words(&bytes), rows[i].first);
		assert_int_equal(bytes, rows[i].bytes);
	}
	stack_end_of_test = NULL;
	size_t unused;
	assert_null(tfp_environment_words(&unused));
}

extern char **environ;

/* Ours, as often as they are there, and nobody else's; a table that has none of them is not written to. */
static void test_ours_are_withdrawn(void **state)
{
	static const char *const names[] = {"ONE", "OTHER", NULL};
	char **before = environ;
	char *table[] = {(char *)"OTHER=/ours", (char *)"ONE=/ours", (char *)"ONE=/theirs", (char *)"ONE", (char *)"ONEMORE=/ours",
			 (char *)"ONE=/ours", (char *)"A=1", (char *)"OTHER=/ours", NULL};
	static const char *const kept[] = {"ONE=/theirs", "ONE", "ONEMORE=/ours", "A=1", NULL};
	char **pages = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	environ = table;
	tfp_environment_withdraw(names, "");
	assert_string_equal(table[0], "OTHER=/ours");
	tfp_environment_withdraw(names, "/ours");
	for (int i = 0; kept[i] || table[i]; i++)
		assert_string_equal(table[i], kept[i]);
	pages[0] = (char *)"ONE=/theirs";
	pages[1] = (char *)"A=1";
	assert_int_equal(mprotect(pages, 4096, PROT_READ), 0);
	environ = pages;
	tfp_environment_withdraw(names, "/ours");
	environ = NULL;
	tfp_environment_withdraw(names, "/ours");
	environ = before;
	munmap(pages, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_handed_on_is_understood),
		cmocka_unit_test(test_where_nothing_is_handed_on),
		cmocka_unit_test(test_bad_values_are_nothing),
		cmocka_unit_test(test_names_are_found_whole),
		cmocka_unit_test(test_ours_are_withdrawn),
		cmocka_unit_test(test_words_are_the_programs_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

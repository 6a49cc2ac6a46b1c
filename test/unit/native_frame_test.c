/* SPDX-License-Identifier: Apache-2.0 */
/* Frame pointers by a function's first instructions: those that compilers write, and what must not be taken for one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectors/native_frame.h"

#include <stdlib.h>
#include <string.h>

#define ROOM 256

#if defined __x86_64__

struct shape {
	const char *code; /* hexadecimal, blanks apart */
	int64_t bytes;
};

static const struct shape shapes[] = {
	{"55 48 89 e5 5d c3", 0},
	{"55 48 89 e5 41 57 41 56 53 50 e8 00 00 00 00", 32}, /* clang: push of any register makes the room */
	{"f3 0f 1e fa 55 48 89 e5 48 83 ec 20 e8 00 00 00 00", 32},
	/* gcc: moves in between */
	{"55 48 89 e5 41 57 49 89 ff 41 56 4d 89 c6 41 55 49 89 cd 41 54 49 89 d4 53 48 89 f3 48 81 ec a8 00 00 00 4c 89 8d", 208},
	/* with a guard of the stack: mov %fs:0x28, %rax; xor %eax, %eax; lea; movups */
	{"55 48 89 e5 53 48 83 ec 18 64 48 8b 04 25 28 00 00 00 48 89 45 e8 31 c0", 32},
	{"55 31 c0 48 89 e5 48 8d 3d 10 00 00 00 0f 57 c0 b8 07 00 00 00 48 c7 45 f8 01 00 00 00 41 54 48 83 c4 80 e8", 136},
	{"41 57 55 48 8b ec 53 48 83 ec 08 e8 00 00 00 00", 16},
	{"48 83 ec 18 e8 00 00 00 00", -1},			/* keeps none */
	{"55 48 89 fd 53 48 83 ec 08 e8 00 00 00 00", -1},	/* saves the register to use it */
	{"55 48 89 e5 48 83 e4 e0 48 83 ec 40 e8", -1},		/* aligns the stack: by how much depends */
	{"55 48 89 e5 48 29 c4 e8 00 00 00 00", -1},		/* makes as much room as a variable says, */
	{"55 48 89 e5 48 83 ec 20 e8 00 00 00 00 48 29 c4 e8", -1}, /* also later, */
	{"55 48 89 e5 48 83 ec 20 e8 00 00 00 00 4c 89 fc e8", -1}, /* or by another register */
	{"55 48 89 e5 53 48 83 ec 28 e8 00 00 00 00 48 8d 65 f8 5b 5d c3", 48}, /* the way back is none */
	{"55 48 89 e5 48 81 ec 00 10 00 00 48 83 0c 24 00 48 83 ec 30 e8", 4144}, /* -fstack-clash-protection */
	{"55 48 89 e5 41 54 c5 f9 ef c0 53 48 83 ec 60 e8", -1},	/* what is not known here may stand before more room */
	{"55 48 89 e5 48 83 ec f0 e8 00 00 00 00", -1},		/* no room at all */
};

static size_t parse(const char *text, uint8_t *to)
{
	size_t count = 0;
	char *end;

	for (; *text; text = end)
		to[count++] = (uint8_t)strtoul(text, &end, 16);
	return count;
}

static void test_frames_that_compilers_make(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		uint8_t code[ROOM];
		memset(code, 0xc3, sizeof code);
		parse(shapes[i].code, code);
		assert_int_equal(tfp_native_frame_bytes(code, sizeof code, 200), shapes[i].bytes);
	}
}

static void test_a_place_within_them_has_what_came_before(void **state)
{
	uint8_t code[ROOM];

	(void)state;
	memset(code, 0xc3, sizeof code);
	parse("55 48 89 e5 53 48 83 ec 18 c3", code);
	assert_int_equal(tfp_native_frame_bytes(code, sizeof code, 4), 0);
	assert_int_equal(tfp_native_frame_bytes(code, sizeof code, 5), 8);
	assert_int_equal(tfp_native_frame_bytes(code, sizeof code, 9), 32);
	assert_int_equal(tfp_native_frame_bytes(code, 16, 9), -1);
}

static void test_any_bytes_end(void **state)
{
	uint8_t code[ROOM];

	(void)state;
	srand(1);
	for (int turn = 0; turn < 200000; turn++) {
		for (size_t i = 0; i < sizeof code; i++)
			code[i] = (uint8_t)rand();
		memcpy(code, "\x55\x48\x89\xe5", 4);
		assert_true(tfp_native_frame_bytes(code, sizeof code, 90) >= -1);
	}
}

static void test_calls_are_told(void **state)
{
	static const char *const calls[] = {"e8 01 02 03 04",	 "ff d0",	   "41 ff d3",		"ff 50 18",
					    "ff 15 01 02 03 04", "41 ff 54 24 08", "ff 90 80 01 00 00"};
	static const char *const others[] = {"e9 01 02 03 04", "ff e0", "48 89 c7", "ff 75 10", "0f 05", "90 90 90 90 90 90 90"};
	uint8_t code[ROOM];

	(void)state;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		memset(code, 0x90, sizeof code);
		assert_true(tfp_native_is_behind_call(code + 16 + parse(calls[i], code + 16)));
	}
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		memset(code, 0x90, sizeof code);
		assert_false(tfp_native_is_behind_call(code + 16 + parse(others[i], code + 16)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_that_compilers_make),
		cmocka_unit_test(test_a_place_within_them_has_what_came_before),
		cmocka_unit_test(test_any_bytes_end),
		cmocka_unit_test(test_calls_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void test_nothing_is_told(void **state)
{
	uint8_t code[ROOM] = {0};

	(void)state;
	assert_int_equal(tfp_native_frame_bytes(code, sizeof code, 64), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_is_told)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* From instructions to lines, for the three kinds of tables; native and Python frames in one order. Tables are worked out by
 * hand. */
#include "collectors/python_layout.h"
#include "collectors/python_names.h"
#include "writer/stream.h"
#include "reducer/tables/frames_merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static int ready(void)
{
	return 0;
}
int (*const tfp_start_process)(void) = ready;

static void lnotab(void **state)
{
	/* 6 bytes of line 10, 50 of line 11, then 300 lines down (in steps of at most 127), then one back. */
	static const uint8_t table[] = {6, 1, 50, 127, 0, 127, 0, 46, 4, 0xff};

	(void)state;
	assert_int_equal(tfp_python_line(TFP_PYTHON_LNOTAB, table, sizeof table, 10, 0), 10);
	assert_int_equal(tfp_python_line(TFP_PYTHON_LNOTAB, table, sizeof table, 10, 5), 10);
	assert_int_equal(tfp_python_line(TFP_PYTHON_LNOTAB, table, sizeof table, 10, 6), 11);
	assert_int_equal(tfp_python_line(TFP_PYTHON_LNOTAB, table, sizeof table, 10, 56), 311);
	assert_int_equal(tfp_python_line(TFP_PYTHON_LNOTAB, table, sizeof table, 10, 60), 310);
	assert_int_equal(tfp_python_line(TFP_PYTHON_LNOTAB, table, 0, 10, 60), 10);
}

static void linetable(void **state)
{
	/* 4 bytes of line 10, 6 without one, 2 of line 12, 254 and 4 of line 9. */
	static const uint8_t table[] = {4, 0, 6, 0x80, 2, 2, 254, 0xfd, 4, 0};

	(void)state;
	assert_int_equal(tfp_python_line(TFP_PYTHON_LINETABLE, table, sizeof table, 10, 3), 10);
	assert_int_equal(tfp_python_line(TFP_PYTHON_LINETABLE, table, sizeof table, 10, 4), 0);
	assert_int_equal(tfp_python_line(TFP_PYTHON_LINETABLE, table, sizeof table, 10, 10), 12);
	assert_int_equal(tfp_python_line(TFP_PYTHON_LINETABLE, table, sizeof table, 10, 12), 9);
	assert_int_equal(tfp_python_line(TFP_PYTHON_LINETABLE, table, sizeof table, 10, 266), 9);
	assert_int_equal(tfp_python_line(TFP_PYTHON_LINETABLE, table, sizeof table, 10, 270), 0);
}

static void locations(void **state)
{
	/*
	 * 2 instructions, short form, line 10; 1 of no line; 1, one line down with columns; 1 without columns, 100 lines down
	 * (200 in groups of six bits: 8, 3); 1 long form, 3 lines back (7), with three more numbers.
	 */
	static const uint8_t table[] = {
		0x80 | 0 << 3 | 1, 5, 0x80 | 15 << 3, 0x80 | 11 << 3, 1, 2, 0x80 | 13 << 3, 0x48, 3, 0x80 | 14 << 3, 7, 1, 1, 1};

	(void)state;
	assert_int_equal(tfp_python_line(TFP_PYTHON_LOCATIONS, table, sizeof table, 10, 2), 10);
	assert_int_equal(tfp_python_line(TFP_PYTHON_LOCATIONS, table, sizeof table, 10, 4), 0);
	assert_int_equal(tfp_python_line(TFP_PYTHON_LOCATIONS, table, sizeof table, 10, 6), 11);
	assert_int_equal(tfp_python_line(TFP_PYTHON_LOCATIONS, table, sizeof table, 10, 8), 111);
	assert_int_equal(tfp_python_line(TFP_PYTHON_LOCATIONS, table, sizeof table, 10, 10), 108);
	assert_int_equal(tfp_python_line(TFP_PYTHON_LOCATIONS, table, sizeof table, 10, 12), 0);
	assert_int_equal(tfp_python_line(TFP_PYTHON_LOCATIONS, table, 8, 10, 8), 15); /* cut: 8 of the 200 */
	assert_int_equal(tfp_python_line(TFP_PYTHON_LOCATIONS, table + 1, 1, 10, 0), 0); /* no entry begins so */
}

/* Whatever the bytes, nothing behind them is read (run with sanitizers) and the walk ends. */
static void any_bytes(void **state)
{
	uint8_t table[64];
	uint32_t random = 12345;

	(void)state;
	for (int turn = 0; turn < 20000; turn++) {
		size_t bytes = (size_t)turn % sizeof table;
		for (size_t i = 0; i < bytes; i++) {
			random = random * 1664525 + 1013904223;
			table[sizeof table - bytes + i] = (uint8_t)(random >> 24);
		}
		for (int kind = 0; kind < 3; kind++)
			tfp_python_line((enum tfp_python_lines)kind, table + sizeof table - bytes, bytes, random >> 8,
					random >> 20);
	}
}

static void texts(void **state)
{
	static const uint16_t wide[] = {'a', 0xe9, 0x6f22, 0xd800};
	static const uint32_t widest[] = {0x1f600};
	char to[16];

	(void)state;
	assert_int_equal(tfp_python_utf8("ab\xe9", 3, 1, to, sizeof to), 4);
	assert_memory_equal(to, "ab\xc3\xa9", 4);
	assert_int_equal(tfp_python_utf8(wide, 4, 2, to, sizeof to), 9);
	assert_memory_equal(to, "a\xc3\xa9\xe6\xbc\xa2\xed\xa0\x80", 9);
	assert_int_equal(tfp_python_utf8(widest, 1, 4, to, sizeof to), 4);
	assert_memory_equal(to, "\xf0\x9f\x98\x80", 4);
	assert_int_equal(tfp_python_utf8(wide, 4, 2, to, 5), 3); /* no part of a character */
}

#define LOOP                                                                                                                     \
	{                                                                                                                        \
		true, true, false                                                                                                \
	}
#define OWN                                                                                                                      \
	{                                                                                                                        \
		false, true, false                                                                                               \
	}
#define OTHER                                                                                                                    \
	{                                                                                                                        \
		false, false, false                                                                                              \
	}
#define CUT                                                                                                                      \
	{                                                                                                                        \
		false, false, true                                                                                               \
	}

static void merged(const struct merge_native *native, size_t natives, const bool *entries, size_t pythons, const int *wanted,
		   size_t count)
{
	int order[32];

	assert_int_equal(frames_merge(native, natives, entries, pythons, order), count);
	assert_memory_equal(order, wanted, count * sizeof *wanted);
}

static void merging(void **state)
{
	/* malloc, the interpreter's own, its loop (two Python frames), its own, a library that calls back, the loop, main */
	static const struct merge_native whole[] = {OTHER, OWN, LOOP, OWN, OTHER, LOOP, OWN};
	static const bool entries[] = {false, true, true};
	static const int order[] = {0, 1, -1, -2, 4, -3};
	/* The native stack was cut in front of the last loop: Python goes on, and nothing is missing. */
	static const struct merge_native cut[] = {OTHER, LOOP, OWN, CUT};
	static const int cut_order[] = {0, -1, -2, -3};
	/* No loop at all: all native frames, then Python's. */
	static const struct merge_native none[] = {OTHER, OTHER, CUT};
	static const int none_order[] = {0, 1, -1, -2, -3};
	/* A loop that has no Python frame yet. */
	static const struct merge_native more[] = {LOOP, LOOP, LOOP, OTHER};
	static const int more_order[] = {-1, -2, -3, 3};

	(void)state;
	merged(whole, 7, entries, 3, order, 6);
	merged(cut, 4, entries, 3, cut_order, 4);
	merged(none, 3, entries, 3, none_order, 5);
	merged(more, 4, entries, 3, more_order, 4);
	assert_true(frames_is_loop("_PyEval_EvalFrameDefault"));
	assert_true(frames_is_loop("_PyEval_EvalFrameDefault.cold"));
	assert_false(frames_is_loop("_PyEval_EvalFrameDefaultX"));
	assert_false(frames_is_loop("PyEval_EvalCode"));
}

static void versions(void **state)
{
	struct tfp_python_layout layout;

	(void)state;
	assert_null(tfp_python_layout(&layout, 0x03080000, NULL, 0));
	assert_null(tfp_python_layout(&layout, 0x030c01f0, NULL, 0));
	assert_non_null(tfp_python_layout(&layout, 0x03070000, NULL, 0));
	assert_non_null(tfp_python_layout(&layout, 0x031000f0, NULL, 0));
	uint64_t short_table[8] = {0};
	assert_non_null(tfp_python_layout(&layout, 0x030d00f0, short_table, sizeof short_table));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lnotab), cmocka_unit_test(linetable), cmocka_unit_test(locations), cmocka_unit_test(any_bytes),
		cmocka_unit_test(texts),  cmocka_unit_test(merging),   cmocka_unit_test(versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

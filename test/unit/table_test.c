/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of reducer/tables/table.c and reducer/base: cells, order, nearest names, the hash index.
 *
 * Rule: each expectation stands in the test.
 */
#include "reducer/base/index.h"
#include "reducer/tables/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NUMBER, SHARE, NAME, COLUMNS };

static const struct table_column columns[] = {
	[NUMBER] = {"number", "number", TABLE_INTEGER, UNIT_COUNT, 0, "a number"},
	[SHARE] = {"share", "share", TABLE_REAL, UNIT_RATIO, 0, "a real"},
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 0, "a text"},
};
static const struct table_kind kind = {.id = "test.table", .title = "Test", .help = "", .columns = columns, .column_count = COLUMNS};

/* "30 b", "- c" (unknown), "10 a", "30 a" */
static struct table *four_rows(void)
{
	struct table *table = table_make(&kind);
	static const struct {
		int64_t number;
		const char *name;
	} rows[] = {{30, "b"}, {-1, "c"}, {10, "a"}, {30, "a"}};

	for (size_t i = 0; i < 4; i++) {
		table_row(table);
		if (rows[i].number >= 0)
			table_integer(table, NUMBER, rows[i].number);
		table_string(table, NAME, rows[i].name);
	}
	return table;
}

static void assert_names(const struct table *table, const char *wanted)
{
	char names[16] = "";

	for (size_t i = 0; i < table->shown_count; i++) {
		size_t length;
		strncat(names, table_get_text(table, i, NAME, &length), 1);
	}
	assert_string_equal(names, wanted);
}

/* Columns that are the same in all rows, begin late, stop early or change in the middle read as they were written. */
static void test_cells_read_as_written(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 400; seed++) {
		struct table *table = table_make(&kind);
		int64_t numbers[64], known_from = seed % 5, known_to = 64 - seed / 5 % 5, changes = 1 + seed % 70;
		for (int64_t i = 0; i < 64; i++) {
			numbers[i] = i / changes * 7;
			table_row(table);
			if (i >= known_from && i < known_to)
				table_integer(table, NUMBER, numbers[i]);
			table_string(table, NAME, i % changes ? "a" : "bc");
		}
		if (seed % 3 == 0) {
			table_set_integer(table, seed % 64, NUMBER, 99);
			numbers[seed % 64] = 99;
		}
		for (int64_t i = 0; i < 64; i++) {
			bool is_set = seed % 3 == 0 && i == seed % 64;
			size_t length;
			const char *text = table_get_text(table, (size_t)i, NAME, &length);
			assert_int_equal(table_is_known(table, (size_t)i, NUMBER), is_set || (i >= known_from && i < known_to));
			if (table_is_known(table, (size_t)i, NUMBER))
				assert_int_equal(table_get_integer(table, (size_t)i, NUMBER), numbers[i]);
			assert_false(table_is_known(table, (size_t)i, SHARE));
			assert_int_equal(length, i % changes ? 1 : 2);
			assert_memory_equal(text, i % changes ? "a" : "bc", length);
		}
		table_free(table);
	}
}

static void test_unset_cells_are_unknown(void **state)
{
	struct table *table = four_rows();

	(void)state;
	assert_int_equal(table->row_count, 4);
	assert_false(table_is_known(table, 1, NUMBER));
	assert_true(table_is_known(table, 0, NUMBER));
	assert_false(table_is_known(table, 0, SHARE));
	assert_int_equal(table_get_integer(table, 2, NUMBER), 10);
	table_free(table);
}

static void test_order(void **state)
{
	struct table *table = four_rows();

	(void)state;
	assert_names(table, "bcaa");
	table_sort(table, NUMBER, false);
	assert_names(table, "baac"); /* largest first, equal ones as added, unknown last */
	table_sort(table, NUMBER, true);
	assert_names(table, "abac");
	table_sort(table, NAME, false);
	assert_names(table, "aabc");
	table_top(table, 3);
	assert_names(table, "aab");
	assert_int_equal(table->row_count, 4);
	table_top(table, 9);
	assert_int_equal(table->shown_count, 3);
	table_free(table);
}

static bool is_a(const struct table *table, size_t row, void *context)
{
	size_t length;

	(void)context;
	return table_get_text(table, row, NAME, &length)[0] == 'a';
}

static void test_keep(void **state)
{
	struct table *table = four_rows();

	(void)state;
	table_keep(table, is_a, NULL);
	assert_int_equal(table->row_count, 2);
	assert_names(table, "aa");
	table_sort(table, NUMBER, false);
	assert_int_equal(table_get_integer(table, 0, NUMBER), 30);
	table_set_integer(table, 0, NUMBER, 5);
	assert_int_equal(table_get_integer(table, 0, NUMBER), 5);
	assert_int_equal(table_get_integer(table, 1, NUMBER), 10);
	table_free(table);
}

static void test_text_of_any_bytes(void **state)
{
	static const char bytes[] = {'a', 0, '\n', (char)0xff, '"'};
	struct table *table = table_make(&kind);
	const char *got;
	size_t length;

	(void)state;
	table_row(table);
	table_text(table, NAME, bytes, sizeof(bytes));
	got = table_get_text(table, 0, NAME, &length);
	assert_int_equal(length, sizeof(bytes));
	assert_memory_equal(got, bytes, length);
	table_free(table);
}

static const struct table_kind long_kind = {
	.id = "test.long", .title = "Long", .help = "", .columns = columns, .column_count = COLUMNS, .is_long = true};

static struct table *many_rows(const struct table_kind *of, size_t count)
{
	struct table *table = table_make(of);
	uint64_t state = 7;

	for (size_t i = 0; i < count; i++) {
		char name[300];
		int length;
		state = base_mix(state + i);
		length = snprintf(name, sizeof(name), "%0*d", (int)(state >> 32 & 255), (int)(state % 97));
		table_row(table);
		if (state % 5)
			table_integer(table, NUMBER, (int64_t)(state >> 20 & 4095) - 2000);
		if (state % 3 && i < count - 9000)
			table_real(table, SHARE, ((double)(state >> 30 & 1023) - 500) / 3);
		if (state % 7)
			table_text(table, NAME, name, (size_t)length);
	}
	return table;
}

static void assert_same(const struct table *one, const struct table *other)
{
	assert_int_equal(one->row_count, other->row_count);
	assert_int_equal(one->shown_count, other->shown_count);
	for (size_t i = 0; i < one->shown_count; i++) {
		size_t length, other_length;
		for (size_t k = 0; k < COLUMNS; k++)
			if (table_is_known(one, i, k) != table_is_known(other, i, k))
				fail_msg("row %zu, column %zu: known in one alone", i, k);
		if (table_is_known(one, i, NUMBER))
			assert_int_equal(table_get_integer(one, i, NUMBER), table_get_integer(other, i, NUMBER));
		if (table_is_known(one, i, SHARE))
			assert_true(table_get_number(one, i, SHARE) == table_get_number(other, i, SHARE));
		if (!table_is_known(one, i, NAME))
			continue;
		const char *text = table_get_text(one, i, NAME, &length), *same = table_get_text(other, i, NAME, &other_length);
		assert_int_equal(length, other_length);
		assert_memory_equal(text, same, length);
	}
}

static bool is_small(const struct table *table, size_t row, void *context)
{
	(void)context;
	return table_is_known(table, row, NUMBER) && table_get_integer(table, row, NUMBER) < 100;
}

/* Rows that lie in a spool read, sort and are left out as rows in memory do. */
static void test_long_table_is_as_one_in_memory(void **state)
{
	static const size_t counts[] = {TABLE_HEAD, TABLE_HEAD + 1, TABLE_HEAD + 8192, TABLE_HEAD + 8193, 90000};

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct table *one = many_rows(&kind, counts[i]), *other = many_rows(&long_kind, counts[i]);
		assert_int_equal(other->pages != NULL, counts[i] > TABLE_HEAD);
		assert_same(one, other);
		table_sort(one, NUMBER, false);
		table_sort(other, NUMBER, false);
		assert_same(one, other);
		table_free(one);
		table_free(other);
	}
	for (size_t sort = 0; sort < 2 * (size_t)COLUMNS; sort++) {
		struct table *one = many_rows(&kind, 70000), *other = many_rows(&long_kind, 70000);
		table_keep(one, is_small, NULL);
		table_keep(other, is_small, NULL);
		table_sort(one, sort % COLUMNS, sort >= COLUMNS);
		table_sort(other, sort % COLUMNS, sort >= COLUMNS);
		table_top(one, 30000);
		table_top(other, 30000);
		assert_same(one, other);
		table_free(one);
		table_free(other);
	}
}

/* Rows of which nothing is known, more than a page of them. */
static void test_long_table_of_empty_rows(void **state)
{
	size_t count = TABLE_HEAD + 40000;
	struct table *table = table_make(&long_kind);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		table_row(table);
		if (i == TABLE_HEAD + 1 || i == TABLE_HEAD + 30000)
			table_integer(table, NUMBER, (int64_t)i);
		if (table_has_cells(table, NUMBER) != (i > TABLE_HEAD))
			fail_msg("a cell at row %zu", i);
	}
	assert_false(table_has_cells(table, SHARE));
	table_real(table, SHARE, 1);
	assert_true(table_has_cells(table, SHARE));
	for (size_t i = 0; i < count; i++)
		if (table_is_known(table, i, NUMBER) != (i == TABLE_HEAD + 1 || i == TABLE_HEAD + 30000))
			fail_msg("row %zu", i);
	table_sort(table, NUMBER, true);
	assert_int_equal(table_get_integer(table, 0, NUMBER), TABLE_HEAD + 1);
	assert_int_equal(table_get_integer(table, 1, NUMBER), TABLE_HEAD + 30000);
	assert_false(table_is_known(table, 2, NUMBER));
	table_free(table);
}

static void test_empty_table(void **state)
{
	struct table *table = table_make(&kind);

	(void)state;
	table_sort(table, NAME, false);
	table_keep(table, is_a, NULL);
	table_top(table, 5);
	assert_int_equal(table->shown_count, 0);
	assert_int_equal(table_find_column(&kind, "share"), SHARE);
	assert_int_equal(table_find_column(&kind, "shar"), SIZE_MAX);
	table_free(table);
}

static const char *nearest(const char *word)
{
	static const char *const names[] = {"memory.sites", "memory.summary", "losses", "settings"};
	struct base_nearest search = base_nearest_start(word);

	for (size_t i = 0; i < 4; i++)
		base_nearest_offer(&search, names[i]);
	return search.best;
}

/* The word behind a count agrees with it, whatever stands between. */
static void test_words_by_count(void **state)
{
	static const struct {
		int count;
		const char *text;
	} cases[] = {{0, "0 copies are gone"}, {1, "1 copy is gone"}, {2, "2 copies are gone"}, {11, "11 copies are gone"},
		     {21, "21 copies are gone"}};
	struct table *table = table_make(&kind);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		table_note(table, NOTE_INFO, "%d " BY_COUNT("copy is", "copies are") " gone", cases[i].count);
		assert_string_equal(table->notes[i].text, cases[i].text);
	}
	table_note(table, NOTE_INFO, "%s " BY_COUNT("copy", "copies") ", %d of " BY_COUNT("it", "them"), "0.1", 1);
	assert_string_equal(table->notes[5].text, "0.1 copies, 1 of it");
	table_note(table, NOTE_INFO, BY_COUNT("one", "none counted") " and \1 alone");
	assert_string_equal(table->notes[6].text, "none counted and \1 alone");
	table_free(table);
}

static void test_nearest_name(void **state)
{
	(void)state;
	assert_string_equal(nearest("memory.site"), "memory.sites");
	assert_string_equal(nearest("memry.sumary"), "memory.summary");
	assert_string_equal(nearest("loses"), "losses");
	assert_null(nearest("kernel_stats"));
	assert_null(nearest(""));
}

static bool number_equal(const void *context, const void *key, uint32_t number)
{
	return ((const uint64_t *)context)[number] == *(const uint64_t *)key;
}

static void test_index(void **state)
{
	struct base_index index = {0};
	static uint64_t keys[5000];

	(void)state;
	for (uint32_t i = 0; i < 5000; i++) {
		keys[i] = (uint64_t)i * 4096;
		assert_int_equal(base_index_find(&index, base_mix(keys[i]), number_equal, keys, &keys[i]), UINT32_MAX);
		base_index_add(&index, base_mix(keys[i]), i);
	}
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(base_index_find(&index, base_mix(keys[i]), number_equal, keys, &keys[i]), i);
	base_index_free(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unset_cells_are_unknown),
		cmocka_unit_test(test_cells_read_as_written), cmocka_unit_test(test_order),
		cmocka_unit_test(test_keep),                    cmocka_unit_test(test_text_of_any_bytes),
		cmocka_unit_test(test_long_table_is_as_one_in_memory),
		cmocka_unit_test(test_long_table_of_empty_rows),
		cmocka_unit_test(test_empty_table),             cmocka_unit_test(test_words_by_count),
		cmocka_unit_test(test_nearest_name),
		cmocka_unit_test(test_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of reducer/report: numbers as people read them, widths, and hostile bytes in every format.
 *
 * Rule: a hostile cell must not leave its field, its line or its string, nor reach a terminal as a command.
 */
#include "reducer/report/escape.h"
#include "reducer/report/human.h"
#include "reducer/report/report.h"
#include "reducer/report/stack_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES, TIME, COUNT, NAME, EXTRA, COLUMNS };

static const struct table_column columns[] = {
	[BYTES] = {"size_bytes", "size", TABLE_INTEGER, UNIT_BYTES, 0, "a size"},
	[TIME] = {"time_ns", "time", TABLE_INTEGER, UNIT_NS, 0, "a time"},
	[COUNT] = {"count", "count", TABLE_INTEGER, UNIT_COUNT, 1, "a count"},
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 0, "a text"},
	[EXTRA] = {"extra", "extra", TABLE_TEXT, UNIT_NONE, 2, "another"},
};
static const struct table_kind kind = {
	.id = "test.table", .title = "Test", .help = "Help", .columns = columns, .column_count = COLUMNS};

static struct table *table_of(const char *bytes, size_t length)
{
	struct table *table = table_make(&kind);

	table_row(table);
	table_integer(table, BYTES, 1536);
	table_integer(table, COUNT, 1234567);
	table_text(table, NAME, bytes, length);
	table_string(table, EXTRA, "extra");
	return table;
}

/* What a format prints for a table; freed with free(). */
static char *printed(const char *format, struct table *table, unsigned width)
{
	struct report_options options = {.width = width, .frames = 8};
	struct report_set set = {.tables = &table, .count = 1, .run = "run"};
	char *out = NULL;
	size_t length;
	FILE *file = open_memstream(&out, &length);

	assert_non_null(file);
	report_find(format)->write(file, &set, &options);
	fclose(file);
	assert_int_equal(strlen(out), length); /* no zero byte left the table */
	return out;
}

#define MOMENTS 200000 /* more than have room in a page */

/* The first ones alone stood there, and the picture of a run's events ended before its end. */
static void test_moments_that_have_no_room_are_left_out_all_along(void **state)
{
	struct table_kind moments = kind;
	struct table *table;
	char *page, *rows, *last;
	long long at;

	(void)state;
	moments.is_of_moments = true;
	table = table_make(&moments);
	for (int64_t i = 0; i < MOMENTS; i++) {
		table_row(table);
		table_integer(table, BYTES, i);
		table_string(table, NAME, "a name that takes its room");
	}
	page = printed("html", table, 80);
	assert_in_range(strlen(page), 2500000, 5000000);
	rows = strstr(page, "\"rows\":[[0,");
	assert_non_null(rows);
	last = strstr(rows, "]],\"bands\"");
	assert_non_null(last);
	*last = 0;
	last = strrchr(rows, '[');
	at = strtoll(last + 1, NULL, 10);
	assert_in_range(at, MOMENTS - 10, MOMENTS);
	free(page);
	table_free(table);
}

static void test_numbers(void **state)
{
	static const struct {
		void (*print)(struct text *out, int64_t number);
		int64_t number;
		const char *wanted;
	} cases[] = {
		{text_size, 0, "0 B"}, {text_size, 1023, "1023 B"}, {text_size, 1024, "1.00 KiB"},
		{text_size, 1048575, "1.00 MiB"}, {text_size, 128974848, "123 MiB"}, {text_size, -2048, "-2.00 KiB"},
		{text_size, INT64_MAX, "8.00 EiB"}, {human_ns, 0, "0 s"}, {human_ns, 999, "999 ns"},
		{human_ns, 1000, "1.00 us"}, {human_ns, 1234567, "1.23 ms"}, {human_ns, 12300000000, "12.3 s"},
		{human_ns, 125000000000, "2 m 05 s"}, {human_ns, 3720000000000, "1 h 02 m"}, {human_count, 0, "0"},
		{human_count, 1234567, "1,234,567"}, {human_count, -1000, "-1,000"}, {human_count, 12345678, "12.3 M"},
	};
	struct text out = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text_clear(&out);
		cases[i].print(&out, cases[i].number);
		assert_string_equal(out.bytes, cases[i].wanted);
	}
	text_free(&out);
}

static void test_visible(void **state)
{
	static const struct {
		const char *bytes, *wanted;
	} cases[] = {
		{"plain", "plain"}, {"a\nb\tc", "a\\nb\\tc"}, {"\033[2J", "\\x1b[2J"}, {"\xc3\xa4", "\xc3\xa4"},
		{"\xff\xc3", "\\xff\\xc3"}, {"\xc0\xaf", "\\xc0\\xaf"}, {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
		{"\xe2\x80\xae" "evil", "\\u202eevil"}, {"\xc2\x9b", "\\u009b"}, {"\x7f", "\\x7f"},
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, {"\xef\xbf\xbf", "\\uffff"}, {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
	};
	struct text out = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text_clear(&out);
		escape_visible(&out, cases[i].bytes, strlen(cases[i].bytes));
		assert_string_equal(out.bytes, cases[i].wanted);
	}
	text_clear(&out);
	escape_json(&out, "a\"\\\n\x01\xff\xc3\xa4", 8);
	assert_string_equal(out.bytes, "\"a\\\"\\\\\\n\\u0001\\ufffd\xc3\xa4\"");
	text_free(&out);
}

static void test_cut(void **state)
{
	struct text text = {0};

	(void)state;
	text_string(&text, "\xe6\xbc\xa2\xe5\xad\x97 text"); /* two characters of two columns each */
	assert_int_equal(escape_width(text.bytes, text.length), 9);
	escape_cut(&text, 9);
	assert_int_equal(text.length, 11);
	escape_cut(&text, 5);
	assert_int_equal(text.length, 5); /* one wide character and ".." */
	text_clear(&text);
	text_string(&text, "/a/b/\xe6\xbc\xa2/train.py"); /* 16 columns */
	escape_cut_path(&text, 14);
	assert_string_equal(text.bytes, "../\xe6\xbc\xa2/train.py");
	text_clear(&text);
	text_string(&text, "/a/b/\xe6\xbc\xa2/train.py");
	escape_cut_path(&text, 12);
	assert_string_equal(text.bytes, "../train.py"); /* half of a wide character is none */
	text_clear(&text);
	text_string(&text, "/a/b/train.py");
	escape_cut_path(&text, 13);
	assert_string_equal(text.bytes, "/a/b/train.py");
	escape_cut_path(&text, 2);
	assert_int_equal(text.length, 2);
	text_free(&text);
}

/* The arguments of templates go first; the text ends where its length says. */
static void test_fit_names(void **state)
{
	static const struct {
		const char *name;
		size_t width;
		const char *wanted;
	} cases[] = {
		{"std::map<int, std::vector<int> >::operator[]", 60, "std::map<int, std::vector<int> >::operator[]"},
		{"std::map<int, std::vector<int> >::operator[]", 30, "std::map<>::operator[]"},
		{"std::map<int, std::vector<int> >::operator[]", 10, "std::map.."},
		{"operator<< <char, std::traits>", 20, "operator<< <char, .."},
		{"f<g<h>, i>::j<k>", 12, "f<>::j<>"},
		{"unbalanced<a<b", 12, "unbalanced<"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text text = {0};
		text_string(&text, cases[i].name);
		stack_text_fit(&text, cases[i].width);
		assert_string_equal(text.bytes, cases[i].wanted);
		assert_int_equal(text.length, strlen(cases[i].wanted));
		text_free(&text);
	}
}

static void assert_harmless(const char *out, const char *allowed)
{
	for (const unsigned char *c = (const unsigned char *)out; *c; c++)
		assert_true(*c >= 0x20 ? *c != 0x7f : strchr(allowed, *c) != NULL);
}

static void test_hostile_cells(void **state)
{
	static const char hostile[] = "a,\"b\"\n\r\t\033]0;title\007\xff\xfe|`*;</script>\0hidden";
	static const char *const formats[] = {"text", "csv", "json", "markdown", "prometheus"};

	(void)state;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct table *table = table_of(hostile, sizeof(hostile) - 1);
		char *out;
		table_note(table, NOTE_LOSS, "%s", hostile);
		out = printed(formats[i], table, 80);
		assert_harmless(out, strcmp(formats[i], "csv") == 0 ? "\r\n" : "\n");
		free(out);
		table_free(table);
	}
}

static void test_csv(void **state)
{
	struct table *table = table_of("a,\"b\"\n", 6);
	char *out = printed("csv", table, 80);

	(void)state;
	assert_string_equal(out, "size_bytes,time_ns,count,name,extra\r\n1536,,1234567,\"a,\"\"b\"\"\\n\",extra\r\n");
	free(out);
	table_free(table);
}

static void test_json(void **state)
{
	struct table *table = table_of("x", 1);
	char *out = printed("json", table, 80);

	(void)state;
	assert_non_null(strstr(out, "{\"size_bytes\": 1536, \"time_ns\": null, \"count\": 1234567, \"name\": \"x\", "
				    "\"extra\": \"extra\"}"));
	assert_non_null(strstr(out, "{\"id\": \"size_bytes\", \"type\": \"integer\", \"unit\": \"bytes\", \"help\": \"a size\"}"));
	assert_non_null(strstr(out, "\"is_whole\": true"));
	free(out);
	table_free(table);
}

/* 64 KiB in one cell: text cuts it, the others print all of it. */
static void test_long_cell(void **state)
{
	struct text name = {0};
	struct table *table;
	char *out;

	(void)state;
	text_fill(&name, 'n', 65536);
	table = table_of(name.bytes, name.length);
	out = printed("text", table, 80);
	for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 80);
	free(out);
	out = printed("csv", table, 80);
	assert_non_null(strstr(out, name.bytes));
	free(out);
	out = printed("json", table, 80);
	assert_non_null(strstr(out, name.bytes));
	free(out);
	table_free(table);
	text_free(&name);
}

static void test_text_width(void **state)
{
	struct table *table = table_of("a name", 6);
	char *out = printed("text", table, 80);

	(void)state;
	assert_non_null(strstr(out, "    size      count  name    extra\n1.50 KiB  1,234,567  a name  extra\n"));
	assert_non_null(strstr(out, "not shown (empty, or no room): time_ns"));
	free(out);
	out = printed("text", table, 20);
	assert_non_null(strstr(out, "    size  name\n1.50 KiB  a name\n"));
	free(out);
	table_free(table);
}

static void test_problem_stands_in_the_output(void **state)
{
	struct table *table = table_of("x", 1);
	struct report_options options = {.width = 80};
	struct report_set set = {.tables = &table, .count = 1, .run = "run", .problem = "Not whole."};
	static const char *const formats[] = {"text", "json", "markdown"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char *out = NULL;
		size_t length;
		FILE *file = open_memstream(&out, &length);
		assert_non_null(file);
		report_find(formats[i])->write(file, &set, &options);
		fclose(file);
		assert_non_null(strstr(out, "Not whole."));
		free(out);
	}
	table_free(table);
}

static void one_is_told_in_the_singular(void **state)
{
	static const struct {
		const char *many, *one;
	} cases[] = {{"device records that lost their kernel name", "1 device record that lost its kernel name"},
		     {"stacks that end early because no unwind information was found",
		      "1 stack that ends early because no unwind information was found"},
		     {"times that CUPTI was refused", "1 time that CUPTI was refused"},
		     {"fork children not recorded, nor what they started", "1 fork child not recorded, nor what they started"},
		     {"processes not recorded: forked", "1 process not recorded: forked"},
		     {"launches without the device's record", "1 launch without the device's record"},
		     {"looks at where Python code is that were left out", "1 look at where Python code is that was left out"},
		     {"stacks", "1 stack"}, {"nothing of many", "1 nothing of many"}, {"", "1 "}};
	static const char *const losses[] = {
#define TFP_LOSS(number, name, help, remedy) help,
#include "writer/losses.def"
#undef TFP_LOSS
	};
	struct text text = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text_clear(&text);
		human_counted(&text, 1, cases[i].many);
		assert_string_equal(text.bytes, cases[i].one);
		text_clear(&text);
		human_counted(&text, 2000, cases[i].many);
		assert_int_equal(strncmp(text.bytes, "2,000 ", 6), 0);
		assert_string_equal(text.bytes + 6, cases[i].many);
	}
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) { /* each has a plural that is found */
		text_clear(&text);
		human_counted(&text, 1, losses[i]);
		assert_string_not_equal(text.bytes + 2, losses[i]);
	}
	text_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moments_that_have_no_room_are_left_out_all_along),
		cmocka_unit_test(one_is_told_in_the_singular),
		cmocka_unit_test(test_numbers),      cmocka_unit_test(test_visible),    cmocka_unit_test(test_cut),
		cmocka_unit_test(test_hostile_cells), cmocka_unit_test(test_csv),       cmocka_unit_test(test_json),
		cmocka_unit_test(test_long_cell),    cmocka_unit_test(test_text_width),
		cmocka_unit_test(test_fit_names),
		cmocka_unit_test(test_problem_stands_in_the_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

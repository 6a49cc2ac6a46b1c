/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges that a program numbers ("step 17") as one of the summary's lines; see summary_internal.h.
 *
 * Rule: names are joined that differ in numbers alone and are more than each of them comes: layers, which come in each step, are not.
 */
#include "reducer/report/summary_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_LEAST 4 /* of fewer each has its line */

/* The columns of range_stats that a line has, and what they are made of. */
struct columns {
	size_t process, name, times, total, average, nested, cut;
};

struct named {
	char *key;
	int64_t process;
	size_t row;
};

static struct columns columns_of(const struct table_kind *kind)
{
	return (struct columns){.process = table_find_column(kind, "process"),
				.name = table_find_column(kind, "name"),
				.times = table_find_column(kind, "occurrences"),
				.total = table_find_column(kind, "total_ns"),
				.average = table_find_column(kind, "avg_ns"),
				.nested = table_find_column(kind, "nested"),
				.cut = table_find_column(kind, "cut")};
}

static int by_key(const void *a, const void *b)
{
	const struct named *one = a, *other = b;

	if (one->process != other->process)
		return one->process < other->process ? -1 : 1;
	int order = strcmp(one->key, other->key);
	return order ? order : one->row < other->row ? -1 : one->row > other->row;
}

/* 0 where the cell is empty. */
static int64_t number(const struct table *table, size_t row, size_t column)
{
	return table_is_known(table, row, column) ? table_get_integer(table, row, column) : 0;
}

static void put_alone(struct table *to, const struct table *from, const struct columns *columns, size_t row)
{
	const size_t numbers[] = {columns->times, columns->total, columns->average};
	size_t length;

	table_row(to);
	if (table_is_known(from, row, columns->name)) {
		const char *name = table_get_text(from, row, columns->name, &length);
		table_text(to, columns->name, name, length);
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (table_is_known(from, row, numbers[i]))
			table_integer(to, numbers[i], table_get_integer(from, row, numbers[i]));
}

static void put_joined(struct table *to, const struct table *from, const struct columns *columns, const struct named *named, size_t count)
{
	int64_t times = 0, whole = 0, total = 0, whole_ns = 0;
	struct text name = {0};

	for (size_t i = 0; i < count; i++) {
		int64_t without = number(from, named[i].row, columns->nested) + number(from, named[i].row, columns->cut);
		int64_t ended = number(from, named[i].row, columns->times) - without; /* about: some that are cut are nested, too */
		times += number(from, named[i].row, columns->times);
		total += number(from, named[i].row, columns->total);
		whole += ended > 0 ? ended : 0;
		whole_ns += ended > 0 ? ended * number(from, named[i].row, columns->average) : 0;
	}
	table_row(to);
	text_format(&name, "%s (%zu names)", named->key, count);
	table_text(to, columns->name, name.bytes, name.length);
	table_integer(to, columns->times, times);
	table_integer(to, columns->total, total);
	if (whole)
		table_integer(to, columns->average, whole_ns / whole);
	text_free(&name);
}

/* Whether so many names of one key are numbers of one thing. */
static bool are_one(const struct table *table, const struct columns *columns, const struct named *named, size_t count)
{
	if (count < NAMES_LEAST)
		return false;
	for (size_t i = 0; i < count; i++)
		if (number(table, named[i].row, columns->times) >= (int64_t)count)
			return false;
	return true;
}

struct table *summary_join_ranges(struct table *table)
{
	const struct columns columns = columns_of(table->kind);
	struct named *named = base_alloc(table->shown_count + 1, sizeof(*named));
	struct table *joined = table_make(table->kind);
	size_t length;

	for (size_t row = 0; row < table->shown_count; row++) {
		const char *name = table_is_known(table, row, columns.name) ? table_get_text(table, row, columns.name, &length) : "";
		char *copy = base_copy(name, name[0] ? length : 0);
		named[row] = (struct named){base_without_numbers(copy), number(table, row, columns.process), row};
		free(copy);
	}
	if (table->shown_count)
		qsort(named, table->shown_count, sizeof(*named), by_key);
	for (size_t i = 0, end = 0; i < table->shown_count; i = end) {
		while (end < table->shown_count && named[end].process == named[i].process && strcmp(named[end].key, named[i].key) == 0)
			end++;
		if (are_one(table, &columns, &named[i], end - i))
			put_joined(joined, table, &columns, &named[i], end - i);
		else
			for (size_t k = i; k < end; k++)
				put_alone(joined, table, &columns, named[k].row);
	}
	table_sort(joined, columns.total, false);
	for (size_t i = 0; i < table->shown_count; i++)
		free(named[i].key);
	free(named);
	table_free(table);
	return joined;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps, ops and kernels in the summary: a glance; the tables tell all.
 *
 * Rule: what is shown are rows of the tables step_stats, op_stats and kernel_stats, or follows from them.
 */
#include "reducer/report/summary_work.h"

#include "reducer/report/escape.h"
#include "reducer/report/human.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL_LINES 2
#define SPARK_LEAST 14 /* columns; each the longest step of its share */
#define SPARK_MOST 80
#define STEPS_WIDTH 66 /* of a line of steps without its bars */
#define WHO_WIDTH 16
#define NUMBERS_WIDTH 43 /* of a line of work without its name */
#define NAME_MOST 100

static void pad(struct text *out, const struct text *cell, size_t width)
{
	size_t has = escape_width(cell->length ? cell->bytes : "", cell->length);

	text_fill(out, ' ', width > has ? width - has : 0);
	text_put(out, cell->length ? cell->bytes : "", cell->length);
}

static void put_ns(struct text *out, int64_t ns, size_t width)
{
	struct text cell = {0};

	human_ns(&cell, ns);
	pad(out, &cell, width);
	text_free(&cell);
}

static int by_value(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return left < right ? -1 : left > right;
}

/* The times of the steps, in order, as bars of eight heights; nothing where the terminal's letters have none. */
static void put_spark(struct text *out, const int64_t *times, size_t count, size_t width)
{
	static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	int64_t longest = 1, most;

	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0 || count < 2)
		return;
	for (size_t i = 0; i < count; i++)
		longest = times[i] > longest ? times[i] : longest;
	text_string(out, "  ");
	for (size_t column = 0; column < width && column < count; column++) {
		size_t columns = count < width ? count : width;
		most = 0;
		for (size_t i = column * count / columns; i < (column + 1) * count / columns; i++)
			most = times[i] > most ? times[i] : most;
		text_string(out, bars[(uint64_t)most * 7 / (uint64_t)longest]);
	}
}

/* The process with the most steps that have a length; -1 = none. */
static int64_t busiest(const struct table *steps, size_t process, size_t total)
{
	int64_t best = -1;
	size_t most = 0;

	for (size_t row = 0, count = 0; row < steps->shown_count; row++) {
		int64_t pid = table_get_integer(steps, row, process);
		if (row == 0 || pid != table_get_integer(steps, row - 1, process))
			count = 0;
		count += table_is_known(steps, row, total);
		if (count > most) {
			most = count;
			best = pid;
		}
	}
	return best;
}

static void put_steps(struct text *out, const struct table *steps, int64_t *times, size_t count, size_t row, unsigned width)
{
	size_t source = table_find_column(steps->kind, "source"), length = 0;
	const char *who = table_is_known(steps, row, source) ? table_get_text(steps, row, source, &length) : "";
	struct text name = {0};
	size_t room = width > STEPS_WIDTH + SPARK_LEAST ? width - STEPS_WIDTH : SPARK_LEAST;
	double sum = 0;

	text_format(out, "%-*s%8s%10s%10s%10s%10s\n", WHO_WIDTH, "Steps", "number", "mean", "median", "p99", "longest");
	for (size_t i = 0; i < count; i++)
		sum += (double)times[i];
	text_string(&name, length ? "  by " : "  whole run");
	escape_visible(&name, who, length);
	escape_cut(&name, WHO_WIDTH);
	text_put(out, name.bytes, name.length);
	text_fill(out, ' ', WHO_WIDTH - escape_width(name.bytes, name.length));
	text_clear(&name);
	human_count(&name, (int64_t)count);
	pad(out, &name, 8);
	text_free(&name);
	struct text spark = {0};
	put_spark(&spark, times, count, room < SPARK_MOST ? room : SPARK_MOST);
	put_ns(out, (int64_t)(sum / (double)count), 10);
	qsort(times, count, sizeof *times, by_value);
	put_ns(out, times[count / 2], 10);
	put_ns(out, times[(count * 99 + 99) / 100 - 1], 10);
	put_ns(out, times[count - 1], 10);
	text_put(out, spark.length ? spark.bytes : "", spark.length);
	text_char(out, '\n');
	text_free(&spark);
}

void summary_steps(struct text *out, const struct request *request, unsigned width)
{
	struct request all = *request; /* every step counts, not only those that a screen would show */
	all.is_text = false;
	struct table *steps = tables_make(&table_step_stats, &all);
	size_t process = table_find_column(steps->kind, "process"), total = table_find_column(steps->kind, "total_ns"), count = 0,
	       first = 0;
	int64_t *times = base_alloc(steps->shown_count + 1, sizeof *times);
	int64_t wanted = busiest(steps, process, total);

	for (size_t row = 0; row < steps->shown_count && wanted >= 0; row++) {
		if (table_get_integer(steps, row, process) != wanted || !table_is_known(steps, row, total))
			continue;
		first = count == 0 ? row : first;
		times[count++] = table_get_integer(steps, row, total);
	}
	if (count)
		put_steps(out, steps, times, count, first, width);
	free(times);
	table_free(steps);
}

/* Which columns of a table make a line. */
struct line_columns {
	const char *what, *name, *times, *total, *average, *share;
	double share_scale; /* to percent */
};

static void put_row(struct text *out, const struct table *table, size_t row, const struct line_columns *columns, size_t width)
{
	size_t name = table_find_column(table->kind, columns->name), share = table_find_column(table->kind, columns->share),
	       length;
	const char *bytes = table_is_known(table, row, name) ? table_get_text(table, row, name, &length) : NULL;
	struct text cell = {0};

	text_format(&cell, "  %-7s", columns->what);
	if (bytes)
		escape_visible(&cell, bytes, length < 256 ? length : 256);
	escape_cut(&cell, width);
	text_put(out, cell.bytes, cell.length);
	text_fill(out, ' ', width - escape_width(cell.bytes, cell.length));
	text_clear(&cell);
	human_count(&cell, table_get_integer(table, row, table_find_column(table->kind, columns->times)));
	pad(out, &cell, 11);
	put_ns(out, table_get_integer(table, row, table_find_column(table->kind, columns->total)), 11);
	put_ns(out, (int64_t)table_get_number(table, row, table_find_column(table->kind, columns->average)), 11);
	if (table_is_known(table, row, share))
		text_format(out, "%8.1f %%", table_get_number(table, row, share) * columns->share_scale);
	text_char(out, '\n');
	text_free(&cell);
}

/* At most `most` rows, in the table's own order. Returns how many. */
static size_t put_rows(struct text *out, const struct request *request, const struct table_kind *kind,
		       const struct line_columns *columns, size_t most, size_t width)
{
	struct table *table = tables_make(kind, request);
	size_t row = 0;

	if (table->shown_count && most && !out->length)
		text_format(out, "%-*s%11s%11s%11s%10s\n", (int)width, "Where the time went", "times", "total", "average",
			    "share");
	for (; row < table->shown_count && row < most; row++)
		put_row(out, table, row, columns, width);
	table_free(table);
	return row;
}

void summary_work(struct text *out, const struct request *request, unsigned width)
{
	static const struct line_columns kernels = {"kernel", "kernel_name", "occurrences", "total_ns", "avg_ns", "share", 100};
	static const struct line_columns ops = {"op", "name", "occurrences", "self_ns", "avg_self_ns", "host_self_percent", 1};
	size_t room = width > NUMBERS_WIDTH + 20 ? width - NUMBERS_WIDTH : 20;
	size_t names = room < NAME_MOST ? room : NAME_MOST;
	size_t lines = put_rows(out, request, &table_kernel_stats, &kernels, KERNEL_LINES, names);

	put_rows(out, request, &table_op_stats, &ops, SUMMARY_WORK_LINES - lines, names);
}

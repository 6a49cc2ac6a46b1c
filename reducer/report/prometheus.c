/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prometheus: Prometheus' text format (exposition format 0.0.4), for a collector that reads files.
 *
 * Rule: a column of numbers is a metric, tfprof_TABLE_COLUMN, in base units (seconds, bytes, ratios); texts and numbers that name
 * things (processes, devices) are its labels. Two samples of one name must differ in a label: of rows that do not, the last one
 * counts (of readings the newest), and a comment says how many were left out. What is not known has no sample.
 */
#include "reducer/report/report.h"

#include "reducer/report/escape.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_COLUMNS 200 /* of a text; longer ones are cut with a mark */

/* Base units, by the ending that a column's id has in ours. */
static const struct {
	enum table_unit unit;
	const char *ending, *base;
	double factor;
} units[] = {
	{UNIT_NS, "_ns", "_seconds", 1e-9},
	{UNIT_BYTES, "", "", 1},
	{UNIT_RATIO, "", "_ratio", 1},
	{UNIT_MILLIWATTS, "_milliwatts", "_watts", 1e-3},
	{UNIT_MILLIJOULES, "_millijoules", "_joules", 1e-3},
	{UNIT_MEGAHERTZ, "_megahertz", "_hertz", 1e6},
};

static double factor_of(const struct table_column *column)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (units[i].unit == column->unit)
			return units[i].factor;
	return 1;
}

static bool is_label(const struct table_column *column)
{
	return column->type == TABLE_TEXT ? column->detail <= 1 : column->type == TABLE_INTEGER && column->unit == UNIT_NONE;
}

static bool is_metric(const struct table_column *column)
{
	return column->type == TABLE_REAL || (column->type == TABLE_INTEGER && column->unit != UNIT_NONE);
}

static bool ends_with(const char *text, const char *ending)
{
	size_t length = strlen(text), of_ending = strlen(ending);

	return length >= of_ending && strcmp(text + length - of_ending, ending) == 0;
}

static void put_name(struct text *name, const struct table_kind *kind, const struct table_column *column)
{
	size_t length = strlen(column->id);

	text_string(name, "tfprof_");
	for (const char *at = kind->id; *at; at++)
		text_char(name, *at == '.' ? '_' : *at);
	text_char(name, '_');
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (units[i].unit == column->unit && ends_with(column->id, units[i].ending)) {
			text_put(name, column->id, length - strlen(units[i].ending));
			text_string(name, ends_with(column->id, units[i].base) ? "" : units[i].base);
			return;
		}
	text_string(name, column->id);
}

/* Letters of `special`, which the format gives a meaning, behind a backslash; what may not stand there at all is made visible first. */
static void put_text(struct text *out, const char *bytes, size_t length, const char *special)
{
	struct text visible = {0};

	escape_visible(&visible, bytes, length);
	escape_cut(&visible, TEXT_COLUMNS);
	for (size_t i = 0; i < visible.length; i++) {
		if (strchr(special, visible.bytes[i]))
			text_char(out, '\\');
		text_char(out, visible.bytes[i]);
	}
	text_free(&visible);
}

static void put_labels(struct text *labels, const struct table *table, size_t row)
{
	for (size_t i = 0; i < table->kind->column_count; i++) {
		const struct table_column *column = &table->kind->columns[i];
		size_t length = 1;
		if (is_label(column) && table_is_known(table, row, i) && column->type == TABLE_TEXT)
			table_get_text(table, row, i, &length);
		if (!is_label(column) || !table_is_known(table, row, i) || !length) /* an empty label is none to Prometheus */
			continue;
		text_string(labels, labels->length ? "," : "");
		text_format(labels, "%s=\"", column->id);
		if (column->type == TABLE_TEXT) {
			const char *bytes = table_get_text(table, row, i, &length);
			put_text(labels, bytes, length, "\\\"");
		} else {
			text_format(labels, "%" PRId64, table_get_integer(table, row, i));
		}
		text_char(labels, '"');
	}
}

/* The rows' labels, and whether a later row has the same. */
struct series {
	struct text *labels; /* a row each */
	bool *is_over;
	size_t count, over;
};

static int by_labels(const void *a, const void *b, void *labels)
{
	size_t one = *(const size_t *)a, other = *(const size_t *)b;
	const char *of_one = ((struct text *)labels)[one].bytes, *of_other = ((struct text *)labels)[other].bytes;
	int order = strcmp(of_one ? of_one : "", of_other ? of_other : "");

	return order ? order : one < other ? -1 : one > other;
}

static void series_make(struct series *series, const struct table *table)
{
	size_t *order = base_alloc(table->shown_count + 1, sizeof(*order));

	*series = (struct series){.labels = base_alloc(table->shown_count + 1, sizeof(*series->labels)),
				  .is_over = base_alloc(table->shown_count + 1, sizeof(*series->is_over)),
				  .count = table->shown_count};
	for (size_t row = 0; row < series->count; row++) {
		put_labels(&series->labels[row], table, row);
		order[row] = row;
	}
	qsort_r(order, series->count, sizeof(*order), by_labels, series->labels);
	for (size_t i = 0; i + 1 < series->count; i++) {
		const char *one = series->labels[order[i]].bytes, *next = series->labels[order[i + 1]].bytes;
		series->is_over[order[i]] = strcmp(one ? one : "", next ? next : "") == 0;
		series->over += series->is_over[order[i]];
	}
	free(order);
}

static void series_free(struct series *series)
{
	for (size_t i = 0; i < series->count; i++)
		text_free(&series->labels[i]);
	free(series->labels);
	free(series->is_over);
}

static void write_metric(FILE *file, const struct table *table, const struct series *series, size_t column)
{
	const struct table_column *kind = &table->kind->columns[column];
	struct text name = {0}, help = {0};
	double factor = factor_of(kind);
	bool is_begun = false;

	put_name(&name, table->kind, kind);
	put_text(&help, kind->help, strlen(kind->help), "\\");
	for (size_t row = 0; row < series->count; row++) {
		if (series->is_over[row] || !table_is_known(table, row, column))
			continue;
		if (!is_begun)
			fprintf(file, "# HELP %s %s\n# TYPE %s gauge\n", name.bytes, help.bytes, name.bytes);
		is_begun = true;
		fputs(name.bytes, file);
		if (series->labels[row].length)
			fprintf(file, "{%s}", series->labels[row].bytes);
		if (factor == 1 && kind->type == TABLE_INTEGER)
			fprintf(file, " %" PRId64 "\n", table_get_integer(table, row, column));
		else
			fprintf(file, " %.12g\n", table_get_number(table, row, column) * factor);
	}
	text_free(&name);
	text_free(&help);
}

static void write_comment(FILE *file, const char *table, const char *sentence)
{
	struct text visible = {0};

	escape_visible(&visible, sentence, strlen(sentence));
	fprintf(file, "# %s%s%s\n", table, *table ? ": " : "", visible.bytes);
	text_free(&visible);
}

static void write_table(FILE *file, const struct table *table)
{
	struct series series;

	series_make(&series, table);
	for (size_t i = 0; i < table->note_count; i++)
		write_comment(file, table->kind->id, table->notes[i].text);
	if (series.over)
		fprintf(file, "# %s: %zu rows have the labels of a later one, which counts.\n", table->kind->id, series.over);
	for (size_t i = 0; i < table->kind->column_count; i++)
		if (is_metric(&table->kind->columns[i]))
			write_metric(file, table, &series, i);
	series_free(&series);
}

static void write_set(FILE *file, const struct report_set *set, const struct report_options *options)
{
	(void)options;
	if (set->problem)
		write_comment(file, "", set->problem);
	fputs("# HELP tfprof_whole 1 where nothing was lost or damaged.\n# TYPE tfprof_whole gauge\n", file);
	fprintf(file, "tfprof_whole %d\n", !set->problem);
	for (size_t i = 0; i < set->count; i++)
		write_table(file, set->tables[i]);
}

const struct report_kind report_prometheus = {
	.name = "prometheus",
	.suffix = "prom",
	.help = "Prometheus' text format, for node_exporter's textfile collector",
	.tables = "overview.steps,overview.split,memory.summary,processes,losses",
	.leaves_out_launches = true,
	.write = write_set,
};

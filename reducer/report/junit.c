/* SPDX-License-Identifier: Apache-2.0 */
/*
 * junit: rows that have an outcome, as test cases for a build server.
 *
 * Rule: a table is a suite and a row is a case; which it is, is the column `outcome`. A case that cannot be told is skipped, with
 * its reason: neither passed nor failed.
 */
#include "reducer/report/report.h"

#include "reducer/report/escape.h"
#include "reducer/report/human.h"

#include <string.h>

static void put_escaped(FILE *file, const struct text *cell)
{
	static const struct {
		char c;
		const char *entity;
	} entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}};

	for (size_t i = 0; i < cell->length; i++) {
		const char *entity = NULL;
		for (size_t k = 0; k < sizeof(entities) / sizeof(entities[0]); k++)
			if (entities[k].c == cell->bytes[i])
				entity = entities[k].entity;
		if (entity)
			fputs(entity, file);
		else
			fputc(cell->bytes[i], file);
	}
}

static void put_cell(FILE *file, const struct table *table, size_t row, size_t column)
{
	struct text cell = {0};

	human_cell(&cell, table, row, column);
	put_escaped(file, &cell);
	text_free(&cell);
}

static bool is_outcome(const struct table *table, size_t row, size_t column, const char *word)
{
	size_t length;
	const char *text = table_get_text(table, row, column, &length);

	return length == strlen(word) && memcmp(text, word, length) == 0;
}

static size_t count_outcome(const struct table *table, size_t column, const char *word)
{
	size_t count = 0;

	for (size_t row = 0; row < table->shown_count; row++)
		count += is_outcome(table, row, column, word);
	return count;
}

static void put_case(FILE *file, const struct table *table, size_t row, size_t outcome)
{
	size_t reason = table_find_column(table->kind, "reason");
	const char *element = is_outcome(table, row, outcome, "exceeded") ? "failure" : "skipped";

	fprintf(file, "    <testcase classname=\"%s\" name=\"", table->kind->id);
	put_cell(file, table, row, 0);
	if (is_outcome(table, row, outcome, "kept")) {
		fputs("\">\n      <system-out>", file);
		put_cell(file, table, row, reason);
		fputs("</system-out>\n", file);
	} else {
		fprintf(file, "\">\n      <%s message=\"", element);
		put_cell(file, table, row, reason);
		fputs("\"/>\n", file);
	}
	fputs("    </testcase>\n", file);
}

static void put_table(FILE *file, const struct table *table)
{
	size_t outcome = table_find_column(table->kind, "outcome");

	if (outcome == SIZE_MAX)
		base_die("-f junit prints limits: give --limit, and leave -t out");
	fprintf(file, "  <testsuite name=\"tfprof %s\" tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\">\n", table->kind->id,
		table->shown_count, count_outcome(table, outcome, "exceeded"), count_outcome(table, outcome, "cannot tell"));
	for (size_t row = 0; row < table->shown_count; row++)
		put_case(file, table, row, outcome);
	fputs("  </testsuite>\n", file);
}

static void write_set(FILE *file, const struct report_set *set, const struct report_options *options)
{
	(void)options;
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tfprof\">\n", file);
	for (size_t i = 0; i < set->count; i++)
		put_table(file, set->tables[i]);
	fputs("</testsuites>\n", file);
}

const struct report_kind report_junit = {
	.name = "junit",
	.suffix = "xml",
	.help = "each --limit as a test case, for a build server",
	.tables = "comparison.limits",
	.write = write_set,
};

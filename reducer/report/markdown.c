/* SPDX-License-Identifier: Apache-2.0 */
/*
 * markdown: tables for issues and documentation; docs/tables.md is --list in this format.
 *
 * Rule: a cell is one line; what would end it or begin markup is escaped.
 */
#include "reducer/report/report.h"

#include "reducer/report/escape.h"
#include "reducer/report/human.h"
#include "reducer/report/stack_text.h"

#include <string.h>

#define FENCE "~~~~~~" /* longer than what names in the text may begin a line with by chance */

static void put_escaped(FILE *file, const struct text *cell)
{
	for (size_t i = 0; i < cell->length; i++) {
		if (strchr("|\\`*_<>[]", cell->bytes[i]))
			fputc('\\', file);
		fputc(cell->bytes[i], file);
	}
}

static void put_cell(FILE *file, const struct table *table, size_t row, size_t column)
{
	struct text cell = {0};

	if (table->kind->columns[column].type == TABLE_STACK)
		stack_text_folded(&cell, table, row, column);
	else
		human_cell(&cell, table, row, column);
	put_escaped(file, &cell);
	text_free(&cell);
}

static void put_table(FILE *file, const struct table *table)
{
	const struct table_kind *kind = table->kind;

	fprintf(file, "## %s\n\n%s. %s\n\n", kind->id, kind->title, kind->help);
	for (size_t i = 0; i < table->note_count; i++) {
		struct text note = {0};
		escape_visible(&note, table->notes[i].text, strlen(table->notes[i].text));
		fputs("- ", file);
		put_escaped(file, &note);
		fputc('\n', file);
		text_free(&note);
	}
	if (table->note_count)
		fputc('\n', file);
	for (size_t i = 0; i < kind->column_count; i++)
		fprintf(file, "| %s ", kind->columns[i].header);
	fputs("|\n", file);
	for (size_t i = 0; i < kind->column_count; i++)
		fputs(kind->columns[i].type <= TABLE_REAL ? "|---:" : "|---", file);
	fputs("|\n", file);
	for (size_t row = 0; row < table->shown_count; row++) {
		for (size_t i = 0; i < kind->column_count; i++) {
			fputs("| ", file);
			put_cell(file, table, row, i);
			fputc(' ', file);
		}
		fputs("|\n", file);
	}
}

static void write_set(FILE *file, const struct report_set *set, const struct report_options *options)
{
	(void)options;
	if (set->title)
		fprintf(file, "# %s\n\n", set->title);
	if (set->problem)
		fprintf(file, "**%s**\n\n", set->problem);
	for (size_t i = 0; i < set->count; i++) {
		if (i)
			fputc('\n', file);
		put_table(file, set->tables[i]);
	}
}

const struct report_kind report_markdown = {
	.name = "markdown",
	.suffix = "md",
	.help = "tables for issues and documents, numbers as in text",
	.is_for_reading = true,
	.summary_begin = FENCE "text\n", /* its bars and columns are no paragraphs */
	.summary_end = FENCE "\n",
	.write = write_set,
};

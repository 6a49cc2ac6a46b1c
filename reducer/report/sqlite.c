/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sqlite: one database file; a table for each analysis, its dots written as underscores, and three tables about them.
 *
 *   run(name, title, problem)                                  one row
 *   tfprof_columns(table_name, column_name, place, type, unit, help)
 *   tfprof_notes(table_name, kind, text)                       what was not recorded, estimated or lost
 *
 * Rule: numbers as they are, in the column's unit; NULL is an unknown cell; texts are valid UTF-8 (escape_visible), a call
 * stack is the line that -f folded prints.
 */
#include "reducer/report/report.h"

#include "reducer/report/cell_texts.h"
#include "reducer/report/escape.h"
#include "reducer/report/sqlite_file.h"
#include "reducer/report/stack_text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct database {
	struct sqlite_file *file;
	struct sqlite_table *columns, *notes;
	struct text cell;
};

static void put_string(struct sqlite_table *table, const char *text)
{
	if (text)
		sqlite_text(table, text, strlen(text));
	else
		sqlite_null(table);
}

/* "memory.sites" -> memory_sites: a dot would need quotes in every query. */
static void put_name(struct text *out, const char *id)
{
	size_t before = out->length;

	text_string(out, id);
	for (size_t i = before; i < out->length; i++)
		if (out->bytes[i] == '.')
			out->bytes[i] = '_';
}

static const char *column_type(enum table_type type)
{
	return type == TABLE_INTEGER ? "INTEGER" : type == TABLE_REAL ? "REAL" : "TEXT";
}

/* Opens the table and describes its columns. */
static struct sqlite_table *open_table(struct database *database, const struct table_kind *kind, const char *name)
{
	struct text create = {0};

	text_format(&create, "CREATE TABLE \"%s\" (", name);
	for (size_t i = 0; i < kind->column_count; i++) {
		const struct table_column *column = &kind->columns[i];

		text_format(&create, "%s\"%s\" %s", i ? ", " : "", column->id, column_type(column->type));
		put_string(database->columns, name);
		put_string(database->columns, column->id);
		sqlite_integer(database->columns, (int64_t)i);
		put_string(database->columns, table_type_name(column->type));
		put_string(database->columns, table_unit_name(column->unit));
		put_string(database->columns, column->help);
		sqlite_row_end(database->columns);
	}
	text_string(&create, ")");
	struct sqlite_table *table = sqlite_table_open(database->file, name, create.bytes);
	text_free(&create);
	return table;
}

static void make_text(struct text *out, const struct table *table, size_t row, size_t column)
{
	size_t length;

	if (table->kind->columns[column].type == TABLE_TEXT) {
		const char *bytes = table_get_text(table, row, column, &length);
		escape_visible(out, bytes, length);
	} else {
		stack_text_folded(out, table, row, column);
	}
}

static void put_cell(struct sqlite_table *to, struct cell_texts *texts, const struct table *table, size_t row, size_t column,
		     const struct table_cell *cell)
{
	const struct text *text;

	if (!cell->is_known) {
		sqlite_null(to);
		return;
	}
	switch (table->kind->columns[column].type) {
	case TABLE_INTEGER:
		sqlite_integer(to, cell->value.integer);
		return;
	case TABLE_REAL:
		sqlite_real(to, cell->value.real);
		return;
	case TABLE_TEXT:
	case TABLE_STACK:
		text = cell_text(texts, table, row, column, cell->value, make_text);
		sqlite_text(to, text->length ? text->bytes : "", text->length);
		return;
	}
}

static void put_table(struct database *database, const struct table *table)
{
	struct table_cell *cells = base_alloc(table->kind->column_count, sizeof(*cells));
	struct cell_texts texts = {0};
	struct text name = {0};

	put_name(&name, table->kind->id);
	struct sqlite_table *to = open_table(database, table->kind, name.bytes);
	for (size_t row = 0; row < table->shown_count; row++) {
		table_read_row(table, row, cells);
		for (size_t i = 0; i < table->kind->column_count; i++)
			put_cell(to, &texts, table, row, i, &cells[i]);
		sqlite_row_end(to);
	}
	sqlite_table_close(to);
	free(cells);
	cell_texts_free(&texts);
	for (size_t i = 0; i < table->note_count; i++) {
		put_string(database->notes, name.bytes);
		put_string(database->notes, note_kind_name(table->notes[i].kind));
		text_clear(&database->cell);
		escape_visible(&database->cell, table->notes[i].text, strlen(table->notes[i].text));
		put_string(database->notes, database->cell.bytes);
		sqlite_row_end(database->notes);
	}
	text_free(&name);
}

static void put_run(struct sqlite_file *file, const struct report_set *set)
{
	struct sqlite_table *run = sqlite_table_open(file, "run", "CREATE TABLE run (name TEXT, title TEXT, problem TEXT)");

	put_string(run, set->run);
	put_string(run, set->title);
	put_string(run, set->problem);
	sqlite_row_end(run);
	sqlite_table_close(run);
}

static void write_set(FILE *file, const struct report_set *set, const struct report_options *options)
{
	struct database database = {0};

	(void)options;
	if (isatty(fileno(file)))
		base_die("-f sqlite writes a database, not text: give -o FILE.db");
	database.file = sqlite_file_make(file);
	put_run(database.file, set);
	database.columns = sqlite_table_open(database.file, "tfprof_columns",
					     "CREATE TABLE tfprof_columns (table_name TEXT, column_name TEXT, place INTEGER, type TEXT, "
					     "unit TEXT, help TEXT)");
	database.notes = sqlite_table_open(database.file, "tfprof_notes",
					   "CREATE TABLE tfprof_notes (table_name TEXT, kind TEXT, text TEXT)");
	for (size_t i = 0; i < set->count; i++)
		put_table(&database, set->tables[i]);
	sqlite_table_close(database.columns);
	sqlite_table_close(database.notes);
	sqlite_file_close(database.file);
	text_free(&database.cell);
}

const struct report_kind report_sqlite = {
	.name = "sqlite",
	.suffix = "db",
	.help = "an SQLite database, a table for each analysis (memory.sites is memory_sites); give -o FILE.db",
	.write = write_set,
};

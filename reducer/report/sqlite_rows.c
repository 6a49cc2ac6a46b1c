/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that SQLite reads by itself. See sqlite_rows.h. */
#include "reducer/report/sqlite_rows.h"

#include <stdlib.h>

/* The text of a column as it was last given out, which SQLite reads where it lies: until the next one of that column. */
struct given {
	uint64_t key; /* cell_text_key; 0 = none yet */
	struct text text;
};

/* What is read, and how far. The one cursor that a statement opens. */
struct rows {
	sqlite3_vtab_cursor cursor; /* first: SQLite knows no more of it */
	const struct table *table;
	cell_make *make;
	struct cell_texts texts;
	struct given *given;	  /* by column */
	struct table_cell *cells; /* of the row */
	size_t row;
};

/* SQLite's side of it. */
struct virtual_table {
	sqlite3_vtab base; /* first */
	struct rows *rows;
};

static int on_connect(sqlite3 *handle, void *context, int count, const char *const *words, sqlite3_vtab **made, char **error)
{
	struct rows *rows = context;
	struct virtual_table *table = base_alloc(1, sizeof(*table));
	struct text columns = {0};
	int status;

	(void)count, (void)words, (void)error;
	table->rows = rows;
	for (size_t i = 0; i < rows->table->kind->column_count; i++)
		text_format(&columns, "%s c%zu", i ? "," : "CREATE TABLE x (", i);
	text_string(&columns, ")");
	status = sqlite3_declare_vtab(handle, columns.bytes);
	text_free(&columns);
	*made = &table->base;
	return status;
}

static int on_disconnect(sqlite3_vtab *table)
{
	free(table);
	return SQLITE_OK;
}

static int on_plan(sqlite3_vtab *table, sqlite3_index_info *plan)
{
	(void)table, (void)plan; /* all rows, in their order */
	return SQLITE_OK;
}

static int on_open(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor)
{
	*cursor = &((struct virtual_table *)table)->rows->cursor;
	return SQLITE_OK;
}

static int on_close(sqlite3_vtab_cursor *cursor)
{
	(void)cursor;
	return SQLITE_OK;
}

static int is_at_end(sqlite3_vtab_cursor *cursor)
{
	const struct rows *rows = (const struct rows *)cursor;

	return rows->row >= rows->table->shown_count;
}

static int read_row(struct rows *rows, size_t row)
{
	rows->row = row;
	if (!is_at_end(&rows->cursor))
		table_read_row(rows->table, row, rows->cells);
	return SQLITE_OK;
}

static int on_first(sqlite3_vtab_cursor *cursor, int plan, const char *text, int count, sqlite3_value **values)
{
	(void)plan, (void)text, (void)count, (void)values;
	return read_row((struct rows *)cursor, 0);
}

static int on_next(sqlite3_vtab_cursor *cursor)
{
	struct rows *rows = (struct rows *)cursor;

	return read_row(rows, rows->row + 1);
}

static void give_text(struct rows *rows, sqlite3_context *to, size_t column, union table_value value)
{
	uint64_t key = cell_text_key(rows->table, column, value);
	struct given *given = &rows->given[column];

	if (given->key != key) {
		const struct text *text = cell_text(&rows->texts, rows->table, rows->row, column, value, rows->make);
		text_clear(&given->text);
		text_put(&given->text, text->bytes, text->length);
		given->key = key;
	}
	sqlite3_result_text64(to, given->text.length ? given->text.bytes : "", given->text.length, SQLITE_STATIC, SQLITE_UTF8);
}

static int on_cell(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int column)
{
	struct rows *rows = (struct rows *)cursor;
	const struct table_cell *cell = &rows->cells[column];
	enum table_type type = rows->table->kind->columns[column].type;

	if (!cell->is_known)
		return SQLITE_OK; /* NULL, as it was */
	if (type == TABLE_INTEGER)
		sqlite3_result_int64(to, cell->value.integer);
	else if (type == TABLE_REAL)
		sqlite3_result_double(to, cell->value.real);
	else
		give_text(rows, to, (size_t)column, cell->value);
	return SQLITE_OK;
}

static int on_row_number(sqlite3_vtab_cursor *cursor, sqlite3_int64 *number)
{
	*number = (sqlite3_int64)((struct rows *)cursor)->row;
	return SQLITE_OK;
}

/* Without xCreate: it is there under its own name, and nothing of it stands in the database. */
static const sqlite3_module module = {
	.xConnect = on_connect,
	.xBestIndex = on_plan,
	.xDisconnect = on_disconnect,
	.xOpen = on_open,
	.xClose = on_close,
	.xFilter = on_first,
	.xNext = on_next,
	.xEof = is_at_end,
	.xColumn = on_cell,
	.xRowid = on_row_number,
};

int sqlite_rows_insert(sqlite3 *handle, const char *name, const struct table *table, cell_make *make)
{
	size_t columns = table->kind->column_count;
	struct rows rows = {.table = table, .make = make, .given = base_alloc(columns, sizeof(*rows.given)),
			    .cells = base_alloc(columns, sizeof(*rows.cells))};
	struct text sql = {0};
	int status = sqlite3_create_module(handle, SQLITE_ROWS, &module, &rows);

	text_format(&sql, "INSERT INTO \"%s\" SELECT * FROM " SQLITE_ROWS, name);
	if (status == SQLITE_OK)
		status = sqlite3_exec(handle, sql.bytes, NULL, NULL, NULL);
	if (status == SQLITE_OK) /* else what it said would be lost */
		status = sqlite3_create_module(handle, SQLITE_ROWS, NULL, NULL);
	text_free(&sql);
	for (size_t i = 0; i < columns; i++)
		text_free(&rows.given[i].text);
	cell_texts_free(&rows.texts);
	free(rows.given);
	free(rows.cells);
	return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sqlite: one database file; a table for each analysis, its dots written as underscores, and three tables about them.
 *
 *   run(name, title, problem)                                  one row
 *   tfprof_columns(table_name, column_name, place, type, unit, help)
 *   tfprof_notes(table_name, kind, text)                       what was not recorded, estimated or lost
 *
 * Rule: numbers as they are, in the column's unit; NULL is an unknown cell; texts are valid UTF-8 (escape_visible), a call
 * stack is the line that -f folded prints. The database is made in a temporary file, then copied: the output may be a pipe.
 */
#include "reducer/report/report.h"

#include "reducer/report/escape.h"
#include "reducer/report/sqlite_rows.h"
#include "reducer/report/stack_text.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a run of the format holds; every failure ends the program with SQLite's own sentence. */
struct database {
	sqlite3 *handle;
	sqlite3_stmt *columns, *notes;
	struct text cell;
};

static void need(const struct database *database, int is_good)
{
	int kind = sqlite3_errcode(database->handle) & 255;

	if (!is_good)
		base_die("-f sqlite: %s%s", sqlite3_errmsg(database->handle),
			 kind == SQLITE_FULL || kind == SQLITE_IOERR
				 ? "; it is made in a temporary file first: set TMPDIR to a folder with more room, or raise the limit of "
				   "file sizes (ulimit -f)"
				 : "");
}

static void run_sql(const struct database *database, const char *sql)
{
	need(database, sqlite3_exec(database->handle, sql, NULL, NULL, NULL) == SQLITE_OK);
}

static sqlite3_stmt *prepare(const struct database *database, const char *sql)
{
	sqlite3_stmt *statement = NULL;

	need(database, sqlite3_prepare_v2(database->handle, sql, -1, &statement, NULL) == SQLITE_OK);
	return statement;
}

static void bind_string(sqlite3_stmt *statement, int place, const char *text)
{
	if (text)
		sqlite3_bind_text(statement, place, text, -1, SQLITE_TRANSIENT);
	else
		sqlite3_bind_null(statement, place);
}

static void insert(const struct database *database, sqlite3_stmt *statement)
{
	need(database, sqlite3_step(statement) == SQLITE_DONE);
	sqlite3_reset(statement);
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

/* Makes the table and describes its columns. */
static void make_table(struct database *database, const struct table_kind *kind, const char *name)
{
	struct text create = {0};

	text_format(&create, "CREATE TABLE \"%s\" (", name);
	for (size_t i = 0; i < kind->column_count; i++) {
		const struct table_column *column = &kind->columns[i];

		text_format(&create, "%s\"%s\" %s", i ? ", " : "", column->id, column_type(column->type));
		bind_string(database->columns, 1, name);
		bind_string(database->columns, 2, column->id);
		sqlite3_bind_int64(database->columns, 3, (sqlite3_int64)i);
		bind_string(database->columns, 4, table_type_name(column->type));
		bind_string(database->columns, 5, table_unit_name(column->unit));
		bind_string(database->columns, 6, column->help);
		insert(database, database->columns);
	}
	text_string(&create, ")");
	run_sql(database, create.bytes);
	text_free(&create);
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

static void put_table(struct database *database, const struct table *table)
{
	struct text name = {0};

	put_name(&name, table->kind->id);
	make_table(database, table->kind, name.bytes);
	need(database, sqlite_rows_insert(database->handle, name.bytes, table, make_text) == SQLITE_OK);
	for (size_t i = 0; i < table->note_count; i++) {
		bind_string(database->notes, 1, name.bytes);
		bind_string(database->notes, 2, note_kind_name(table->notes[i].kind));
		text_clear(&database->cell);
		escape_visible(&database->cell, table->notes[i].text, strlen(table->notes[i].text));
		bind_string(database->notes, 3, database->cell.bytes);
		insert(database, database->notes);
	}
	text_free(&name);
}

static const char begin[] =
	"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
	"CREATE TABLE run (name TEXT, title TEXT, problem TEXT);"
	"CREATE TABLE tfprof_columns (table_name TEXT, column_name TEXT, place INTEGER, type TEXT, unit TEXT, help TEXT);"
	"CREATE TABLE tfprof_notes (table_name TEXT, kind TEXT, text TEXT);"
	"BEGIN";

static void fill(struct database *database, const struct report_set *set)
{
	sqlite3_stmt *run = prepare(database, "INSERT INTO run VALUES (?, ?, ?)");
	bind_string(run, 1, set->run);
	bind_string(run, 2, set->title);
	bind_string(run, 3, set->problem);
	insert(database, run);
	sqlite3_finalize(run);
	database->columns = prepare(database, "INSERT INTO tfprof_columns VALUES (?, ?, ?, ?, ?, ?)");
	database->notes = prepare(database, "INSERT INTO tfprof_notes VALUES (?, ?, ?)");
	for (size_t i = 0; i < set->count; i++)
		put_table(database, set->tables[i]);
	sqlite3_finalize(database->columns);
	sqlite3_finalize(database->notes);
	run_sql(database, "COMMIT");
}

#define COPIED_AT_ONCE (1u << 30) /* bytes */

/* From the beginning of `from`, which is closed. By the kernel, where both are files. */
static void copy(FILE *to, int from)
{
	char buffer[65536];
	off_t at = 0;
	ssize_t length;

	fflush(to);
	while (copy_file_range(from, &at, fileno(to), NULL, COPIED_AT_ONCE, 0) > 0)
		;
	while ((length = pread(from, buffer, sizeof buffer, at)) > 0) {
		fwrite(buffer, 1, (size_t)length, to);
		at += length;
	}
	if (length < 0)
		base_die("-f sqlite: cannot read the database back: %s", strerror(errno));
	close(from);
}

static void write_set(FILE *file, const struct report_set *set, const struct report_options *options)
{
	const char *folder = getenv("TMPDIR");
	struct database database = {0};
	struct text path = {0};

	(void)options;
	if (isatty(fileno(file)))
		base_die("-f sqlite writes a database, not text: give -o FILE.db");
	text_format(&path, "%s/tfprof-reduce.XXXXXX", folder && *folder ? folder : "/tmp");
	int descriptor = mkstemp(path.bytes);
	if (descriptor < 0)
		base_die("-f sqlite: cannot make %s: %s; set TMPDIR to a folder that can be written", path.bytes,
			 strerror(errno));
	/* One thread, and nobody asks how much memory it takes: locks and counting would be a tenth of the time. */
	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	int status = sqlite3_open_v2(path.bytes, &database.handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (status == SQLITE_OK) /* SQLite opens the file with the first statement */
		status = sqlite3_exec(database.handle, begin, NULL, NULL, NULL);
	unlink(path.bytes); /* whatever happens now, nothing is left behind */
	need(&database, status == SQLITE_OK);
	fill(&database, set);
	sqlite3_close(database.handle);
	copy(file, descriptor);
	text_free(&database.cell);
	text_free(&path);
}

const struct report_kind report_sqlite = {
	.name = "sqlite",
	.suffix = "db",
	.help = "an SQLite database, a table for each analysis (memory.sites is memory_sites); give -o FILE.db",
	.write = write_set,
};

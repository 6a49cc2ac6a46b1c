/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv: RFC 4180, one table a file, column ids as the first line.
 *
 * Rule: numbers as they are, in the column's unit; an empty field is an unknown cell; one row is one line, because
 * control characters in texts are written visibly (\n). Lines end with CR LF as the RFC says.
 */
#include "reducer/report/report.h"

#include "reducer/report/cell_texts.h"
#include "reducer/report/escape.h"
#include "reducer/report/stack_text.h"

#include <stdlib.h>
#include <string.h>

/* A text as a field, quoted where it must be. */
static void put_field(struct text *out, const struct text *field)
{
	bool quoted = field->length && (strpbrk(field->bytes, ",\"") || field->bytes[0] == ' ');

	if (!quoted) {
		text_put(out, field->bytes, field->length);
		return;
	}
	text_char(out, '"');
	for (size_t i = 0, run; i <= field->length; i += run + 1) {
		run = strcspn(field->bytes + i, "\"");
		text_put(out, field->bytes + i, run);
		text_string(out, i + run < field->length ? "\"\"" : "\"");
	}
}

static void make_field(struct text *out, const struct table *table, size_t row, size_t column)
{
	struct text field = {0};
	size_t length;

	if (table->kind->columns[column].type == TABLE_TEXT) {
		const char *bytes = table_get_text(table, row, column, &length);
		escape_visible(&field, bytes, length);
	} else {
		stack_text_folded(&field, table, row, column);
	}
	put_field(out, &field);
	text_free(&field);
}

static void put_cell(struct text *line, struct cell_texts *texts, const struct table *table, size_t row, size_t column,
		     const struct table_cell *cell)
{
	const struct text *field;

	if (!cell->is_known)
		return;
	switch (table->kind->columns[column].type) {
	case TABLE_INTEGER:
		text_integer(line, cell->value.integer);
		return;
	case TABLE_REAL:
		text_real(line, cell->value.real);
		return;
	case TABLE_TEXT:
	case TABLE_STACK:
		field = cell_text(texts, table, row, column, cell->value, make_field);
		text_put(line, field->bytes, field->length);
		return;
	}
}

static void write_table(FILE *file, const struct table *table)
{
	struct cell_texts texts = {0};
	struct table_cell *cells = base_alloc(table->kind->column_count, sizeof(*cells));
	struct text line = {0};

	for (size_t i = 0; i < table->kind->column_count; i++)
		fprintf(file, "%s%s", i ? "," : "", table->kind->columns[i].id);
	fputs("\r\n", file);
	for (size_t row = 0; row < table->shown_count; row++) {
		text_clear(&line);
		table_read_row(table, row, cells);
		for (size_t i = 0; i < table->kind->column_count; i++) {
			if (i)
				text_char(&line, ',');
			put_cell(&line, &texts, table, row, i, &cells[i]);
		}
		text_put(&line, "\r\n", 2);
		fwrite(line.bytes, 1, line.length, file);
	}
	cell_texts_free(&texts);
	text_free(&line);
	free(cells);
}

static void write_set(FILE *file, const struct report_set *set, const struct report_options *options)
{
	(void)options;
	for (size_t i = 0; i < set->count; i++)
		write_table(file, set->tables[i]);
}

const struct report_kind report_csv = {
	.name = "csv",
	.suffix = "csv",
	.help = "RFC 4180, one table; several tables become files under -o DIR",
	.is_single = true,
	.write = write_set,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv: RFC 4180, one table a file, column ids as the first line.
 *
 * Rule: numbers as they are, in the column's unit; an empty field is an unknown cell; one row is one line, because
 * control characters in texts are written visibly (\n). Lines end with CR LF as the RFC says.
 */
#include "reducer/report/report.h"

#include "reducer/report/escape.h"
#include "reducer/report/stack_text.h"

#include <inttypes.h>
#include <string.h>

static void put_field(FILE *file, const struct text *field)
{
	bool quoted = field->length && (strpbrk(field->bytes, ",\"") || field->bytes[0] == ' ');

	if (!quoted) {
		fwrite(field->bytes, 1, field->length, file);
		return;
	}
	fputc('"', file);
	for (size_t i = 0, run; i <= field->length; i += run + 1) {
		run = strcspn(field->bytes + i, "\"");
		fwrite(field->bytes + i, 1, run, file);
		fputs(i + run < field->length ? "\"\"" : "\"", file);
	}
}

static void put_cell(FILE *file, const struct table *table, size_t row, size_t column, struct text *field)
{
	const char *bytes;
	size_t length;

	if (!table_is_known(table, row, column))
		return;
	text_clear(field);
	switch (table->kind->columns[column].type) {
	case TABLE_INTEGER:
		fprintf(file, "%" PRId64, table_get_integer(table, row, column));
		return;
	case TABLE_REAL:
		fprintf(file, "%.9g", table_get_number(table, row, column));
		return;
	case TABLE_TEXT:
		bytes = table_get_text(table, row, column, &length);
		escape_visible(field, bytes, length);
		break;
	case TABLE_STACK:
		stack_text_folded(field, table, row, column);
		break;
	}
	put_field(file, field);
}

static void write_table(FILE *file, const struct table *table)
{
	struct text field = {0};

	for (size_t i = 0; i < table->kind->column_count; i++)
		fprintf(file, "%s%s", i ? "," : "", table->kind->columns[i].id);
	fputs("\r\n", file);
	for (size_t row = 0; row < table->shown_count; row++) {
		for (size_t i = 0; i < table->kind->column_count; i++) {
			if (i)
				fputc(',', file);
			put_cell(file, table, row, i, &field);
		}
		fputs("\r\n", file);
	}
	text_free(&field);
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json: one object with every table, its columns described, its notes, and its rows as objects.
 *
 * Rule: typed: numbers are numbers, an unknown cell is null, a stack is an array of frames, innermost first.
 */
#include "reducer/report/report.h"

#include "reducer/report/escape.h"
#include "reducer/tables/frames.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define JSON_MOST 400000000 /* bytes; what readers of JSON as one value were seen to bear */

static void put_string(FILE *file, const char *bytes, size_t length)
{
	struct text out = {0};

	escape_json(&out, bytes, length);
	fwrite(out.bytes, 1, out.length, file);
	text_free(&out);
}

static void put_member(FILE *file, const char *name, const char *value)
{
	fprintf(file, "\"%s\": ", name);
	if (value)
		put_string(file, value, strlen(value));
	else
		fputs("null", file);
}

struct frame_list {
	FILE *file;
	size_t count;
};

static void put_frame(void *context, const struct symbol_frame *frame)
{
	struct frame_list *list = context;

	fputs(list->count++ ? ", {" : "{", list->file);
	put_member(list->file, "function", frame->function);
	if (frame->module[0]) {
		fputs(", ", list->file);
		put_member(list->file, "module", frame->module);
		fprintf(list->file, ", \"offset\": %" PRIu64, frame->offset);
	}
	if (frame->file) {
		fputs(", ", list->file);
		put_member(list->file, "file", frame->file);
	}
	if (frame->line)
		fprintf(list->file, ", \"line\": %" PRIu32, frame->line);
	if (frame->is_inlined)
		fputs(", \"inlined\": true", list->file);
	if (frame->is_near)
		fputs(", \"nearest\": true", list->file);
	fputc('}', list->file);
}

static void put_stack(FILE *file, const struct table *table, uint64_t stack)
{
	struct frame_list list = {.file = file};

	fputc('[', file);
	frames_walk(table->frames, stack >> 32, (uint32_t)stack, put_frame, &list);
	fputc(']', file);
}

static void put_real(FILE *file, double value)
{
	if (isfinite(value))
		fprintf(file, "%.9g", value);
	else
		fputs("null", file);
}

static void put_cell(FILE *file, const struct table *table, size_t row, size_t column)
{
	const char *bytes;
	size_t length;

	if (!table_is_known(table, row, column)) {
		fputs("null", file);
		return;
	}
	switch (table->kind->columns[column].type) {
	case TABLE_INTEGER:
		fprintf(file, "%" PRId64, table_get_integer(table, row, column));
		break;
	case TABLE_REAL:
		put_real(file, table_get_number(table, row, column));
		break;
	case TABLE_TEXT:
		bytes = table_get_text(table, row, column, &length);
		put_string(file, bytes, length);
		break;
	case TABLE_STACK:
		put_stack(file, table, table_get_stack(table, row, column));
		break;
	}
}

static void put_columns(FILE *file, const struct table_kind *kind)
{
	fputs("      \"columns\": [", file);
	for (size_t i = 0; i < kind->column_count; i++) {
		fputs(i ? ",\n        {" : "\n        {", file);
		put_member(file, "id", kind->columns[i].id);
		fputs(", ", file);
		put_member(file, "type", table_type_name(kind->columns[i].type));
		fputs(", ", file);
		put_member(file, "unit", kind->columns[i].unit == UNIT_NONE ? NULL : table_unit_name(kind->columns[i].unit));
		fputs(", ", file);
		put_member(file, "help", kind->columns[i].help);
		fputc('}', file);
	}
	fputs("\n      ],\n", file);
}

static void put_notes(FILE *file, const struct table *table)
{
	fputs("      \"notes\": [", file);
	for (size_t i = 0; i < table->note_count; i++) {
		fputs(i ? ",\n        {" : "\n        {", file);
		put_member(file, "kind", note_kind_name(table->notes[i].kind));
		fputs(", ", file);
		put_member(file, "text", table->notes[i].text);
		fputc('}', file);
	}
	fputs(table->note_count ? "\n      ],\n" : "],\n", file);
}

/* Larger than what reads JSON as one value can be expected to read. */
static void check_size(FILE *file, const struct table *table)
{
	if (ftello(file) > JSON_MOST)
		base_die("-f json: more than %d MB by table %s, too much for one JSON value: choose tables (-t), fewer rows "
			 "(--top N), or "
			 "a format without this limit: -f csv -o DIR, -f sqlite -o FILE.db",
			 JSON_MOST / 1000000, table->kind->id);
}

static void put_rows(FILE *file, const struct table *table)
{
	fprintf(file, "      \"row_count\": %zu,\n      \"rows\": [", table_count(table));
	for (size_t row = 0; row < table->shown_count; row++) {
		if (row % 1024 == 1023)
			check_size(file, table);
		fputs(row ? ",\n        {" : "\n        {", file);
		for (size_t i = 0; i < table->kind->column_count; i++) {
			fprintf(file, "%s\"%s\": ", i ? ", " : "", table->kind->columns[i].id);
			put_cell(file, table, row, i);
		}
		fputc('}', file);
	}
	fputs(table->shown_count ? "\n      ]\n" : "]\n", file);
}

static void put_table(FILE *file, const struct table *table)
{
	fprintf(file, "    \"%s\": {\n      ", table->kind->id);
	put_member(file, "title", table->kind->title);
	fputs(",\n      ", file);
	put_member(file, "help", table->kind->help);
	fputs(",\n", file);
	put_columns(file, table->kind);
	put_notes(file, table);
	put_rows(file, table);
	fputs("    }", file);
}

static void write_set(FILE *file, const struct report_set *set, const struct report_options *options)
{
	(void)options;
	fputs("{\n  ", file);
	put_member(file, "run", set->run);
	fprintf(file, ",\n  \"is_whole\": %s,\n  ", set->problem ? "false" : "true");
	put_member(file, "problem", set->problem);
	fputs(",\n  \"tables\": {\n", file);
	for (size_t i = 0; i < set->count; i++) {
		put_table(file, set->tables[i]);
		fputs(i + 1 < set->count ? ",\n" : "\n", file);
	}
	fputs("  }\n}\n", file);
}

const struct report_kind report_json = {
	.name = "json",
	.suffix = "json",
	.help = "one object: tables with typed columns, units, help, notes and rows",
	.write = write_set,
};

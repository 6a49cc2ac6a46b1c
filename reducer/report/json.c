/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json: one object with every table, its columns described, its notes, and its rows as objects.
 *
 * Rule: typed: numbers are numbers, an unknown cell is null, a stack is an array of frames, innermost first.
 */
#include "reducer/report/report.h"

#include "reducer/report/cell_texts.h"
#include "reducer/report/escape.h"
#include "reducer/tables/frames.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
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
	struct text *out;
	size_t count;
};

static void text_member(struct text *out, const char *name, const char *value)
{
	text_char(out, '"');
	text_string(out, name);
	text_string(out, "\": ");
	escape_json(out, value, strlen(value));
}

static void put_frame(void *context, const struct symbol_frame *frame)
{
	struct frame_list *list = context;

	text_string(list->out, list->count++ ? ", {" : "{");
	text_member(list->out, "function", frame->function);
	if (frame->module[0]) {
		text_string(list->out, ", ");
		text_member(list->out, "module", frame->module);
		text_string(list->out, ", \"offset\": ");
		text_natural(list->out, frame->offset);
	}
	if (frame->file) {
		text_string(list->out, ", ");
		text_member(list->out, "file", frame->file);
	}
	if (frame->line)
		text_format(list->out, ", \"line\": %" PRIu32, frame->line);
	if (frame->is_inlined)
		text_string(list->out, ", \"inlined\": true");
	if (frame->is_near)
		text_string(list->out, ", \"nearest\": true");
	text_char(list->out, '}');
}

static void make_value(struct text *out, const struct table *table, size_t row, size_t column)
{
	struct frame_list list = {.out = out};
	size_t length;

	if (table->kind->columns[column].type == TABLE_TEXT) {
		const char *bytes = table_get_text(table, row, column, &length);
		escape_json(out, bytes, length);
		return;
	}
	uint64_t stack = table_get_stack(table, row, column);
	text_char(out, '[');
	frames_walk(table->frames, stack >> 32, (uint32_t)stack, put_frame, &list);
	text_char(out, ']');
}

static void put_real(struct text *line, double value)
{
	if (isfinite(value))
		text_real(line, value);
	else
		text_string(line, "null");
}

static void put_cell(struct text *line, struct cell_texts *texts, const struct table *table, size_t row, size_t column,
		     const struct table_cell *cell)
{
	const struct text *value;

	if (!cell->is_known) {
		text_string(line, "null");
		return;
	}
	switch (table->kind->columns[column].type) {
	case TABLE_INTEGER:
		text_integer(line, cell->value.integer);
		return;
	case TABLE_REAL:
		put_real(line, cell->value.real);
		return;
	case TABLE_TEXT:
	case TABLE_STACK:
		value = cell_text(texts, table, row, column, cell->value, make_value);
		text_put(line, value->bytes, value->length);
		return;
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

/* Of each column what stands in front of its value in every row. */
static struct text *make_names(const struct table_kind *kind)
{
	struct text *names = base_alloc(kind->column_count, sizeof(*names));

	for (size_t i = 0; i < kind->column_count; i++)
		text_format(&names[i], "%s\"%s\": ", i ? ", " : "", kind->columns[i].id);
	return names;
}

static void put_rows(FILE *file, const struct table *table)
{
	struct text *names = make_names(table->kind), line = {0};
	struct table_cell *cells = base_alloc(table->kind->column_count, sizeof(*cells));
	struct cell_texts texts = {0};

	fprintf(file, "      \"row_count\": %zu,\n      \"rows\": [", table_count(table));
	for (size_t row = 0; row < table->shown_count; row++) {
		if (row % 1024 == 1023)
			check_size(file, table);
		text_clear(&line);
		table_read_row(table, row, cells);
		text_string(&line, row ? ",\n        {" : "\n        {");
		for (size_t i = 0; i < table->kind->column_count; i++) {
			text_put(&line, names[i].bytes, names[i].length);
			put_cell(&line, &texts, table, row, i, &cells[i]);
		}
		text_char(&line, '}');
		fwrite(line.bytes, 1, line.length, file);
	}
	fputs(table->shown_count ? "\n      ]\n" : "]\n", file);
	for (size_t i = 0; i < table->kind->column_count; i++)
		text_free(&names[i]);
	free(names);
	free(cells);
	text_free(&line);
	cell_texts_free(&texts);
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

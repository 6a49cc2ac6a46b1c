/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text: tables for a terminal.
 *
 * Rule: fits the width it is given. First texts shrink, then columns with the highest `detail` go; what is not shown is
 * named below the table. Numbers are right-aligned and carry their unit.
 */
#include "reducer/report/report.h"

#include "reducer/report/escape.h"
#include "reducer/report/human.h"
#include "reducer/report/stack_text.h"

#include <stdlib.h>
#include <string.h>

#define GAP 2         /* spaces between columns */
#define TEXT_WIDEST 72 /* a longer text is cut even where there is room; csv and json have all of it */
#define TEXT_NARROWEST 12
#define LINES_MOST 5 /* lines that the last text of a row may take */
#define DETAIL_FILES 3 /* columns of this detail are for csv and json */

struct layout {
	const struct table *table;
	const struct report_options *options;
	size_t *widths; /* 0 = not shown */
	struct text cell;
};

static bool is_number(const struct table_column *column)
{
	return column->type == TABLE_INTEGER || column->type == TABLE_REAL;
}

/* Widest cell of a column; 0 when it has none. */
static size_t natural_width(struct layout *layout, size_t column)
{
	const struct table *table = layout->table;
	const struct table_column *kind = &table->kind->columns[column];
	size_t widest = 0;

	for (size_t row = 0; row < table->shown_count; row++) {
		size_t width;
		if (!table_is_known(table, row, column))
			continue;
		text_clear(&layout->cell);
		human_cell(&layout->cell, table, row, column);
		width = escape_width(layout->cell.bytes, layout->cell.length);
		widest = width > widest ? width : widest;
		widest = widest ? widest : 1;
	}
	if (kind->type == TABLE_TEXT && widest > TEXT_WIDEST)
		widest = TEXT_WIDEST;
	return widest && widest < strlen(kind->header) ? strlen(kind->header) : widest;
}

static size_t total_width(const struct layout *layout)
{
	size_t total = 0;

	for (size_t i = 0; i < layout->table->kind->column_count; i++)
		if (layout->widths[i])
			total += layout->widths[i] + GAP;
	return total ? total - GAP : 0;
}

/* Takes width from the widest text. False when none can give. */
static bool shrink_text(struct layout *layout)
{
	size_t widest = SIZE_MAX;

	for (size_t i = 0; i < layout->table->kind->column_count; i++)
		if (layout->table->kind->columns[i].type == TABLE_TEXT && layout->widths[i] > TEXT_NARROWEST)
			if (widest == SIZE_MAX || layout->widths[i] > layout->widths[widest])
				widest = i;
	if (widest == SIZE_MAX)
		return false;
	layout->widths[widest]--;
	return true;
}

/* Hides the last of the columns with the highest detail. False when only those of detail 0 are left. */
static bool hide_column(struct layout *layout)
{
	size_t worst = SIZE_MAX;

	for (size_t i = 0; i < layout->table->kind->column_count; i++) {
		unsigned detail = layout->table->kind->columns[i].detail;
		if (layout->widths[i] && detail && (worst == SIZE_MAX || detail >= layout->table->kind->columns[worst].detail))
			worst = i;
	}
	if (worst == SIZE_MAX)
		return false;
	layout->widths[worst] = 0;
	return true;
}

static void lay_out(struct layout *layout)
{
	const struct table_kind *kind = layout->table->kind;
	size_t *natural;

	for (size_t i = 0; i < kind->column_count; i++)
		if (kind->columns[i].type != TABLE_STACK && kind->columns[i].detail < DETAIL_FILES)
			layout->widths[i] = natural_width(layout, i);
	natural = base_alloc(kind->column_count, sizeof(*natural));
	memcpy(natural, layout->widths, kind->column_count * sizeof(*natural));
	while (total_width(layout) > layout->options->width) {
		if (shrink_text(layout))
			continue;
		if (!hide_column(layout))
			break;
		for (size_t i = 0; i < kind->column_count; i++) /* what was hidden gives the texts room again */
			layout->widths[i] = layout->widths[i] ? natural[i] : 0;
	}
	free(natural);
}

static void colour(FILE *file, const struct report_options *options, const char *code)
{
	if (options->is_coloured)
		fprintf(file, "\033[%sm", code);
}

static void put_padded(struct text *line, const struct text *cell, size_t width, bool right)
{
	size_t used = escape_width(cell->bytes, cell->length), pad = width > used ? width - used : 0;

	if (right)
		text_fill(line, ' ', pad);
	text_put(line, cell->bytes, cell->length);
	if (!right)
		text_fill(line, ' ', pad);
}

static size_t last_shown(const struct layout *layout)
{
	size_t last = 0;

	for (size_t i = 0; i < layout->table->kind->column_count; i++)
		if (layout->widths[i])
			last = i;
	return last;
}

/* Ends a row: its last cell, if it is a text, goes on in lines below, at most LINES_MOST in all. */
static void put_last(FILE *file, struct layout *layout, struct text *line, size_t width)
{
	struct text lines = {0};
	const char *next;

	escape_cut(&layout->cell, width * LINES_MOST);
	next = line->bytes ? line->bytes : "";
	text_wrap(&lines, next, layout->cell.length ? layout->cell.bytes : "", line->length + width);
	for (const char *at = lines.bytes; at && *at; at = next) {
		size_t length = strcspn(at, "\n");
		next = at[length] ? at + length + 1 : NULL;
		while (length && at[length - 1] == ' ')
			length--;
		text_clear(&layout->cell);
		text_put(&layout->cell, at, length);
		escape_cut(&layout->cell, layout->options->width > line->length + 2 ? layout->options->width : line->length + width);
		fprintf(file, "%s\n", layout->cell.bytes);
	}
	text_free(&lines);
}

/* row == SIZE_MAX prints the headers. */
static void put_row(FILE *file, struct layout *layout, size_t row)
{
	const struct table *table = layout->table;
	size_t last = last_shown(layout);
	struct text line = {0};

	for (size_t i = 0; i <= last; i++) {
		const struct table_column *column = &table->kind->columns[i];
		if (!layout->widths[i])
			continue;
		if (line.length)
			text_fill(&line, ' ', GAP);
		text_clear(&layout->cell);
		if (row == SIZE_MAX)
			text_string(&layout->cell, column->header);
		else
			human_cell(&layout->cell, table, row, i);
		if (i == last && !is_number(column))
			break;
		escape_cut_path(&layout->cell, layout->widths[i]);
		put_padded(&line, &layout->cell, layout->widths[i], is_number(column));
		text_clear(&layout->cell);
	}
	put_last(file, layout, &line, layout->widths[last]);
	text_free(&line);
}

/* Frames below a row. */
struct stack_printer {
	FILE *file;
	const struct report_options *options;
	size_t count;
	size_t skipped; /* an allocator's own functions, which come first; without them a stack begins with its cause */
	bool is_counting, is_done; /* the first of two walks, which counts those; it has met another function */
};

static void put_frame(void *context, const struct symbol_frame *frame)
{
	struct stack_printer *printer = context;
	struct text line = {0}, place = {0};
	const char *base;
	size_t width = printer->options->width;

	if (printer->is_counting) {
		printer->is_done |= !frames_is_allocator(frame);
		printer->skipped += !printer->is_done;
		return;
	}
	printer->count++;
	if (printer->count <= printer->skipped || printer->count > printer->skipped + printer->options->frames)
		return;
	stack_text_function(&line, frame);
	if (frame->file) {
		base = strrchr(frame->file, '/');
		escape_visible(&place, base ? base + 1 : frame->file, strlen(base ? base + 1 : frame->file));
		if (frame->line)
			text_format(&place, ":%u", frame->line);
	} else if (frame->is_named) {
		escape_visible(&place, frame->module, strlen(frame->module));
	}
	escape_cut(&place, width / 3);
	stack_text_fit(&line, width - 8 - place.length);
	fprintf(printer->file, "      %s", line.bytes);
	if (place.length) {
		colour(printer->file, printer->options, "2");
		fprintf(printer->file, "  %.*s", (int)place.length, place.bytes);
		colour(printer->file, printer->options, "0");
	}
	fputc('\n', printer->file);
	text_free(&line);
	text_free(&place);
}

static void put_stacks(FILE *file, const struct layout *layout, size_t row)
{
	const struct table *table = layout->table;

	for (size_t i = 0; i < table->kind->column_count; i++) {
		struct stack_printer printer = {.file = file, .options = layout->options, .is_counting = true};
		uint64_t stack;
		if (table->kind->columns[i].type != TABLE_STACK || !table_is_known(table, row, i))
			continue;
		stack = table_get_stack(table, row, i);
		frames_walk(table->frames, stack >> 32, (uint32_t)stack, put_frame, &printer);
		if (!printer.is_done) /* nothing else in it */
			printer.skipped = 0;
		printer.is_counting = false;
		frames_walk(table->frames, stack >> 32, (uint32_t)stack, put_frame, &printer);
		if (printer.count > printer.skipped + printer.options->frames)
			fprintf(file, "      ... %zu more (--frames)\n", printer.count - printer.skipped - printer.options->frames);
	}
}

/* A sentence, broken at spaces, later lines indented. */
static void put_wrapped(FILE *file, const char *first, const char *sentence, unsigned width)
{
	struct text lines = {0}, clean = {0};

	escape_visible(&clean, sentence, strlen(sentence));
	text_wrap(&lines, first, clean.bytes, width);
	fputs(lines.bytes, file);
	text_free(&lines);
	text_free(&clean);
}

static void put_notes(FILE *file, const struct table *table, const struct report_options *options)
{
	for (size_t i = 0; i < table->note_count; i++) {
		char first[32];
		snprintf(first, sizeof(first), "  %s: ", note_kind_name(table->notes[i].kind));
		colour(file, options, table->notes[i].kind == NOTE_LOSS ? "31" : "33");
		put_wrapped(file, first, table->notes[i].text, options->width);
		colour(file, options, "0");
	}
}

/* Which columns and rows are not shown. */
static void put_rest(FILE *file, const struct layout *layout)
{
	const struct table *table = layout->table;
	struct text line = {0};

	for (size_t i = 0; i < table->kind->column_count; i++) {
		const struct table_column *column = &table->kind->columns[i];
		if (layout->widths[i] || column->type == TABLE_STACK || column->detail >= DETAIL_FILES || column->is_seldom ||
		    !table->shown_count)
			continue;
		text_format(&line, "%s%s", line.length ? ", " : "", column->id);
	}
	if (table->shown_count < table_count(table))
		fprintf(file, "  ... and %zu more rows (--top 0 for all)\n", table_count(table) - table->shown_count);
	if (line.length) {
		colour(file, layout->options, "2");
		put_wrapped(file, "  not shown (empty, or no room): ", line.bytes, layout->options->width);
		colour(file, layout->options, "0");
	}
	text_free(&line);
}

/* A row of sentences: its first text as it is, the others behind their headers, each on lines of its own. */
static void put_paragraph(FILE *file, struct layout *layout, size_t row)
{
	const struct table_column *columns = layout->table->kind->columns;
	struct text first = {0};
	bool any = false;

	text_format(&first, "%zu. ", row + 1);
	for (size_t i = 0; i < layout->table->kind->column_count; i++) {
		if (columns[i].detail >= DETAIL_FILES || columns[i].type == TABLE_STACK || !table_is_known(layout->table, row, i))
			continue;
		text_clear(&layout->cell);
		human_cell(&layout->cell, layout->table, row, i);
		if (any)
			text_format(&first, "   %s: ", columns[i].header);
		colour(file, layout->options, any ? "0" : "1");
		put_wrapped(file, first.bytes, layout->cell.bytes, layout->options->width);
		colour(file, layout->options, "0");
		text_clear(&first);
		any = true;
	}
	text_free(&first);
}

static void put_paragraphs(FILE *file, const struct table *table, const struct report_options *options)
{
	struct layout layout = {.table = table, .options = options};

	for (size_t row = 0; row < table->shown_count; row++)
		put_paragraph(file, &layout, row);
	if (table->shown_count < table_count(table))
		fprintf(file, "  ... and %zu more (--top 0 for all)\n", table_count(table) - table->shown_count);
	text_free(&layout.cell);
}

static void put_table(FILE *file, const struct table *table, const struct report_options *options)
{
	struct layout layout = {.table = table, .options = options};

	layout.widths = base_alloc(table->kind->column_count, sizeof(*layout.widths));
	lay_out(&layout);
	colour(file, options, "1");
	fprintf(file, "%s (%s)", table->kind->title, table->kind->id);
	colour(file, options, "0");
	fputc('\n', file);
	put_notes(file, table, options);
	if (table->kind->is_prose && table->shown_count) {
		put_paragraphs(file, table, options);
		free(layout.widths);
		text_free(&layout.cell);
		return;
	}
	if (table->shown_count) {
		colour(file, options, "4");
		put_row(file, &layout, SIZE_MAX);
		colour(file, options, "0");
	} else {
		fputs("  no rows\n", file);
	}
	for (size_t row = 0; row < table->shown_count; row++) {
		put_row(file, &layout, row);
		put_stacks(file, &layout, row);
	}
	put_rest(file, &layout);
	free(layout.widths);
	text_free(&layout.cell);
}

static void write_set(FILE *file, const struct report_set *set, const struct report_options *options)
{
	if (set->problem) {
		colour(file, options, "31");
		put_wrapped(file, "! ", set->problem, options->width);
		colour(file, options, "0");
	}
	for (size_t i = 0; i < set->count; i++) {
		if (i)
			fputc('\n', file);
		put_table(file, set->tables[i], options);
	}
}

const struct report_kind report_text = {
	.name = "text",
	.suffix = "txt",
	.help = "for reading, fitted to the terminal (default)",
	.is_for_reading = true,
	.takes_frames = true,
	.write = write_set,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html: one file that needs no network: all tables as data, and the page that shows them (reducer/report/html).
 *
 * Rule: the file has at most HTML_MOST bytes whatever the run's length: each table gets a share of what is left, and says
 * how many of its rows are in. Texts are shown by the page as text, never as markup; here they cannot end their element,
 * because every '<' is written \u003c. Call stacks are lists of numbers of frames that stand once.
 */
#include "reducer/report/html.h"
#include "reducer/report/report.h"

#include "reducer/base/index.h"
#include "reducer/report/escape.h"
#include "reducer/report/stack_text.h"
#include "reducer/trace/digest_write.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HTML_MOST 5000000u     /* bytes */
#define HTML_TIMELINE 2300000u /* bytes: most that the time line has of it */
#define HTML_HEADS 400000u     /* bytes kept for columns, notes and bands */
#define HTML_BANDS 400u	       /* bars of a picture */
#define HTML_SAFE_INTEGER 53   /* bits that a JavaScript number holds exactly; larger ones are written as texts */
#define HTML_TEXT_MOST 4096u   /* bytes of one cell */

/* Frames already written, by the hash of what is shown of them. */
struct frame_index {
	uint64_t *hashes; /* 0 = free */
	uint32_t *numbers;
	size_t capacity, count;
	struct text list;
};

struct page {
	struct text body; /* the tables */
	struct frame_index frames;
	size_t most; /* bytes that body and frames may have together */
};

static void put_text(struct text *out, const char *bytes, size_t length)
{
	escape_script(out, bytes, length, HTML_TEXT_MOST);
}

static void put_string(struct text *out, const char *string)
{
	if (string)
		put_text(out, string, strlen(string));
	else
		text_string(out, "null");
}

static void frames_grow(struct frame_index *frames)
{
	struct frame_index larger = {
		.capacity = frames->capacity ? frames->capacity * 2 : 1024, .count = frames->count, .list = frames->list};

	larger.hashes = base_alloc(larger.capacity, sizeof *larger.hashes);
	larger.numbers = base_alloc(larger.capacity, sizeof *larger.numbers);
	for (size_t i = 0; i < frames->capacity; i++) {
		size_t at = frames->hashes[i] & (larger.capacity - 1);
		if (!frames->hashes[i])
			continue;
		while (larger.hashes[at])
			at = (at + 1) & (larger.capacity - 1);
		larger.hashes[at] = frames->hashes[i];
		larger.numbers[at] = frames->numbers[i];
	}
	free(frames->hashes);
	free(frames->numbers);
	*frames = larger;
}

static uint64_t hash_of(const struct text *text)
{
	uint64_t hash = base_hash(BASE_HASH, text->bytes, text->length);

	return hash ? hash : 1;
}

static uint32_t frame_number(struct frame_index *frames, const struct text *words)
{
	uint64_t hash = hash_of(words);

	if (frames->count * 2 >= frames->capacity)
		frames_grow(frames);
	size_t at = hash & (frames->capacity - 1);
	while (frames->hashes[at] && frames->hashes[at] != hash)
		at = (at + 1) & (frames->capacity - 1);
	if (!frames->hashes[at]) {
		frames->hashes[at] = hash;
		frames->numbers[at] = (uint32_t)frames->count++;
		text_string(&frames->list, frames->numbers[at] ? "," : "");
		text_put(&frames->list, words->bytes, words->length);
	}
	return frames->numbers[at];
}

struct stack_writer {
	struct page *page;
	struct text words, name;
	size_t count;
};

static void put_frame(void *context, const struct symbol_frame *frame)
{
	struct stack_writer *writer = context;

	text_clear(&writer->words);
	text_clear(&writer->name);
	stack_text_function(&writer->name, frame);
	for (size_t i = 0; i < writer->name.length; i++) /* as in folded stacks, where ';' parts frames */
		if (writer->name.bytes[i] == ';')
			writer->name.bytes[i] = ':';
	text_string(&writer->words, "{\"name\":");
	put_text(&writer->words, writer->name.length ? writer->name.bytes : "", writer->name.length);
	if (frame->module[0]) {
		text_string(&writer->words, ",\"module\":");
		put_string(&writer->words, frame->module);
	}
	if (frame->file) {
		text_string(&writer->words, ",\"file\":");
		put_string(&writer->words, frame->file);
		text_format(&writer->words, ",\"line\":%" PRIu32, frame->line);
	}
	text_char(&writer->words, '}');
	text_string(&writer->page->body, writer->count++ ? "," : "");
	text_natural(&writer->page->body, frame_number(&writer->page->frames, &writer->words));
}

static void put_stack(struct page *page, const struct table *table, uint64_t stack)
{
	struct stack_writer writer = {.page = page};

	text_char(&page->body, '[');
	frames_walk(table->frames, stack >> 32, (uint32_t)stack, put_frame, &writer);
	text_char(&page->body, ']');
	text_free(&writer.words);
	text_free(&writer.name);
}

static void put_integer(struct text *out, int64_t value)
{
	int64_t most = INT64_C(1) << HTML_SAFE_INTEGER;
	const char *quote = value > most || value < -most ? "\"" : "";

	text_string(out, quote);
	text_integer(out, value);
	text_string(out, quote);
}

static void put_cell(struct page *page, const struct table *table, size_t row, size_t column)
{
	const char *bytes;
	size_t length;

	if (!table_is_known(table, row, column)) {
		text_string(&page->body, "null");
		return;
	}
	switch (table->kind->columns[column].type) {
	case TABLE_INTEGER:
		put_integer(&page->body, table_get_integer(table, row, column));
		break;
	case TABLE_REAL:
		if (isfinite(table_get_number(table, row, column)))
			text_real(&page->body, table_get_number(table, row, column));
		else
			text_string(&page->body, "null");
		break;
	case TABLE_TEXT:
		bytes = table_get_text(table, row, column, &length);
		put_text(&page->body, bytes, length);
		break;
	case TABLE_STACK:
		put_stack(page, table, table_get_stack(table, row, column));
		break;
	}
}

static void put_columns(struct text *out, const struct table_kind *kind)
{
	for (size_t i = 0; i < kind->column_count; i++) {
		const struct table_column *column = &kind->columns[i];

		text_format(out, "%s{\"id\":\"%s\",\"type\":\"%s\",\"unit\":\"%s\",\"detail\":%u,\"header\":", i ? "," : "",
			    column->id, table_type_name(column->type),
			    column->unit == UNIT_NONE ? "none" : table_unit_name(column->unit), column->detail);
		put_string(out, column->header);
		text_string(out, column->is_seldom ? ",\"seldom\":true,\"help\":" : ",\"help\":");
		put_string(out, column->help);
		text_char(out, '}');
	}
}

static void put_notes(struct text *out, const struct table *table)
{
	for (size_t i = 0; i < table->note_count; i++) {
		text_format(out, "%s{\"kind\":\"%s\",\"text\":", i ? "," : "", note_kind_name(table->notes[i].kind));
		put_string(out, table->notes[i].text);
		text_char(out, '}');
	}
}

/* Writes each `step`th row until the table has used `share` bytes. A row that does not fit is taken back. Returns how many did. */
static size_t put_each(struct page *page, const struct table *table, size_t share, size_t step)
{
	size_t begin = page->body.length + page->frames.list.length, count = 0;

	for (size_t row = 0; row < table->shown_count; row += step) {
		size_t before = page->body.length;

		text_string(&page->body, row ? ",[" : "[");
		for (size_t i = 0; i < table->kind->column_count; i++) {
			text_string(&page->body, i ? "," : "");
			put_cell(page, table, row, i);
		}
		text_char(&page->body, ']');
		if (page->body.length + page->frames.list.length - begin > share) {
			page->body.length = before;
			page->body.bytes[before] = 0;
			break;
		}
		count++;
	}
	return count;
}

/* The first rows that have room, or of moments some all along: a picture of the first would end early. Returns whether all are there. */
static bool put_rows(struct page *page, const struct table *table, size_t share)
{
	size_t begin = page->body.length, shown = table->shown_count;

	for (size_t step = 1;;) {
		size_t wanted = (shown + step - 1) / step, count = put_each(page, table, share, step), next;
		if (count == wanted || !table->kind->is_of_moments || !count)
			return count == shown;
		page->body.length = begin;
		page->body.bytes[begin] = 0;
		next = (wanted * step + count - 1) / count;
		step = next > step ? next : step + 1;
	}
}

/* The mean of a column over neighbouring rows; "null" where none of them has one. */
static void put_mean(struct text *out, const struct table *table, size_t column, size_t first, size_t end)
{
	double sum = 0;
	size_t count = 0;

	for (size_t row = first; row < end; row++)
		if (table_is_known(table, row, column)) {
			sum += table_get_number(table, row, column);
			count++;
		}
	if (count && isfinite(sum))
		text_format(out, "%.6g", sum / (double)count);
	else
		text_string(out, "null");
}

/* For pictures of a table that does not fit: means of all its rows in at most HTML_BANDS stretches of neighbours. */
static void put_bands(struct text *out, const struct table *table)
{
	size_t size = (table->shown_count + HTML_BANDS - 1) / HTML_BANDS;

	text_format(out, ",\"bands\":{\"size\":%zu,\"rows\":[", size);
	for (size_t first = 0; first < table->shown_count; first += size) {
		size_t end = first + size < table->shown_count ? first + size : table->shown_count;
		text_string(out, first ? ",[" : "[");
		for (size_t i = 0; i < table->kind->column_count; i++) {
			enum table_type type = table->kind->columns[i].type;
			text_string(out, i ? "," : "");
			if (type == TABLE_INTEGER || type == TABLE_REAL)
				put_mean(out, table, i, first, end);
			else
				text_string(out, "null");
		}
		text_char(out, ']');
	}
	text_string(out, "]}");
}

static void put_table(struct page *page, const struct table *table, size_t share)
{
	bool is_whole;

	text_format(&page->body, "{\"id\":\"%s\",\"title\":", table->kind->id);
	put_string(&page->body, table->kind->title);
	text_string(&page->body, ",\"help\":");
	put_string(&page->body, table->kind->help);
	text_format(&page->body, ",\"row_count\":%zu,\"columns\":[", table_count(table));
	put_columns(&page->body, table->kind);
	text_string(&page->body, "],\"notes\":[");
	put_notes(&page->body, table);
	text_string(&page->body, "],\"rows\":[");
	is_whole = put_rows(page, table, share);
	text_char(&page->body, ']');
	if (!is_whole)
		put_bands(&page->body, table);
	text_char(&page->body, '}');
}

/* A table and where it stands in the body. */
struct written {
	const struct table *table;
	size_t place, cells, begin, end;
};

static int by_cells(const void *a, const void *b)
{
	const struct written *one = a, *other = b;

	if (one->cells != other->cells)
		return one->cells < other->cells ? -1 : 1;
	return one->place < other->place ? -1 : one->place > other->place;
}

static int by_place(const void *a, const void *b)
{
	const struct written *one = a, *other = b;

	return one->place < other->place ? -1 : one->place > other->place;
}

/* Small ones first, each with an equal part of what is left: what they do not need is there for the large ones. */
static struct written *put_tables(struct page *page, const struct report_set *set)
{
	struct written *tables = base_alloc(set->count, sizeof(*tables));

	for (size_t i = 0; i < set->count; i++)
		tables[i] = (struct written){.table = set->tables[i], .place = i,
					     .cells = set->tables[i]->shown_count * set->tables[i]->kind->column_count};
	if (set->count)
		qsort(tables, set->count, sizeof(*tables), by_cells);
	for (size_t i = 0; i < set->count; i++) {
		size_t used = page->body.length + page->frames.list.length;
		tables[i].begin = page->body.length;
		put_table(page, tables[i].table, used < page->most ? (page->most - used) / (set->count - i) : 0);
		tables[i].end = page->body.length;
	}
	if (set->count)
		qsort(tables, set->count, sizeof(*tables), by_place);
	return tables;
}

static void print_tables(FILE *file, const struct page *page, const struct written *tables, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		fputs(i ? "," : "", file);
		fwrite(page->body.bytes + tables[i].begin, 1, tables[i].end - tables[i].begin, file);
	}
}

static void draw(struct text *drawing, const struct request *request)
{
	digest_write(drawing, request, HTML_TIMELINE);
}

static void write_set(FILE *file, const struct report_set *set, const struct report_options *options)
{
	struct page page = {.most = HTML_MOST - report_html_head_bytes - report_html_tail_bytes - HTML_HEADS};
	struct text head = {0}, none = {.bytes = "null", .length = 4};
	const struct text *timeline = set->drawing ? set->drawing : &none;

	(void)options;
	page.most -= timeline->length;
	struct written *tables = put_tables(&page, set);
	text_string(&head, "{\"run\":");
	put_string(&head, set->run);
	text_string(&head, ",\"title\":");
	put_string(&head, set->title);
	text_string(&head, ",\"problem\":");
	put_string(&head, set->problem);
	fwrite(report_html_head, 1, report_html_head_bytes, file);
	fprintf(file, "%s,\"timeline\":", head.bytes);
	fwrite(timeline->bytes, 1, timeline->length, file);
	fprintf(file, ",\"frames\":[%s],\"tables\":[", page.frames.list.length ? page.frames.list.bytes : "");
	print_tables(file, &page, tables, set->count);
	fputs("]}", file);
	fwrite(report_html_tail, 1, report_html_tail_bytes, file);
	text_free(&head);
	free(tables);
	text_free(&page.body);
	text_free(&page.frames.list);
	free(page.frames.hashes);
	free(page.frames.numbers);
}

const struct report_kind report_html = {
	.name = "html",
	.suffix = "html",
	.help = "one file with tables and charts for a browser, at most 5 MB, without network; --html FILE is -f html -o FILE",
	.leaves_out_launches = true,
	.write = write_set,
	.draw = draw,
};

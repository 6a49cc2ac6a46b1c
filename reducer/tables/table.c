/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows in columns: 8 bytes and a bit a cell, each distinct text once.
 *
 * Rule: the first rows of a long table, and all rows of others, are in memory; further rows lie in pages (table_pages.h).
 */
#include "reducer/tables/table_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table *table_make(const struct table_kind *kind)
{
	struct table *table = base_alloc(1, sizeof(*table));

	table->kind = kind;
	table->cells = base_alloc(kind->column_count, sizeof(*table->cells));
	return table;
}

void table_free(struct table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->kind->column_count; i++)
		cells_clear(&table->cells[i]);
	pages_free(table->pages);
	for (size_t i = 0; i < table->note_count; i++)
		free(table->notes[i].text);
	free(table->notes);
	free(table->cells);
	free(table->order);
	text_free(&table->texts.bytes);
	free(table->texts.list);
	base_index_free(&table->texts.index);
	free(table);
}

void table_row(struct table *table)
{
	table->row_count++;
	table->shown_count = table->row_count;
	table->last = table->cells;
	table->last_place = table->row_count - 1;
	if (!table->kind->is_long || table->last_place < TABLE_HEAD)
		return;
	if (!table->pages)
		table->pages = pages_make(table->kind->column_count);
	table->last_place -= TABLE_HEAD;
	table->last = pages_add(table->pages, &table->last_place);
}

const struct table_cells *table_cells_at(const struct table *table, size_t *place)
{
	if (!table->pages || *place < TABLE_HEAD)
		return table->cells;
	*place -= TABLE_HEAD;
	return pages_read(table->pages, place);
}

void table_set_last(struct table *table, size_t column, union table_value value)
{
	cells_set(&table->last[column], table->last_place, value);
}

void table_integer(struct table *table, size_t column, int64_t value)
{
	table_set_last(table, column, (union table_value){.integer = value});
}

void table_real(struct table *table, size_t column, double value)
{
	table_set_last(table, column, (union table_value){.real = value});
}

static bool text_equal(const struct table_texts *texts, size_t number, const char *bytes, size_t length)
{
	const struct table_text *text = &texts->list[number];

	return text->length == length && (length == 0 || memcmp(texts->bytes.bytes + text->offset, bytes, length) == 0);
}

/* Bytes that are looked for. */
struct wanted {
	const char *bytes;
	size_t length;
};

static bool text_is(const void *context, const void *key, uint32_t number)
{
	const struct wanted *wanted = key;

	return text_equal(context, number, wanted->bytes, wanted->length);
}

/* The number of a text, which is kept when it is new. */
static size_t text_number(struct table_texts *texts, const char *bytes, size_t length)
{
	struct table_recent *recent = &texts->recent[base_mix((uintptr_t)bytes) % TABLE_RECENT];
	struct wanted wanted = {bytes, length};
	uint64_t hash;
	uint32_t number;

	if (recent->bytes == bytes && recent->number < texts->count && text_equal(texts, recent->number, bytes, length))
		return recent->number;
	hash = base_hash(BASE_HASH, bytes, length);
	number = base_index_find(&texts->index, base_mix(hash), text_is, texts, &wanted);
	if (number == UINT32_MAX) {
		number = (uint32_t)texts->count++;
		texts->list = base_grow(texts->list, &texts->room, texts->count, sizeof(*texts->list));
		texts->list[number] = (struct table_text){texts->bytes.length, length};
		text_put(&texts->bytes, bytes, length);
		base_index_add(&texts->index, base_mix(hash), number);
	}
	*recent = (struct table_recent){bytes, number};
	return number;
}

void table_text(struct table *table, size_t column, const char *bytes, size_t length)
{
	table_set_last(table, column, (union table_value){.text = text_number(&table->texts, bytes, length)});
}

void table_string(struct table *table, size_t column, const char *string)
{
	if (string)
		table_text(table, column, string, strlen(string));
}

void table_stack(struct table *table, size_t column, uint32_t process, uint32_t stack)
{
	table_set_last(table, column, (union table_value){.stack = (uint64_t)process << 32 | stack});
}

/* Where a row lies that is printed as the row-th. */
static size_t place_of(const struct table *table, size_t row)
{
	return table->order ? table->order[row] : row;
}

void table_set_integer(struct table *table, size_t row, size_t column, int64_t value)
{
	cells_set(&table->cells[column], place_of(table, row), (union table_value){.integer = value});
}

void table_set_text(struct table *table, size_t row, size_t column, const char *bytes, size_t length)
{
	cells_set(&table->cells[column], place_of(table, row),
		  (union table_value){.text = text_number(&table->texts, bytes, length)});
}

void table_note(struct table *table, enum note_kind kind, const char *format, ...)
{
	va_list arguments;
	char *text = NULL;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		base_die("out of memory");
	text_by_count(text);
	table->notes = base_grow(table->notes, &table->note_room, table->note_count + 1, sizeof(*table->notes));
	table->notes[table->note_count++] = (struct table_note){.kind = kind, .text = text};
}

const char *note_kind_name(enum note_kind kind)
{
	static const char *const names[] = {
		[NOTE_INFO] = "info", [NOTE_INFERRED] = "inferred", [NOTE_MISSING] = "missing", [NOTE_LOSS] = "lost"};

	return names[kind];
}

size_t table_count(const struct table *table)
{
	return table->row_count + table->omitted_count;
}

bool table_is_known(const struct table *table, size_t row, size_t column)
{
	size_t place = place_of(table, row);
	const struct table_cells *cells = table_cells_at(table, &place);

	return cells_is_known(&cells[column], place);
}

bool table_has_cells(const struct table *table, size_t column)
{
	return cells_any(&table->cells[column]) || (table->pages && pages_have(table->pages, column));
}

void table_read_row(const struct table *table, size_t row, struct table_cell *to)
{
	size_t place = place_of(table, row);
	const struct table_cells *cells = table_cells_at(table, &place);

	for (size_t i = 0; i < table->kind->column_count; i++) {
		to[i].is_known = cells_is_known(&cells[i], place);
		to[i].value = *cells_value(&cells[i], place);
	}
}

static const union table_value *get(const struct table *table, size_t row, size_t column)
{
	size_t place = place_of(table, row);
	const struct table_cells *cells = table_cells_at(table, &place);

	return cells_value(&cells[column], place);
}

int64_t table_get_integer(const struct table *table, size_t row, size_t column)
{
	return get(table, row, column)->integer;
}

double table_get_number(const struct table *table, size_t row, size_t column)
{
	const union table_value *value = get(table, row, column);

	return table->kind->columns[column].type == TABLE_REAL ? value->real : (double)value->integer;
}

const char *table_get_text(const struct table *table, size_t row, size_t column, size_t *length)
{
	const struct table_text *text = &table->texts.list[get(table, row, column)->text];

	*length = text->length;
	return table->texts.bytes.bytes + text->offset;
}

size_t table_text_number(const struct table *table, size_t row, size_t column)
{
	return get(table, row, column)->text;
}

uint64_t table_get_stack(const struct table *table, size_t row, size_t column)
{
	return get(table, row, column)->stack;
}

bool table_has_stacks(const struct table_kind *kind)
{
	for (size_t i = 0; i < kind->column_count; i++)
		if (kind->columns[i].type == TABLE_STACK)
			return true;
	return false;
}

size_t table_find_column(const struct table_kind *kind, const char *id)
{
	for (size_t i = 0; i < kind->column_count; i++)
		if (strcmp(kind->columns[i].id, id) == 0)
			return i;
	return SIZE_MAX;
}

size_t table_begins_column(const struct table_kind *kind, const char *word)
{
	size_t column = table_find_column(kind, word);

	for (size_t i = 0; i < kind->column_count && column == SIZE_MAX && word[0]; i++)
		if (strncmp(kind->columns[i].id, word, strlen(word)) == 0)
			column = i;
	return column;
}

const char *table_unit_name(enum table_unit unit)
{
	static const char *const names[] = {[UNIT_NONE] = "", [UNIT_COUNT] = "count", [UNIT_BYTES] = "bytes",
					    [UNIT_NS] = "ns", [UNIT_RATIO] = "ratio", [UNIT_BYTES_PER_S] = "bytes/s",
					    [UNIT_FLOPS] = "flop", [UNIT_FLOPS_PER_S] = "flop/s",
					    [UNIT_MILLIWATTS] = "mW", [UNIT_MILLIJOULES] = "mJ", [UNIT_MEGAHERTZ] = "MHz",
					    [UNIT_CELSIUS] = "C"};

	return names[unit];
}

const char *table_type_name(enum table_type type)
{
	static const char *const names[] = {
		[TABLE_INTEGER] = "integer", [TABLE_REAL] = "real", [TABLE_TEXT] = "text", [TABLE_STACK] = "stack"};

	return names[type];
}

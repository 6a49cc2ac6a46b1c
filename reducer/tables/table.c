/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows in columns: 9 bytes a cell, texts in one pool.
 *
 * Rule: printed order is a permutation; cells never move once set.
 */
#include "reducer/tables/table.h"

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
	for (size_t i = 0; i < table->kind->column_count; i++) {
		free(table->cells[i].values);
		free(table->cells[i].is_known);
	}
	for (size_t i = 0; i < table->note_count; i++)
		free(table->notes[i].text);
	free(table->notes);
	free(table->cells);
	free(table->order);
	text_free(&table->texts);
	free(table);
}

void table_row(struct table *table)
{
	table->row_count++;
	table->shown_count = table->row_count;
}

static bool cell_is_known(const struct table_cells *cells, size_t place)
{
	return cells->values ? place < cells->room && cells->is_known[place / 8] >> place % 8 & 1 : place < cells->same;
}

static const union table_value *cell_value(const struct table_cells *cells, size_t place)
{
	return cells->values && place < cells->room ? &cells->values[place] : &cells->same_value;
}

static void cell_fill(struct table_cells *cells, size_t place, union table_value value)
{
	cells->values[place] = value;
	cells->is_known[place / 8] |= (uint8_t)(1u << place % 8);
}

/* A place for each of `count` rows; new ones are empty. */
static void cells_spread(struct table_cells *cells, size_t count)
{
	size_t flags = (cells->room + 7) / 8, before = flags, room = cells->room;
	bool was_same = !cells->values;

	cells->values = base_grow(cells->values, &room, count, sizeof(*cells->values));
	cells->is_known = base_grow(cells->is_known, &flags, (room + 7) / 8, 1);
	if (flags > before)
		memset(cells->is_known + before, 0, flags - before);
	cells->room = room < flags * 8 ? room : flags * 8;
	for (size_t i = 0; was_same && i < cells->same; i++)
		cell_fill(cells, i, cells->same_value);
}

static void cell_set(struct table_cells *cells, size_t place, union table_value value)
{
	bool is_first = place == 0 && cells->same <= 1;

	if (!cells->values && place <= cells->same &&
	    (is_first || memcmp(&cells->same_value, &value, sizeof(value)) == 0)) {
		cells->same_value = value;
		cells->same = place == cells->same ? place + 1 : cells->same;
		return;
	}
	if (!cells->values || place >= cells->room)
		cells_spread(cells, place + 1 > cells->same ? place + 1 : cells->same);
	cell_fill(cells, place, value);
}

static void set_last(struct table *table, size_t column, union table_value value)
{
	cell_set(&table->cells[column], table->row_count - 1, value);
}

void table_integer(struct table *table, size_t column, int64_t value)
{
	set_last(table, column, (union table_value){.integer = value});
}

void table_real(struct table *table, size_t column, double value)
{
	set_last(table, column, (union table_value){.real = value});
}

/* Keeps a text; returns where. */
static uint64_t pool_put(struct table *table, const char *bytes, size_t length)
{
	uint64_t offset = table->texts.length, count = length;

	text_put(&table->texts, &count, sizeof(count));
	text_put(&table->texts, bytes, length);
	return offset;
}

static const char *pool_text(const struct table *table, uint64_t offset, size_t *length)
{
	uint64_t count;

	memcpy(&count, table->texts.bytes + offset, sizeof(count));
	*length = count;
	return table->texts.bytes + offset + sizeof(count);
}

/* Keeps the text of a row once where the row before has the same. */
static uint64_t text_after(struct table *table, const struct table_cells *cells, size_t place, const char *bytes, size_t length)
{
	if (place > 0 && cell_is_known(cells, place - 1)) {
		uint64_t offset = cell_value(cells, place - 1)->text;
		size_t before;
		const char *text = pool_text(table, offset, &before);
		if (before == length && memcmp(text, bytes, length) == 0)
			return offset;
	}
	return pool_put(table, bytes, length);
}

void table_text(struct table *table, size_t column, const char *bytes, size_t length)
{
	uint64_t offset = text_after(table, &table->cells[column], table->row_count - 1, bytes, length);

	set_last(table, column, (union table_value){.text = offset});
}

void table_string(struct table *table, size_t column, const char *string)
{
	if (string)
		table_text(table, column, string, strlen(string));
}

void table_stack(struct table *table, size_t column, uint32_t process, uint32_t stack)
{
	set_last(table, column, (union table_value){.stack = (uint64_t)process << 32 | stack});
}

void table_set_integer(struct table *table, size_t row, size_t column, int64_t value)
{
	cell_set(&table->cells[column], table_place(table, row), (union table_value){.integer = value});
}

void table_set_text(struct table *table, size_t row, size_t column, const char *bytes, size_t length)
{
	cell_set(&table->cells[column], table_place(table, row), (union table_value){.text = pool_put(table, bytes, length)});
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

size_t table_place(const struct table *table, size_t row)
{
	return table->order ? table->order[row] : row;
}

bool table_is_known(const struct table *table, size_t row, size_t column)
{
	return cell_is_known(&table->cells[column], table_place(table, row));
}

int64_t table_get_integer(const struct table *table, size_t row, size_t column)
{
	return cell_value(&table->cells[column], table_place(table, row))->integer;
}

double table_get_number(const struct table *table, size_t row, size_t column)
{
	const union table_value *value = cell_value(&table->cells[column], table_place(table, row));

	return table->kind->columns[column].type == TABLE_REAL ? value->real : (double)value->integer;
}

const char *table_get_text(const struct table *table, size_t row, size_t column, size_t *length)
{
	return pool_text(table, cell_value(&table->cells[column], table_place(table, row))->text, length);
}

uint64_t table_get_stack(const struct table *table, size_t row, size_t column)
{
	return cell_value(&table->cells[column], table_place(table, row))->stack;
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

static void order_make(struct table *table)
{
	if (table->order || !table->row_count)
		return;
	table->order = base_alloc(table->row_count, sizeof(*table->order));
	for (size_t i = 0; i < table->row_count; i++)
		table->order[i] = (uint32_t)i;
}

struct sorting {
	const struct table *table;
	size_t column;
	bool is_reversed;
};

static int compare_texts(const struct table *table, uint64_t a, uint64_t b)
{
	size_t a_length, b_length;
	const char *a_text = pool_text(table, a, &a_length), *b_text = pool_text(table, b, &b_length);
	int order = memcmp(a_text, b_text, a_length < b_length ? a_length : b_length);

	return order ? order : a_length < b_length ? -1 : a_length > b_length;
}

static int compare_values(const struct sorting *sorting, const union table_value *a, const union table_value *b)
{
	switch (sorting->table->kind->columns[sorting->column].type) {
	case TABLE_INTEGER:
		return a->integer > b->integer ? -1 : a->integer < b->integer;
	case TABLE_REAL:
		return a->real > b->real ? -1 : a->real < b->real;
	case TABLE_TEXT:
		return compare_texts(sorting->table, a->text, b->text);
	case TABLE_STACK:
		break;
	}
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct sorting *sorting = context;
	const struct table_cells *cells = &sorting->table->cells[sorting->column];
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	bool is_known = cell_is_known(cells, x);
	int order;

	if (is_known != cell_is_known(cells, y))
		return is_known ? -1 : 1;
	order = is_known ? compare_values(sorting, cell_value(cells, x), cell_value(cells, y)) : 0;
	if (sorting->is_reversed)
		order = -order;
	return order ? order : x < y ? -1 : x > y; /* equal rows stay as they were added */
}

void table_sort(struct table *table, size_t column, bool is_reversed)
{
	struct sorting sorting = {.table = table, .column = column, .is_reversed = is_reversed};

	order_make(table);
	if (table->order)
		qsort_r(table->order, table->shown_count, sizeof(*table->order), compare_rows, &sorting);
}

void table_keep(struct table *table, bool (*keep)(const struct table *table, size_t row, void *context), void *context)
{
	size_t kept = 0;

	order_make(table);
	for (size_t i = 0; i < table->shown_count; i++)
		if (keep(table, i, context))
			table->order[kept++] = table->order[i];
	table->shown_count = kept;
	table->row_count = kept;
}

void table_top(struct table *table, size_t count)
{
	if (count < table->shown_count)
		table->shown_count = count;
}

const char *table_unit_name(enum table_unit unit)
{
	static const char *const names[] = {[UNIT_NONE] = "", [UNIT_COUNT] = "count", [UNIT_BYTES] = "bytes",
					    [UNIT_NS] = "ns", [UNIT_RATIO] = "ratio", [UNIT_BYTES_PER_S] = "bytes/s"};

	return names[unit];
}

const char *table_type_name(enum table_type type)
{
	static const char *const names[] = {
		[TABLE_INTEGER] = "integer", [TABLE_REAL] = "real", [TABLE_TEXT] = "text", [TABLE_STACK] = "stack"};

	return names[type];
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which rows are printed, and which of them.
 *
 * Rule: of a table in memory it is a permutation; a long table, whose rows lie in pages, is written anew in its new order.
 */
#include "reducer/base/sorter.h"
#include "reducer/tables/table_pages.h"

#include <stdlib.h>
#include <string.h>

#define SORT_BYTES (16u << 20) /* of rows in memory while a long table is sorted */

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

static int compare_texts(const struct table_texts *texts, const struct table_text *a, const struct table_text *b)
{
	int order = memcmp(texts->bytes.bytes + a->offset, texts->bytes.bytes + b->offset,
			   a->length < b->length ? a->length : b->length);

	return order ? order : a->length < b->length ? -1 : a->length > b->length;
}

static int compare_values(const struct sorting *sorting, const union table_value *a, const union table_value *b)
{
	const struct table_texts *texts = &sorting->table->texts;

	switch (sorting->table->kind->columns[sorting->column].type) {
	case TABLE_INTEGER:
		return a->integer > b->integer ? -1 : a->integer < b->integer;
	case TABLE_REAL:
		return a->real > b->real ? -1 : a->real < b->real;
	case TABLE_TEXT:
		return compare_texts(texts, &texts->list[a->text], &texts->list[b->text]);
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
	bool is_known = cells_is_known(cells, x);
	int order;

	if (is_known != cells_is_known(cells, y))
		return is_known ? -1 : 1;
	order = is_known ? compare_values(sorting, cells_value(cells, x), cells_value(cells, y)) : 0;
	if (sorting->is_reversed)
		order = -order;
	return order ? order : x < y ? -1 : x > y; /* equal rows stay as they were added */
}

/* Takes the rows of a long table away: they are in `old` then, and the table is empty. Texts stay the table's. */
static void rows_take(struct table *table, struct table *old)
{
	*old = *table;
	table->cells = base_alloc(table->kind->column_count, sizeof(*table->cells));
	table->pages = NULL;
	table->row_count = table->shown_count = 0;
}

static void rows_free(struct table *old)
{
	for (size_t i = 0; i < old->kind->column_count; i++)
		cells_clear(&old->cells[i]);
	free(old->cells);
	pages_free(old->pages);
}

/* A row as bytes: of each column whether it is known, then the values of those that are. */
static void row_encode(const struct table *table, size_t row, struct text *out)
{
	size_t place = row, count = table->kind->column_count;
	const struct table_cells *cells = table_cells_at(table, &place);

	text_clear(out);
	for (size_t i = 0; i < count; i++)
		text_char(out, cells_is_known(&cells[i], place) ? 1 : 0);
	for (size_t i = 0; i < count; i++)
		if (out->bytes[i])
			text_put(out, cells_value(&cells[i], place), sizeof(union table_value));
}

static void row_decode(struct table *table, const char *bytes)
{
	size_t count = table->kind->column_count;
	const char *at = bytes + count;
	union table_value value;

	table_row(table);
	for (size_t i = 0; i < count; i++) {
		if (!bytes[i])
			continue;
		memcpy(&value, at, sizeof(value));
		at += sizeof(value);
		table_set_last(table, i, value);
	}
}

static int compare_numbers(const void *a, const void *b, void *context)
{
	const struct table_texts *texts = context;

	return compare_texts(texts, &texts->list[*(const uint32_t *)a], &texts->list[*(const uint32_t *)b]);
}

/* Of each distinct text its place among them all. */
static uint32_t *rank_texts(struct table_texts *texts)
{
	uint32_t *order = base_alloc(texts->count, sizeof(*order)), *ranks = base_alloc(texts->count, sizeof(*ranks));

	for (size_t i = 0; i < texts->count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, texts->count, sizeof(*order), compare_numbers, texts);
	for (size_t i = 0; i < texts->count; i++)
		ranks[order[i]] = (uint32_t)i;
	free(order);
	return ranks;
}

/* A number that is less where the value comes first. */
static uint64_t sort_key(enum table_type type, const union table_value *value, const uint32_t *ranks)
{
	double real = value->real + 0.0; /* of both zeros the positive one */
	uint64_t bits;

	switch (type) {
	case TABLE_INTEGER:
		return ~((uint64_t)value->integer ^ UINT64_C(1) << 63);
	case TABLE_REAL:
		memcpy(&bits, &real, sizeof(bits));
		return ~(bits >> 63 ? ~bits : bits | UINT64_C(1) << 63);
	case TABLE_TEXT:
		return ranks[value->text];
	case TABLE_STACK:
		break;
	}
	return value->stack;
}

static void sort_long(struct table *table, size_t column, bool is_reversed)
{
	enum table_type type = table->kind->columns[column].type;
	uint32_t *ranks = type == TABLE_TEXT ? rank_texts(&table->texts) : NULL;
	struct sorter *sorter = sorter_make(SORT_BYTES, 0);
	const uint64_t *key;
	struct table old;
	struct text bytes = {0};
	const char *row;
	size_t length;

	rows_take(table, &old);
	for (size_t i = 0; i < old.shown_count; i++) {
		size_t place = i;
		const struct table_cells *cells = table_cells_at(&old, &place);
		uint64_t keys[SORTER_WORDS] = {!cells_is_known(&cells[column], place)};
		if (!keys[0])
			keys[1] = sort_key(type, cells_value(&cells[column], place), ranks);
		if (is_reversed)
			keys[1] = ~keys[1];
		row_encode(&old, i, &bytes);
		sorter_put(sorter, keys, bytes.bytes, bytes.length); /* which leaves equal keys in their order */
	}
	rows_free(&old);
	while ((row = sorter_next(sorter, &key, &length)))
		row_decode(table, row);
	sorter_free(sorter);
	text_free(&bytes);
	free(ranks);
}

void table_sort(struct table *table, size_t column, bool is_reversed)
{
	struct sorting sorting = {.table = table, .column = column, .is_reversed = is_reversed};

	if (table->pages) {
		sort_long(table, column, is_reversed);
		return;
	}
	order_make(table);
	if (table->order)
		qsort_r(table->order, table->shown_count, sizeof(*table->order), compare_rows, &sorting);
}

static void keep_long(struct table *table, bool (*keep)(const struct table *table, size_t row, void *context), void *context)
{
	struct table old;
	struct text bytes = {0};

	rows_take(table, &old);
	for (size_t i = 0; i < old.shown_count; i++) {
		if (!keep(&old, i, context))
			continue;
		row_encode(&old, i, &bytes);
		row_decode(table, bytes.bytes);
	}
	rows_free(&old);
	text_free(&bytes);
}

void table_keep(struct table *table, bool (*keep)(const struct table *table, size_t row, void *context), void *context)
{
	size_t kept = 0;

	if (table->pages) {
		keep_long(table, keep, context);
		return;
	}
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

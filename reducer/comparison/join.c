/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joining rows by name.
 *
 * Rule: the name is text: what two runs number differently (stacks, addresses, pids) does not stand in it.
 */
#include "reducer/comparison/join.h"

#include "reducer/base/index.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_script(void *context, const struct symbol_frame *frame)
{
	struct text *text = context;
	const char *base;

	if (text->length || !frame->file || frames_is_library(frame->file))
		return;
	base = strrchr(frame->file, '/');
	text_format(text, "%s (%s)", frame->function, base ? base + 1 : frame->file);
}

static char *key_of(const struct table *table, size_t row, const char *column)
{
	size_t at = table_find_column(table->kind, column), length;
	struct text text = {0};
	uint64_t stack;

	if (at == SIZE_MAX || !table_is_known(table, row, at))
		return base_copy("", 0);
	if (table->kind->columns[at].type == TABLE_STACK) {
		stack = table_get_stack(table, row, at);
		frames_walk_python(table->frames, stack >> 32, (uint32_t)stack, put_script, &text);
		return text.bytes ? text.bytes : base_copy("", 0);
	}
	const char *bytes = table_get_text(table, row, at, &length);
	return base_copy(bytes, length);
}

static uint64_t hash_of(char *const *keys)
{
	uint64_t hash = BASE_HASH;

	for (size_t i = 0; i < JOIN_KEYS && keys[i]; i++)
		hash = base_hash(hash, keys[i], strlen(keys[i]) + 1);
	return hash;
}

static bool is_equal(const void *context, const void *key, uint32_t number)
{
	const struct join_rows *rows = context;
	char *const *keys = key;

	for (size_t i = 0; i < JOIN_KEYS && keys[i]; i++)
		if (strcmp(keys[i], rows->items[number].keys[i]) != 0)
			return false;
	return true;
}

struct join_item *join_item(struct join_rows *rows, char **keys)
{
	uint64_t hash = hash_of(keys);
	uint32_t number = base_index_find(&rows->index, hash, is_equal, rows, keys);

	if (number != UINT32_MAX) {
		for (size_t i = 0; i < JOIN_KEYS; i++)
			free(keys[i]);
		return &rows->items[number];
	}
	rows->items = base_grow(rows->items, &rows->room, rows->count + 1, sizeof(*rows->items));
	rows->items[rows->count] = (struct join_item){0};
	memcpy(rows->items[rows->count].keys, keys, sizeof(rows->items[rows->count].keys));
	base_index_add(&rows->index, hash, (uint32_t)rows->count);
	return &rows->items[rows->count++];
}

static void take_row(struct join_rows *rows, const struct join_spec *spec, const struct table *table, size_t row)
{
	char *keys[JOIN_KEYS] = {0};
	struct join_item *item;

	for (size_t i = 0; i < JOIN_KEYS && spec->keys[i]; i++)
		keys[i] = key_of(table, row, spec->keys[i]);
	item = join_item(rows, keys);
	for (size_t i = 0; i < JOIN_VALUES && spec->values[i]; i++) {
		size_t at = table_find_column(table->kind, spec->values[i]);
		if (at == SIZE_MAX || !table_is_known(table, row, at))
			continue;
		item->is_known[i] = true;
		if (spec->errors & 1u << i)
			item->values[i] = hypot(item->values[i], table_get_number(table, row, at));
		else
			item->values[i] += table_get_number(table, row, at);
	}
}

void join_gather(struct join_rows *rows, const struct join_spec *spec, const struct request *request)
{
	struct table *table = tables_make(spec->kind, request);

	for (size_t row = 0; row < table->shown_count; row++)
		take_row(rows, spec, table, row);
	for (size_t i = 0; i < rows->count; i++) {
		struct join_item *item = &rows->items[i];
		double of_run = item->values[spec->rank] - item->before_run;
		if (!rows->runs)
			item->shift = of_run;
		item->squares += (of_run - item->shift) * (of_run - item->shift);
		item->before_run = item->values[spec->rank];
	}
	rows->runs++;
	table_free(table);
}

void join_finish(struct join_rows *rows, size_t runs)
{
	for (size_t i = 0; i < rows->count; i++) {
		struct join_item *item = &rows->items[i];
		double sum = item->before_run - (double)runs * item->shift;
		item->spread = sqrt(fmax(0, item->squares - sum * sum / (double)runs));
	}
}

static void free_keys(struct join_item *item)
{
	for (size_t i = 0; i < JOIN_KEYS; i++)
		free(item->keys[i]);
}

/* The largest first; of equal ones by their names, so that the same rows are kept each time. */
static int by_rank(const void *a, const void *b, void *context)
{
	const struct join_item *one = a, *other = b;
	size_t rank = *(const unsigned *)context;
	int order = one->values[rank] > other->values[rank] ? -1 : one->values[rank] < other->values[rank];

	for (size_t i = 0; !order && i < JOIN_KEYS && one->keys[i]; i++)
		order = strcmp(one->keys[i], other->keys[i]);
	return order;
}

static bool is_nothing(const struct join_item *item)
{
	for (size_t i = 0; i < JOIN_VALUES; i++)
		if (item->values[i] != 0)
			return false;
	return true;
}

void join_keep(struct join_rows *rows, const struct join_spec *spec, size_t most)
{
	unsigned rank = spec->rank;
	size_t kept = 0;

	base_index_free(&rows->index); /* numbers change */
	for (size_t i = 0; i < rows->count; i++)
		if (is_nothing(&rows->items[i]))
			free_keys(&rows->items[i]);
		else
			rows->items[kept++] = rows->items[i];
	rows->left_out += rows->count - kept;
	rows->count = kept;
	if (rows->count <= most)
		return;
	qsort_r(rows->items, rows->count, sizeof(*rows->items), by_rank, &rank);
	for (size_t i = most; i < rows->count; i++) {
		for (size_t k = 0; k < JOIN_VALUES; k++)
			rows->most_of[k] = fmax(rows->most_of[k], rows->items[i].values[k]);
		free_keys(&rows->items[i]);
	}
	rows->left_out += rows->count - most;
	rows->count = most;
}

void join_rows_free(struct join_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		free_keys(&rows->items[i]);
	free(rows->items);
	base_index_free(&rows->index);
	*rows = (struct join_rows){0};
}

static struct join_side side_of(const struct join_item *item)
{
	struct join_side side = {.is_there = true, .spread = item->spread};

	memcpy(side.is_known, item->is_known, sizeof(side.is_known));
	memcpy(side.values, item->values, sizeof(side.values));
	return side;
}

static struct join_row *add_row(struct join *join, const struct join_item *item)
{
	struct join_row *row;

	join->rows = base_grow(join->rows, &join->room, join->count + 1, sizeof(*join->rows));
	row = &join->rows[join->count++];
	*row = (struct join_row){0};
	for (size_t i = 0; i < JOIN_KEYS; i++)
		row->keys[i] = item->keys[i];
	return row;
}

void join_make(struct join *join, const struct join_rows *before, const struct join_rows *after)
{
	*join = (struct join){0};
	for (size_t i = 0; i < after->count; i++)
		add_row(join, &after->items[i])->after = side_of(&after->items[i]);
	for (size_t i = 0; i < before->count; i++) {
		const struct join_item *item = &before->items[i];
		uint32_t number = base_index_find(&after->index, hash_of(item->keys), is_equal, after, item->keys);
		struct join_row *row = number == UINT32_MAX ? add_row(join, item) : &join->rows[number];
		row->before = side_of(item);
	}
}

size_t join_bound(struct join *join, const struct join_rows *before, size_t value, double before_basis, double after_basis)
{
	size_t kept = 0, removed;

	if (!before->left_out)
		return 0;
	for (size_t i = 0; i < join->count; i++) {
		struct join_row *row = &join->rows[i];
		bool is_new = row->after.is_there && !row->before.is_there;
		double most = before->most_of[value] / before_basis;
		if (is_new && most > 0 && row->after.values[value] / after_basis <= most)
			continue;
		if (is_new) {
			row->before.is_bound = true;
			memcpy(row->before.values, before->most_of, sizeof(row->before.values)); /* errors, too */
		}
		join->rows[kept++] = *row;
	}
	removed = join->count - kept;
	join->count = kept;
	return removed;
}

void join_free(struct join *join)
{
	free(join->rows);
	*join = (struct join){0};
}

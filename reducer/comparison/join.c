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

struct joining {
	struct join *join;
	const struct join_spec *spec;
	struct base_index index;
};

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
	const struct join *join = context;
	char *const *keys = key;

	for (size_t i = 0; i < JOIN_KEYS && keys[i]; i++)
		if (strcmp(keys[i], join->rows[number].keys[i]) != 0)
			return false;
	return true;
}

/* The row of these keys, which it takes. */
static struct join_row *row_of(struct joining *joining, char **keys)
{
	struct join *join = joining->join;
	uint64_t hash = hash_of(keys);
	uint32_t number = base_index_find(&joining->index, hash, is_equal, join, keys);

	if (number != UINT32_MAX) {
		for (size_t i = 0; i < JOIN_KEYS; i++)
			free(keys[i]);
		return &join->rows[number];
	}
	join->rows = base_grow(join->rows, &join->room, join->count + 1, sizeof(*join->rows));
	join->rows[join->count] = (struct join_row){0};
	memcpy(join->rows[join->count].keys, keys, sizeof(join->rows[join->count].keys));
	base_index_add(&joining->index, hash, (uint32_t)join->count);
	return &join->rows[join->count++];
}

static void take_row(struct joining *joining, const struct table *table, size_t row, bool is_before)
{
	const struct join_spec *spec = joining->spec;
	char *keys[JOIN_KEYS] = {0};
	struct join_side *side;

	for (size_t i = 0; i < JOIN_KEYS && spec->keys[i]; i++)
		keys[i] = key_of(table, row, spec->keys[i]);
	struct join_row *joined = row_of(joining, keys);
	side = is_before ? &joined->before : &joined->after;
	side->is_there = true;
	for (size_t i = 0; i < JOIN_VALUES && spec->values[i]; i++) {
		size_t at = table_find_column(table->kind, spec->values[i]);
		if (at == SIZE_MAX || !table_is_known(table, row, at))
			continue;
		side->is_known[i] = true;
		if (spec->errors & 1u << i)
			side->values[i] = hypot(side->values[i], table_get_number(table, row, at));
		else
			side->values[i] += table_get_number(table, row, at);
	}
}

static void take(struct joining *joining, const struct request *request, bool is_before)
{
	struct table *table = tables_make(joining->spec->kind, request);

	for (size_t row = 0; row < table->shown_count; row++)
		take_row(joining, table, row, is_before);
	table_free(table);
}

void join_make(struct join *join, const struct join_spec *spec, const struct request *before, const struct request *after)
{
	struct joining joining = {.join = join, .spec = spec};

	*join = (struct join){0};
	take(&joining, after, false);
	take(&joining, before, true);
	base_index_free(&joining.index);
}

void join_free(struct join *join)
{
	for (size_t i = 0; i < join->count; i++)
		for (size_t k = 0; k < JOIN_KEYS; k++)
			free(join->rows[i].keys[k]);
	free(join->rows);
	*join = (struct join){0};
}

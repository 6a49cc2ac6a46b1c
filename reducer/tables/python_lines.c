/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of Python by number; see reducer/tables/python_lines.h. */
#include "reducer/tables/python_lines.h"

#include "reducer/tables/frames.h"

#include <stdlib.h>
#include <string.h>

#define RECENT 4096u /* a power of two: 96 KiB */

/* Found lately: stacks by the ten thousand share their outer frames. */
struct python_line_recent {
	const char *function, *file;
	uint32_t line, next; /* next: its number + 1, 0 = none */
};

struct python_lines python_lines_make(void)
{
	return (struct python_lines){.recent = base_alloc(RECENT, sizeof(struct python_line_recent))};
}

void python_lines_free(struct python_lines *lines)
{
	base_index_free(&lines->index);
	free(lines->list);
	free(lines->recent);
	*lines = (struct python_lines){0};
}

static bool line_equal(const void *context, const void *key, uint32_t number)
{
	const struct python_line_name *have = &((const struct python_lines *)context)->list[number], *want = key;

	return have->line == want->line && strcmp(have->function, want->function) == 0 && strcmp(have->file, want->file) == 0;
}

static uint32_t find(struct python_lines *lines, const struct symbol_frame *frame)
{
	struct python_line_name key = {frame->function, frame->file, frame->line};
	uint64_t hash = base_mix(frame->line + 1);
	uint32_t number;

	for (const char *at = frame->function; *at; at++)
		hash = base_mix(hash ^ (unsigned char)*at);
	for (const char *at = frame->file; *at; at++)
		hash = base_mix(hash ^ (unsigned char)*at);
	number = base_index_find(&lines->index, hash, line_equal, lines, &key);
	if (number != UINT32_MAX)
		return number;
	lines->list = base_grow(lines->list, &lines->room, lines->count + 1, sizeof(*lines->list));
	lines->list[lines->count] = key;
	base_index_add(&lines->index, hash, (uint32_t)lines->count);
	return (uint32_t)lines->count++;
}

/* Where the texts of the run are the same ones as lately, they are not read. */
size_t python_lines_number(struct python_lines *lines, const struct symbol_frame *frame)
{
	uint64_t mixed = base_mix((uintptr_t)frame->function ^ (uintptr_t)frame->file << 20 ^ frame->line);
	struct python_line_recent *recent = &lines->recent[mixed % RECENT];

	if (!recent->next || recent->function != frame->function || recent->file != frame->file || recent->line != frame->line)
		*recent = (struct python_line_recent){frame->function, frame->file, frame->line, find(lines, frame) + 1};
	return recent->next - 1;
}

void python_line_place(struct text *text, const struct python_line_name *line)
{
	const char *base = strrchr(line->file, '/');

	text_format(text, "%s:%u", base ? base + 1 : line->file, line->line);
}

void python_lines_put(const struct python_lines *lines, size_t number, struct table *table, size_t column)
{
	const struct python_line_name *line = &lines->list[number];

	table_string(table, column, line->function);
	table_string(table, column + 1, line->file);
	table_integer(table, column + 2, line->line);
}

void python_own_take(struct python_own *own, const struct symbol_frame *frame, size_t number)
{
	if (own->is_certain)
		return;
	if (!frames_is_library(frame->file)) {
		own->line = number;
		own->is_certain = true;
	} else if (own->line == SIZE_MAX && frames_is_typed(frame->file)) {
		own->line = number;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks as one line.
 *
 * Rule: frames come innermost first and are turned round here.
 */
#include "reducer/report/stack_text.h"

#include "reducer/report/escape.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void stack_text_function(struct text *out, const struct symbol_frame *frame)
{
	if (frame->is_near)
		text_char(out, '~');
	escape_visible(out, frame->function, strlen(frame->function));
}

/* Is the '<' at `at` the start of template arguments, not of an operator or of a Rust type? */
static bool opens_arguments(const struct text *name, size_t at)
{
	static const char operator[] = "operator";
	size_t length = sizeof(operator) - 1;

	if (!at || !(isalnum((unsigned char)name->bytes[at - 1]) || name->bytes[at - 1] == '_'))
		return false;
	return at < length || memcmp(name->bytes + at - length, operator, length) != 0;
}

void stack_text_fit(struct text *name, size_t width)
{
	size_t kept = 0, depth = 0;

	if (escape_width(name->bytes, name->length) <= width)
		return;
	for (size_t i = 0; i < name->length; i++) {
		char c = name->bytes[i];
		if (c == '<' && (depth || opens_arguments(name, i)) && !depth++)
			name->bytes[kept++] = c;
		if (c == '>' && depth)
			depth--;
		if (!depth)
			name->bytes[kept++] = c;
	}
	name->length = kept;
	name->bytes[kept] = 0;
	escape_cut(name, width);
}

void stack_text_python_place(struct text *out, const struct symbol_frame *frame)
{
	const char *slash = strrchr(frame->file, '/'), *file = slash ? slash + 1 : frame->file;

	text_string(out, " (");
	escape_visible(out, file, strlen(file));
	text_format(out, ":%" PRIu32 ")", frame->line);
}

/* Names in the order visited, one after the other in `names`. */
struct gathering {
	struct text names;
	size_t *starts;
	size_t count, room;
};

static void gather(void *context, const struct symbol_frame *frame)
{
	struct gathering *gathering = context;
	size_t start = gathering->names.length;

	gathering->starts = base_grow(gathering->starts, &gathering->room, gathering->count + 1, sizeof(*gathering->starts));
	gathering->starts[gathering->count++] = start;
	stack_text_function(&gathering->names, frame);
	if (frame->module == FRAMES_PYTHON)
		stack_text_python_place(&gathering->names, frame);
	for (size_t i = start; i < gathering->names.length; i++)
		if (gathering->names.bytes[i] == ';')
			gathering->names.bytes[i] = ':';
}

void stack_text_folded(struct text *out, const struct table *table, size_t row, size_t column)
{
	struct gathering gathering = {0};
	uint64_t stack;

	if (!table_is_known(table, row, column))
		return;
	stack = table_get_stack(table, row, column);
	frames_walk(table->frames, stack >> 32, (uint32_t)stack, gather, &gathering);
	for (size_t i = gathering.count; i > 0; i--) {
		size_t start = gathering.starts[i - 1];
		size_t end = i < gathering.count ? gathering.starts[i] : gathering.names.length;
		if (i < gathering.count)
			text_char(out, ';');
		text_put(out, gathering.names.bytes + start, end - start);
	}
	text_free(&gathering.names);
	free(gathering.starts);
}

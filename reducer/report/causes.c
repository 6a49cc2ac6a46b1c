/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks shortened to causes.
 *
 * Rule: only the largest stacks are looked at, so that a summary costs the same whatever the run.
 */
#include "reducer/report/causes.h"

#include "reducer/report/escape.h"
#include "reducer/report/stack_text.h"

#include <stdlib.h>
#include <string.h>

#define STACKS_LOOKED_AT 256
#define FRAMES_NAMED 4  /* functions named of a stack */
#define NAME_WIDEST 36  /* columns of a caller's name */

/* A cause in the making. */
struct reading {
	struct cause *cause;
	struct text last; /* the name before: a function that calls itself is named once */
	size_t count;     /* functions named so far */
	bool has_python;  /* the script may stand further out */
	struct text typed; /* as the cause's script, but of python -c or of a prompt; generated code of libraries has the same file name */
};

/* The innermost line of the user's own script. */
static void read_script(struct reading *reading, const struct symbol_frame *frame, const struct text *name)
{
	struct text *script = frames_is_typed(frame->file) ? &reading->typed : &reading->cause->script;

	if (script->length || (script != &reading->typed && frames_is_library(frame->file)))
		return;
	text_put(script, name->bytes, name->length);
	stack_text_python_place(script, frame);
}

static void read_first(struct reading *reading, const struct symbol_frame *frame, const struct text *name)
{
	const char *place = frame->file ? frame->file : frame->is_named ? frame->module : "";
	const char *base = strrchr(place, '/');

	text_put(&reading->cause->name, name->bytes, name->length);
	escape_visible(&reading->cause->place, base ? base + 1 : place, strlen(base ? base + 1 : place));
	if (frame->file && frame->line)
		text_format(&reading->cause->place, ":%u", frame->line);
	reading->count = 1;
}

static bool read_frame(void *context, const struct symbol_frame *frame)
{
	struct reading *reading = context;
	struct cause *cause = reading->cause;
	struct text name = {0};
	bool is_marker = frames_is_marker(frame);

	if (reading->count >= FRAMES_NAMED && frame->module != FRAMES_PYTHON)
		return reading->has_python;
	stack_text_function(&name, frame);
	if (frame->module == FRAMES_PYTHON)
		read_script(reading, frame, &name);
	if (reading->count >= FRAMES_NAMED) {
		text_free(&name);
		return true;
	}
	cause->has_near |= frame->is_near;
	if (!reading->count && !is_marker && frames_is_allocator(frame)) {
		text_clear(&cause->via);
		text_put(&cause->via, name.bytes, name.length);
	} else if (!reading->count) {
		read_first(reading, frame, &name);
	} else if (!reading->last.length || strcmp(name.bytes, reading->last.bytes) != 0) {
		struct text shown = {0};
		text_put(&shown, name.bytes, name.length);
		stack_text_fit(&shown, NAME_WIDEST);
		text_format(&cause->callers, "%s< %.*s", cause->callers.length ? " " : "", is_marker ? 9 : (int)shown.length,
			    is_marker ? "[unknown]" : shown.bytes);
		text_free(&shown);
		reading->count++;
	}
	text_clear(&reading->last);
	text_put(&reading->last, name.bytes, name.length);
	text_free(&name);
	return true;
}

static int64_t number(const struct table *sites, size_t row, const char *id)
{
	size_t column = table_find_column(sites->kind, id);

	return table_is_known(sites, row, column) ? table_get_integer(sites, row, column) : 0;
}

void cause_free(struct cause *cause)
{
	text_free(&cause->name);
	text_free(&cause->via);
	text_free(&cause->place);
	text_free(&cause->callers);
	text_free(&cause->script);
}

void cause_read(struct frames *frames, uint64_t stack, struct cause *cause)
{
	struct reading reading = {.cause = cause, .has_python = frames_has_python(frames, stack >> 32, (uint32_t)stack)};

	frames_search(frames, stack >> 32, (uint32_t)stack, read_frame, &reading);
	if (!reading.count)
		text_string(&cause->name, "[only an allocator's own functions]");
	if (!cause->script.length && reading.typed.length)
		text_put(&cause->script, reading.typed.bytes, reading.typed.length);
	text_free(&reading.typed);
	text_free(&reading.last);
}

static bool read_stack(const struct table *sites, size_t row, bool is_of_one, struct cause *cause)
{
	size_t column = table_find_column(sites->kind, "stack"), length;
	const char *allocator = table_get_text(sites, row, table_find_column(sites->kind, "allocator"), &length);

	if (!table_is_known(sites, row, column))
		return false;
	cause->is_heap = length == 4 && memcmp(allocator, "heap", 4) == 0;
	cause->is_mapped = length == 4 && memcmp(allocator, "mmap", 4) == 0;
	if (!cause->is_heap && !is_of_one) {
		escape_visible(&cause->name, allocator, length);
		text_string(&cause->name, ": ");
	}
	cause_read(sites->frames, table_get_stack(sites, row, column), cause);
	return true;
}

static bool is_same(const struct text *a, const struct text *b)
{
	return a->length == b->length && (!a->length || memcmp(a->bytes, b->bytes, a->length) == 0);
}

bool causes_has_namesake(const struct causes *causes, const struct cause *cause)
{
	for (size_t i = 0; i < causes->count; i++) {
		const struct cause *other = &causes->list[i];
		if (is_same(&other->name, &cause->name) && is_same(&other->script, &cause->script) &&
		    !is_same(&other->callers, &cause->callers))
			return true;
	}
	return false;
}

/* The cause that reads the same, or a new one that takes over the texts of `read`. */
static struct cause *cause_of(struct causes *causes, struct cause *read)
{
	for (size_t i = 0; i < causes->count; i++) {
		struct cause *have = &causes->list[i];
		if (!is_same(&have->name, &read->name) || !is_same(&have->via, &read->via) ||
		    !is_same(&have->place, &read->place) || !is_same(&have->callers, &read->callers) ||
		    !is_same(&have->script, &read->script))
			continue;
		cause_free(read);
		return have;
	}
	causes->list = base_grow(causes->list, &causes->room, causes->count + 1, sizeof(*causes->list));
	causes->list[causes->count] = *read;
	return &causes->list[causes->count++];
}

static int by_peak(const void *a, const void *b)
{
	const struct cause *x = a, *y = b;

	if (x->is_heap != y->is_heap)
		return x->is_heap ? -1 : 1;
	if (x->is_below != y->is_below)
		return x->is_below ? 1 : -1;
	if (x->peak_bytes != y->peak_bytes)
		return x->peak_bytes > y->peak_bytes ? -1 : 1;
	return x->allocations > y->allocations ? -1 : x->allocations < y->allocations;
}

static bool is_below(const struct run *run, const struct table *sites, size_t row)
{
	size_t column = table_find_column(sites->kind, "module"), length;
	const char *module = table_is_known(sites, row, column) ? table_get_text(sites, row, column, &length) : NULL;

	for (size_t i = 0; module && i < run->process_count; i++) {
		const char *name = run->processes[i].allocator_library;
		size_t bytes = name ? strlen(name) : SIZE_MAX;
		if (bytes <= length && memcmp(module + length - bytes, name, bytes) == 0)
			return true;
	}
	return false;
}

struct causes causes_make(const struct request *request)
{
	struct request largest = *request;
	struct causes causes = {0};
	struct table *sites;

	largest.top = STACKS_LOOKED_AT;
	largest.is_top_given = true;
	largest.names_inner = true;
	sites = tables_make(&table_memory_sites, &largest);
	for (size_t row = 0; row < sites->shown_count; row++) {
		struct cause read = {0}, *cause;
		if (!read_stack(sites, row, request->allocator != NULL, &read))
			continue;
		read.is_below = read.is_mapped && is_below(request->run, sites, row);
		cause = cause_of(&causes, &read);
		cause->peak_bytes += number(sites, row, "peak_bytes");
		cause->leaked_bytes += number(sites, row, "leaked_bytes");
		cause->is_leak_unknown |= !table_is_known(sites, row, table_find_column(sites->kind, "leaked_bytes"));
		cause->allocations += number(sites, row, "allocations");
		causes.is_estimated |= table_is_known(sites, row, table_find_column(sites->kind, "peak_error_bytes"));
	}
	causes.is_more = causes.count && table_count(sites) > sites->shown_count;
	if (causes.count)
		qsort(causes.list, causes.count, sizeof(*causes.list), by_peak);
	table_free(sites);
	return causes;
}

void causes_free(struct causes *causes)
{
	for (size_t i = 0; i < causes->count; i++)
		cause_free(&causes->list[i]);
	free(causes->list);
}

/* Appends a copy of `part`, fitted to `width`; returns the columns it took. */
static size_t put_fitted(struct text *out, const struct text *part, size_t width)
{
	struct text copy = {0};
	size_t used;

	text_put(&copy, part->bytes ? part->bytes : "", part->length);
	stack_text_fit(&copy, width);
	used = escape_width(copy.bytes, copy.length);
	text_put(out, copy.bytes, copy.length);
	text_free(&copy);
	return used;
}

void cause_text(const struct cause *cause, struct text *out, size_t width)
{
	struct text place = {0};
	size_t left;

	if (cause->place.length) {
		text_string(&place, "  [");
		put_fitted(&place, &cause->place, width * 2 / 5);
		text_char(&place, ']');
	}
	left = width - escape_width(place.bytes ? place.bytes : "", place.length);
	left -= put_fitted(out, &cause->name, cause->via.length && left > 40 ? left * 3 / 5 : left);
	if (cause->via.length && left >= 16) {
		text_string(out, " -> ");
		put_fitted(out, &cause->via, left - 4);
	}
	text_put(out, place.bytes ? place.bytes : "", place.length);
	text_free(&place);
}

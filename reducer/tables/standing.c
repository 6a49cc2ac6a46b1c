/* SPDX-License-Identifier: Apache-2.0 */
/* Where Python code stood; see reducer/tables/standing.h. */
#include "reducer/tables/standing.h"

#include <stdlib.h>
#include <string.h>

#define STOOD_PARTS 3 /* of what was looked at a line that stands has two of so many */

struct at_stack {
	uint32_t stack;
	uint64_t ns;
};

struct seen {
	struct at_stack *stacks;
	size_t count, room;
	struct base_index index;
	struct python_lines lines;
	struct seen_line {
		uint64_t ns;
		size_t walked; /* the last stack, + 1, that was counted for it */
	} *list;
	size_t list_room;
	/* Of the walk. */
	size_t at;	    /* of `stacks` */
	uint64_t stands_ns; /* from so much on a line stands */
	size_t own, any;    /* innermost lines that stand; SIZE_MAX = none so far */
};

static bool stack_equal(const void *context, const void *key, uint32_t number)
{
	return ((const struct seen *)context)->stacks[number].stack == *(const uint32_t *)key;
}

static void add_stack(struct seen *seen, uint32_t stack, uint64_t ns)
{
	uint64_t hash = base_mix(stack + 1);
	uint32_t number = base_index_find(&seen->index, hash, stack_equal, seen, &stack);

	if (number == UINT32_MAX) {
		seen->stacks = base_grow(seen->stacks, &seen->room, seen->count + 1, sizeof(*seen->stacks));
		number = (uint32_t)seen->count++;
		seen->stacks[number] = (struct at_stack){.stack = stack};
		base_index_add(&seen->index, hash, number);
	}
	seen->stacks[number].ns += ns;
}

/* What of the time that a look stands for, up to its own, lies in the stretch. */
static uint64_t within(const struct stretch *stretch, const struct python_look *look)
{
	int64_t begin = (int64_t)((uint64_t)look->time_ns - look->wall_ns), end = look->time_ns; /* any number, if the log says so */

	begin = begin > stretch->from_ns ? begin : stretch->from_ns;
	end = end < stretch->to_ns ? end : stretch->to_ns;
	return end > begin ? (uint64_t)(end - begin) : 0;
}

/* Whether it ran there: of several looks the one that tells of processor time may be another. */
static bool ran_within(const struct stretch *stretch, const struct python_look *look)
{
	return look->cpu_ns && look->cpu_time_ns > stretch->from_ns && look->cpu_time_ns <= stretch->to_ns;
}

static int by_thread(const void *a, const void *b)
{
	const struct python_look *one = *(const struct python_look *const *)a, *other = *(const struct python_look *const *)b;

	if (one->thread != other->thread)
		return one->thread < other->thread ? -1 : 1;
	return one < other ? -1 : one > other;
}

struct stretch stretch_make(const struct request *request, size_t process, int64_t from_ns, int64_t to_ns)
{
	const struct python_rows *python = &request->run->processes[process].python;
	struct stretch stretch = {.process = process, .from_ns = from_ns, .to_ns = to_ns};

	stretch.looks = base_alloc(python->look_count + 1, sizeof(*stretch.looks));
	for (size_t i = 0; i < python->look_count; i++)
		if (within(&stretch, &python->looks[i]) || ran_within(&stretch, &python->looks[i]))
			stretch.looks[stretch.count++] = &python->looks[i];
	qsort(stretch.looks, stretch.count, sizeof(*stretch.looks), by_thread);
	return stretch;
}

void stretch_free(struct stretch *stretch)
{
	free(stretch->looks);
	*stretch = (struct stretch){0};
}

static bool is_before(const void *stretch, size_t i, uint64_t thread)
{
	return ((const struct stretch *)stretch)->looks[i]->thread < thread;
}

static bool gather(struct seen *seen, struct standing *standing, const struct stretch *stretch, uint32_t thread)
{
	size_t first = base_count_before(stretch, stretch->count, thread, is_before), i;

	for (i = first; i < stretch->count && stretch->looks[i]->thread == thread; i++) {
		const struct python_look *look = stretch->looks[i];
		uint64_t ns = within(stretch, look);
		standing->cpu_ns += ran_within(stretch, look) ? look->cpu_ns : 0;
		if (!ns || look->stack == PYTHON_LOOK_IN_DOUBT)
			continue;
		standing->looked_ns += ns;
		if (look->stack)
			add_stack(seen, look->stack, ns);
	}
	return i > first;
}

static void count_line(void *context, const struct symbol_frame *frame)
{
	struct seen *seen = context;
	size_t before = seen->lines.count, number;

	if (frame->module != FRAMES_PYTHON)
		return;
	number = python_lines_number(&seen->lines, frame);
	seen->list = base_grow(seen->list, &seen->list_room, number + 1, sizeof(*seen->list));
	if (number == before)
		seen->list[number] = (struct seen_line){0};
	if (seen->list[number].walked == seen->at + 1)
		return;
	seen->list[number].walked = seen->at + 1;
	seen->list[number].ns += seen->stacks[seen->at].ns;
}

/* Innermost first, until a line of the program's own stands. */
static bool choose_line(void *context, const struct symbol_frame *frame)
{
	struct seen *seen = context;
	size_t number;

	if (frame->module != FRAMES_PYTHON)
		return true;
	number = python_lines_number(&seen->lines, frame);
	if (seen->list[number].ns < seen->stands_ns)
		return true;
	seen->any = seen->any == SIZE_MAX ? number : seen->any;
	if (frames_is_library(frame->file))
		return true;
	seen->own = number;
	return false;
}

static int by_time(const void *a, const void *b)
{
	const struct at_stack *one = a, *other = b;

	if (one->ns != other->ns)
		return one->ns > other->ns ? -1 : 1;
	return one->stack < other->stack ? -1 : one->stack > other->stack;
}

/* Of the stack that was met most, where one of its lines stands; else of the next one. */
static void choose(struct seen *seen, struct standing *standing, const struct request *request, size_t process)
{
	size_t chosen;

	seen->lines = python_lines_make();
	qsort(seen->stacks, seen->count, sizeof(*seen->stacks), by_time);
	for (seen->at = 0; seen->at < seen->count; seen->at++)
		frames_walk(request->frames, process, seen->stacks[seen->at].stack, count_line, seen);
	seen->stands_ns = standing->looked_ns - standing->looked_ns / STOOD_PARTS;
	seen->own = seen->any = SIZE_MAX;
	for (size_t i = 0; i < seen->count && seen->own == SIZE_MAX; i++)
		frames_search(request->frames, process, seen->stacks[i].stack, choose_line, seen);
	chosen = seen->own != SIZE_MAX ? seen->own : seen->any;
	if (chosen != SIZE_MAX) {
		standing->line = seen->lines.list[chosen];
		standing->is_own = seen->own != SIZE_MAX;
		standing->there_ns = seen->list[chosen].ns;
	}
	python_lines_free(&seen->lines);
}

bool standing_find(struct standing *standing, const struct request *request, const struct stretch *stretch, uint32_t thread)
{
	struct seen seen = {0};
	bool is_any;

	*standing = (struct standing){0};
	is_any = gather(&seen, standing, stretch, thread);
	if (seen.count)
		choose(&seen, standing, request, stretch->process);
	base_index_free(&seen.index);
	free(seen.stacks);
	free(seen.list);
	return is_any;
}

void standing_say(struct text *text, const struct standing *standing)
{
	python_line_place(text, &standing->line);
	text_format(text, " (%s)", standing->line.function);
}

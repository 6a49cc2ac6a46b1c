/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges; see reducer/model/ranges.h. */
#include "reducer/model/ranges.h"

#include "reducer/model/range_rows.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_PLACES 1024
#define FIRST_WIDE 256

int ranges_begin(struct ranges *ranges, size_t stacks)
{
	memset(ranges, 0, sizeof *ranges);
	ranges->stacks = calloc(stacks + 1, sizeof *ranges->stacks);
	ranges->stack_count = stacks;
	ranges->sums = calloc(FIRST_PLACES / 2, sizeof *ranges->sums);
	ranges->sum_room = FIRST_PLACES / 2;
	ranges->sum_count = 1;
	ranges->places = calloc(FIRST_PLACES, sizeof *ranges->places);
	ranges->place_count = FIRST_PLACES;
	ranges->wide = calloc(FIRST_WIDE, sizeof *ranges->wide);
	ranges->wide_room = FIRST_WIDE;
	if (ranges->stacks != NULL && ranges->sums != NULL && ranges->places != NULL && ranges->wide != NULL)
		return 0;
	ranges_free(ranges);
	return -1;
}

void ranges_free(struct ranges *ranges)
{
	for (size_t i = 0; ranges->stacks != NULL && i < ranges->stack_count; i++)
		free(ranges->stacks[i].open);
	free(ranges->stacks);
	free(ranges->sums);
	free(ranges->places);
	free(ranges->wide);
	memset(ranges, 0, sizeof *ranges);
}

static uint64_t mix(uint64_t value)
{
	value *= UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio: spreads runs of small numbers */
	return value ^ value >> 29;
}

static uint64_t place_of(uint64_t name, uint32_t domain, uint8_t source)
{
	return mix(name ^ mix(((uint64_t)domain << 8 | source) + 1));
}

static int is_sum(const struct range_sum *sum, uint64_t name, uint32_t domain, uint8_t source)
{
	return sum->name == name && sum->domain == domain && sum->source == source;
}

/* Twice the room for sums, and places for them. -1: no memory, all is as it was. */
static int grow_sums(struct ranges *ranges)
{
	size_t places = ranges->place_count * 2;
	uint32_t *wider = calloc(places, sizeof *wider);
	struct range_sum *sums = wider == NULL ? NULL : realloc(ranges->sums, ranges->sum_room * 2 * sizeof *sums);

	if (sums == NULL) {
		free(wider);
		return -1;
	}
	ranges->sums = sums;
	ranges->sum_room *= 2;
	for (uint32_t i = 1; i < ranges->sum_count; i++) {
		uint64_t at = place_of(sums[i].name, sums[i].domain, sums[i].source);
		while (wider[at % places] != 0)
			at++;
		wider[at % places] = i + 1;
	}
	free(ranges->places);
	ranges->places = wider;
	ranges->place_count = places;
	return 0;
}

uint32_t ranges_sum(struct ranges *ranges, uint64_t name, uint32_t domain, uint8_t source)
{
	uint64_t at = place_of(name, domain, source);

	for (;; at++) {
		uint32_t place = ranges->places[at % ranges->place_count];
		if (place == 0)
			break;
		if (is_sum(&ranges->sums[place - 1], name, domain, source))
			return place - 1;
	}
	if (ranges->sum_count >= RANGES_NAMES_MAX)
		return 0;
	if (ranges->sum_count == ranges->sum_room) {
		if (grow_sums(ranges) != 0) {
			ranges->is_short = 1;
			return 0;
		}
		for (at = place_of(name, domain, source); ranges->places[at % ranges->place_count] != 0; at++)
			;
	}
	ranges->sums[ranges->sum_count] = (struct range_sum){.name = name, .domain = domain, .source = source, .min = UINT64_MAX};
	ranges->places[at % ranges->place_count] = (uint32_t)ranges->sum_count + 1;
	return (uint32_t)ranges->sum_count++;
}

static void add_time(struct range_sum *sum, uint64_t time, int is_nested, int is_cut)
{
	sum->occurrences++;
	sum->nested += is_nested != 0;
	sum->cut += is_cut != 0;
	if (!is_nested)
		sum->total += time;
	if (!is_nested && !is_cut) {
		sum->whole++;
		sum->whole_total += time;
	}
	if (time < sum->min && !is_cut)
		sum->min = time;
	if (time > sum->max)
		sum->max = time;
}

static struct range_open *room_for(struct ranges *ranges, struct range_stack *stack)
{
	if (stack->count >= RANGES_DEPTH_MAX)
		return NULL;
	if (stack->count == stack->room) {
		size_t room = stack->room == 0 ? 16 : stack->room * 2;
		struct range_open *open = realloc(stack->open, room * sizeof *open);
		if (open == NULL) {
			ranges->is_short = 1;
			return NULL;
		}
		stack->open = open;
		stack->room = room;
	}
	return &stack->open[stack->count];
}

void ranges_push(struct ranges *ranges, size_t at, uint32_t sum, uint64_t time, uint32_t step)
{
	struct range_stack *stack = &ranges->stacks[at];
	struct range_open *open = stack->too_deep != 0 ? NULL : room_for(ranges, stack);

	if (open == NULL) {
		stack->too_deep++;
		ranges->too_deep++;
		return;
	}
	*open = (struct range_open){.sum = sum, .step = step, .begin = time, .counted_from = time};
	stack->count++;
	ranges->sums[sum].open++;
	ranges->changes++;
}

/* Takes the range at place `i` off its stack: sums, and what lies below and above it. */
static void finish(struct ranges *ranges, struct range_stack *stack, size_t i, uint64_t time, int is_cut)
{
	struct range_open *open = &stack->open[i];
	struct range_sum *sum = &ranges->sums[open->sum];
	uint64_t end = time > open->begin ? time : open->begin, took = end - open->begin;
	int is_nested = 0;

	if (i + 1 < stack->count && open[1].counted_from < end) { /* a later one goes on: it was inside until now */
		open->inside += end - open[1].counted_from;
		open[1].counted_from = end;
	}
	if (i > 0 && open->counted_from < end)
		open[-1].inside += end - open->counted_from;
	sum->open--;
	for (size_t below = sum->open == 0 ? 0 : i; below > 0 && !is_nested; below--)
		is_nested = stack->open[below - 1].sum == open->sum;
	add_time(sum, took, is_nested, is_cut);
	sum->self += took > open->inside ? took - open->inside : 0;
	memmove(open, open + 1, (stack->count - i - 1) * sizeof *open);
	stack->count--;
	ranges->changes++;
}

uint32_t ranges_pop(struct ranges *ranges, size_t at, uint32_t domain, uint8_t source, uint64_t time)
{
	struct range_stack *stack = &ranges->stacks[at];

	if (stack->too_deep != 0) { /* the ends of those come first */
		stack->too_deep--;
		return 0;
	}
	for (size_t i = stack->count; i > 0; i--) {
		const struct range_sum *sum = &ranges->sums[stack->open[i - 1].sum];
		if (stack->open[i - 1].sum != 0 && (sum->domain != domain || sum->source != source))
			continue;
		uint32_t step = stack->open[i - 1].step;
		ranges->crossed += i < stack->count;
		finish(ranges, stack, i - 1, time, 0);
		return step;
	}
	ranges->unbegun++;
	return 0;
}

static struct range_wide *find_wide(struct range_wide *wide, size_t room, uint64_t id)
{
	uint64_t at = mix(id);

	while (wide[at % room].id != 0 && wide[at % room].id != id)
		at++;
	return &wide[at % room];
}

/* Takes an entry out of the table, and moves up those behind it that would no longer be found. */
static void remove_wide(struct ranges *ranges, struct range_wide *entry)
{
	size_t room = ranges->wide_room, hole = (size_t)(entry - ranges->wide);

	ranges->wide_count--;
	ranges->wide[hole].id = 0;
	for (size_t at = (hole + 1) % room; ranges->wide[at].id != 0; at = (at + 1) % room) {
		struct range_wide moved = ranges->wide[at];
		ranges->wide[at].id = 0;
		*find_wide(ranges->wide, room, moved.id) = moved;
	}
}

static int grow_wide(struct ranges *ranges)
{
	size_t room = ranges->wide_room * 2;
	struct range_wide *wider = calloc(room, sizeof *wider);

	if (wider == NULL)
		return -1;
	for (size_t i = 0; i < ranges->wide_room; i++)
		if (ranges->wide[i].id != 0)
			*find_wide(wider, room, ranges->wide[i].id) = ranges->wide[i];
	free(ranges->wide);
	ranges->wide = wider;
	ranges->wide_room = room;
	return 0;
}

void ranges_start(struct ranges *ranges, uint64_t id, uint32_t sum, uint32_t thread, uint64_t time)
{
	if (id == 0 || ranges->wide_count >= RANGES_OPEN_MAX ||
	    (ranges->wide_count * 2 >= ranges->wide_room && grow_wide(ranges) != 0)) {
		ranges->too_many++;
		return;
	}
	struct range_wide *entry = find_wide(ranges->wide, ranges->wide_room, id);
	ranges->wide_count += entry->id == 0;
	*entry = (struct range_wide){.id = id, .begin = time, .sum = sum, .thread = thread};
}

static void finish_wide(struct ranges *ranges, const struct range_wide *entry, uint64_t time, int is_cut)
{
	struct range_sum *sum = &ranges->sums[entry->sum];

	add_time(sum, time > entry->begin ? time - entry->begin : 0, 0, is_cut);
	sum->process_wide++;
}

void ranges_end(struct ranges *ranges, uint64_t id, uint32_t thread, uint64_t time)
{
	struct range_wide *entry = id == 0 ? NULL : find_wide(ranges->wide, ranges->wide_room, id);

	if (entry == NULL || entry->id == 0) {
		ranges->unbegun++;
		return;
	}
	finish_wide(ranges, entry, time, 0);
	ranges->sums[entry->sum].elsewhere += entry->thread != thread;
	remove_wide(ranges, entry);
}

void ranges_cut(struct ranges *ranges, uint64_t time)
{
	for (size_t i = 0; i < ranges->stack_count; i++) {
		while (ranges->stacks[i].count > 0)
			finish(ranges, &ranges->stacks[i], ranges->stacks[i].count - 1, time, 1);
		ranges->stacks[i].too_deep = 0;
	}
	for (size_t i = 0; i < ranges->wide_room; i++)
		if (ranges->wide[i].id != 0) {
			finish_wide(ranges, &ranges->wide[i], time, 1);
			ranges->wide[i].id = 0;
		}
	ranges->wide_count = 0;
}

uint32_t ranges_top(const struct ranges *ranges, size_t at, uint64_t *begin)
{
	const struct range_stack *stack = &ranges->stacks[at];

	*begin = stack->count == 0 ? 0 : stack->open[stack->count - 1].begin;
	return stack->count == 0 ? 0 : stack->open[stack->count - 1].sum;
}

bool range_source_infers(unsigned source)
{
	return source == STEP_BY_PERIOD || source == SOURCE_repeats;
}

const char *range_source_name(unsigned source)
{
	static const char *const names[] = {
#define TFP_RANGE_SOURCE(number, name, trust, help) [number] = #name,
#include "collectors/tables/range_sources.def"
#undef TFP_RANGE_SOURCE
	};

	if (source == STEP_BY_PERIOD)
		return "period";
	return source < sizeof names / sizeof *names && names[source] ? names[source] : "a later source";
}

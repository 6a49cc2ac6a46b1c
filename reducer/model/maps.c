/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of mapped address space in a sorted array. See maps.h. */
#include "reducer/model/maps.h"

#include <stdlib.h>
#include <string.h>

void maps_begin(struct maps *maps)
{
	*maps = (struct maps){0};
	tally_begin(&maps->tally, 1);
}

void maps_free(struct maps *maps)
{
	free(maps->ranges);
	tally_free(&maps->tally);
}

/* Index of the first range that ends behind `address`. */
static size_t first_behind(const struct maps *maps, uint64_t address)
{
	size_t low = 0, high = maps->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (maps->ranges[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static int insert(struct maps *maps, size_t at, struct map_range range)
{
	if (maps->count == maps->capacity) {
		size_t capacity = maps->capacity == 0 ? 64 : maps->capacity * 2;
		struct map_range *ranges = capacity > MAPS_MAX ? NULL : realloc(maps->ranges, capacity * sizeof *ranges);

		if (ranges == NULL) {
			maps->tally.is_out_of_memory = 1;
			return -1;
		}
		maps->ranges = ranges;
		maps->capacity = capacity;
	}
	memmove(&maps->ranges[at + 1], &maps->ranges[at], (maps->count - at) * sizeof *maps->ranges);
	maps->ranges[at] = range;
	maps->count++;
	return 0;
}

static void take(struct maps *maps, const struct map_range *of, uint64_t bytes, uint64_t blocks, uint64_t time)
{
	struct amount amount = {.blocks = blocks, .bytes = bytes, .requested = bytes};

	if (of->is_no_access)
		maps->no_access -= bytes;
	else
		tally_take(&maps->tally, of->stack, time, &amount);
}

/* Takes [start, end) out of range `at`. Returns the index to go on from. */
static size_t cut(struct maps *maps, size_t at, uint64_t start, uint64_t end, uint64_t time)
{
	struct map_range *range = &maps->ranges[at], old = *range;
	uint64_t from = start > old.start ? start : old.start, to = end < old.end ? end : old.end;

	if (from > old.start && to < old.end) {
		/* A hole in the middle makes two of it: one block more. */
		struct map_range rest = old;

		rest.start = to;
		if (insert(maps, at + 1, rest) == 0) {
			maps->ranges[at].end = from;
			take(maps, &old, to - from, UINT64_MAX, time);
		}
		return at + 2;
	}
	if (from > old.start) {
		range->end = from;
		take(maps, &old, to - from, 0, time);
		return at + 1;
	}
	if (to < old.end) {
		range->start = to;
		take(maps, &old, to - from, 0, time);
		return at + 1;
	}
	memmove(range, range + 1, (maps->count - at - 1) * sizeof *range);
	maps->count--;
	take(maps, &old, to - from, 1, time);
	return at;
}

/* Takes [start, end) out of whatever is mapped there. Returns whether anything was. */
static int clear(struct maps *maps, uint64_t start, uint64_t end, uint64_t time)
{
	size_t at = first_behind(maps, start);
	int is_known = at < maps->count && maps->ranges[at].start < end;

	while (at < maps->count && maps->ranges[at].start < end)
		at = cut(maps, at, start, end, time);
	return is_known;
}

/* Whether there is such a range now, with nothing else in its place. */
static int place(struct maps *maps, const struct map_range *range, uint64_t bytes, uint64_t time)
{
	if (bytes == 0 || bytes > UINT64_MAX - range->start)
		return 0;
	clear(maps, range->start, range->end, time);
	return insert(maps, first_behind(maps, range->start), *range) == 0;
}

void maps_map(struct maps *maps, uint64_t start, uint64_t bytes, uint32_t stack, uint64_t time)
{
	struct amount amount = {.blocks = 1, .bytes = bytes, .requested = bytes};

	if (place(maps, &(struct map_range){.start = start, .end = start + bytes, .stack = stack}, bytes, time))
		tally_add(&maps->tally, stack, time, &amount);
}

void maps_map_no_access(struct maps *maps, uint64_t start, uint64_t bytes, uint32_t stack, uint64_t time)
{
	struct amount amount = {.blocks = 1, .bytes = bytes, .requested = bytes};

	if (!place(maps, &(struct map_range){.start = start, .end = start + bytes, .stack = stack, .is_no_access = 1}, bytes, time))
		return;
	tally_pass(&maps->tally, stack, &amount);
	maps->no_access += bytes;
	if (maps->no_access > maps->no_access_peak)
		maps->no_access_peak = maps->no_access;
}

void maps_unmap(struct maps *maps, uint64_t start, uint64_t bytes, uint64_t time)
{
	maps->unmaps++;
	maps->unmapped_bytes += bytes;
	if (bytes == 0 || bytes > UINT64_MAX - start || !clear(maps, start, start + bytes, time))
		maps->unknown_unmaps++;
}

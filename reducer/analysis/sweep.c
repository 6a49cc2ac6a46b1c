/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep over intervals; see reducer/analysis/sweep.h. */
#include "reducer/analysis/sweep.h"

#include <stdlib.h>
#include <string.h>

#define MOVES_MOST 16 /* places that an interval is moved, before it begins a run of its own */

void sweep_add(struct sweep *sweep, int64_t start_ns, int64_t end_ns, uint32_t mask)
{
	int64_t start = start_ns;

	if (start < sweep->told_ns) {
		int64_t before = end_ns < sweep->told_ns ? end_ns : sweep->told_ns;
		sweep->late_ns += before > start ? (uint64_t)(before - start) : 0;
		start = sweep->told_ns;
	}
	if (start >= end_ns || !mask)
		return;
	/* Most follow the one before: equal classes that touch are one interval. */
	if (sweep->count) {
		struct sweep_interval *last = &sweep->items[sweep->count - 1];
		if (last->mask == mask && start >= last->start_ns && start <= last->end_ns) {
			last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
			return;
		}
	}
	sweep->items = base_grow(sweep->items, &sweep->room, sweep->count + 1, sizeof(*sweep->items));
	sweep->items[sweep->count++] = (struct sweep_interval){start, end_ns, mask};
}

/* Puts item `i` into the sorted run that begins at `from` and ends before it. False when its place is too far away. */
static bool insert(struct sweep_interval *items, size_t from, size_t i)
{
	struct sweep_interval one = items[i];
	size_t least = i - from > MOVES_MOST ? i - MOVES_MOST : from, at = i;

	while (at > least && items[at - 1].start_ns > one.start_ns)
		at--;
	if (at == least && at > from && items[at - 1].start_ns > one.start_ns)
		return false;
	memmove(items + at + 1, items + at, (i - at) * sizeof(*items));
	items[at] = one;
	return true;
}

/* Two neighbouring runs, from .. middle and middle .. to, into one. */
static void merge(struct sweep_interval *out, const struct sweep_interval *items, size_t from, size_t middle, size_t to)
{
	size_t left = from, right = middle;

	for (size_t i = from; i < to; i++) {
		bool is_left = left < middle && (right == to || items[left].start_ns <= items[right].start_ns);
		out[i] = is_left ? items[left++] : items[right++];
	}
}

/*
 * By start. Work of one kind comes nearly in order, and device work in long pieces behind its calls: sorted runs are found,
 * small disorder mended on the way, and neighbours merged until one is left.
 */
static void sort(struct sweep_interval *items, size_t count)
{
	size_t *runs = NULL, run_count = 1, room = 0;
	struct sweep_interval *other;

	runs = base_grow(runs, &room, 2, sizeof(*runs));
	runs[0] = 0;
	for (size_t i = 1; i < count; i++) {
		if (insert(items, runs[run_count - 1], i))
			continue;
		runs = base_grow(runs, &room, run_count + 2, sizeof(*runs));
		runs[run_count++] = i;
	}
	runs[run_count] = count;
	other = run_count > 1 ? base_alloc(count, sizeof(*other)) : NULL;
	while (run_count > 1) {
		size_t kept = 0;
		for (size_t i = 0; i < run_count; i += 2) {
			size_t middle = runs[i + 1], to = i + 1 < run_count ? runs[i + 2] : middle;
			merge(other, items, runs[i], middle, to);
			runs[kept++] = runs[i];
		}
		runs[kept] = count;
		run_count = kept;
		memcpy(items, other, count * sizeof(*items));
	}
	free(other);
	free(runs);
}

int64_t sweep_middle(struct sweep *sweep)
{
	if (!sweep->count)
		return sweep->told_ns;
	sort(sweep->items, sweep->count);
	return sweep->items[sweep->count / 2].start_ns;
}

/* What begins before `until_ns`, cut there, goes to `begins`, and with its end in the place of its start to `ends`; the rest
 * stays. Returns their number. */
static size_t take_intervals(struct sweep *sweep, int64_t until_ns, struct sweep_interval *begins, struct sweep_interval *ends)
{
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < sweep->count; i++) {
		struct sweep_interval one = sweep->items[i];
		if (one.start_ns < until_ns) {
			begins[count] = one;
			ends[count++].start_ns = one.end_ns < until_ns ? one.end_ns : until_ns;
			ends[count - 1].mask = one.mask;
			one.start_ns = until_ns;
		}
		if (one.end_ns > one.start_ns)
			sweep->items[kept++] = one;
	}
	sweep->count = kept;
	return count;
}

/* One more, or with `step` -1 one less, of each class of the mask is active. Returns the classes that are. */
static uint32_t count_edge(uint32_t *active, uint32_t now, uint32_t mask, int step)
{
	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned class = (unsigned)__builtin_ctz(left);
		active[class] += (uint32_t)step;
		now = active[class] ? now | UINT32_C(1) << class : now & ~(UINT32_C(1) << class);
	}
	return now;
}

void sweep_flush(struct sweep *sweep, int64_t until_ns, sweep_tell *tell, void *context)
{
	uint32_t active[SWEEP_CLASSES] = {0}, mask = 0;
	struct sweep_interval *begins = base_alloc(sweep->count * 2 + 1, sizeof(*begins)), *ends = begins + sweep->count;
	size_t count = take_intervals(sweep, until_ns, begins, ends), begun = 0;
	int64_t last = INT64_MIN;

	sort(begins, count);
	sort(ends, count);
	for (size_t ended = 0; ended < count;) {
		bool is_begin = begun < count && begins[begun].start_ns <= ends[ended].start_ns;
		const struct sweep_interval *edge = is_begin ? &begins[begun++] : &ends[ended++];
		if (mask && edge->start_ns > last)
			tell(context, last, edge->start_ns, mask);
		last = edge->start_ns;
		mask = count_edge(active, mask, edge->mask, is_begin ? 1 : -1);
	}
	free(begins);
	if (until_ns > sweep->told_ns)
		sweep->told_ns = until_ns;
}

void sweep_free(struct sweep *sweep)
{
	free(sweep->items);
	*sweep = (struct sweep){.told_ns = INT64_MIN};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep over intervals; see reducer/analysis/sweep.h. */
#include "reducer/analysis/sweep.h"

#include <stdlib.h>

struct edge {
	int64_t time_ns;
	uint32_t mask;
	int32_t step; /* 1 begins, -1 ends */
};

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

static int compare_edges(const void *a, const void *b)
{
	const struct edge *one = a, *other = b;

	return one->time_ns < other->time_ns ? -1 : one->time_ns > other->time_ns;
}

static int compare_starts(const void *a, const void *b)
{
	const struct sweep_interval *one = a, *other = b;

	return one->start_ns < other->start_ns ? -1 : one->start_ns > other->start_ns;
}

int64_t sweep_middle(struct sweep *sweep)
{
	if (!sweep->count)
		return sweep->told_ns;
	qsort(sweep->items, sweep->count, sizeof(*sweep->items), compare_starts);
	return sweep->items[sweep->count / 2].start_ns;
}

/* The edges of what begins before `until_ns`, cut there; the rest stays. Returns their number. */
static size_t take_edges(struct sweep *sweep, int64_t until_ns, struct edge *edges)
{
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < sweep->count; i++) {
		struct sweep_interval one = sweep->items[i];
		if (one.start_ns < until_ns) {
			edges[count++] = (struct edge){one.start_ns, one.mask, 1};
			edges[count++] = (struct edge){one.end_ns < until_ns ? one.end_ns : until_ns, one.mask, -1};
			one.start_ns = until_ns;
		}
		if (one.end_ns > until_ns)
			sweep->items[kept++] = one;
	}
	sweep->count = kept;
	return count;
}

static uint32_t count_edge(uint32_t *active, uint32_t mask, const struct edge *edge)
{
	uint32_t now = mask;

	for (uint32_t left = edge->mask; left; left &= left - 1) {
		unsigned class = (unsigned)__builtin_ctz(left);
		active[class] += (uint32_t)edge->step;
		now = active[class] ? now | UINT32_C(1) << class : now & ~(UINT32_C(1) << class);
	}
	return now;
}

void sweep_flush(struct sweep *sweep, int64_t until_ns, sweep_tell *tell, void *context)
{
	uint32_t active[SWEEP_CLASSES] = {0}, mask = 0;
	struct edge *edges = base_alloc(sweep->count * 2 + 1, sizeof(*edges));
	size_t count = take_edges(sweep, until_ns, edges);

	qsort(edges, count, sizeof(*edges), compare_edges);
	for (size_t i = 0; i < count; i++) {
		if (i && mask && edges[i].time_ns > edges[i - 1].time_ns)
			tell(context, edges[i - 1].time_ns, edges[i].time_ns, mask);
		mask = count_edge(active, mask, &edges[i]);
	}
	free(edges);
	if (until_ns > sweep->told_ns)
		sweep->told_ns = until_ns;
}

void sweep_free(struct sweep *sweep)
{
	free(sweep->items);
	*sweep = (struct sweep){.told_ns = INT64_MIN};
}

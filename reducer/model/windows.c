/* SPDX-License-Identifier: Apache-2.0 */
/* Where a process was recorded; see reducer/model/windows.h. */
#include "reducer/model/windows.h"

#include "reducer/base/base.h"
#include "reducer/model/internal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Ranges follow each other. */
static bool ends_before(const void *ranges, size_t i, uint64_t time_ns)
{
	return ((const struct window_range *)ranges)[i].to_ns <= (int64_t)time_ns;
}

/* The first one that ends behind that time. */
static size_t range_behind(const struct process *process, int64_t time_ns)
{
	return base_count_before(process->ranges, process->range_count, (uint64_t)time_ns, ends_before);
}

static int is_within(const struct process *process, int64_t time_ns)
{
	size_t i = range_behind(process, time_ns);

	return i < process->range_count && time_ns >= process->ranges[i].from_ns;
}

/* FULL=wrap gave up the oldest records, and edges of a list's windows may be among them. */
static bool may_lack_edges(const struct process *process)
{
	const char *window = process_setting(process, "WINDOW");

	return process->log->live.given_up_bytes && *window && strcmp(window, "all") != 0;
}

/*
 * Nobody writes an edge where recording begins with the process, as by default. A child of fork goes on as its parent was, whatever
 * the setting says, and its log says which (older ones do not: its parent may have changed before the child's log began); a program that
 * was started anew knows nothing of windows that were opened or closed by hand elsewhere.
 */
static int is_open_at_start(const struct run *run, const struct process *process)
{
	const char *window = process_setting(process, "WINDOW");

	if (process->window_count > 0)
		return !process->windows[0].is_open;
	if (may_lack_edges(process)) /* as at the end; MALLOC=totals and off do not tell: nothing is claimed */
		return process->mode > TFP_MODE_TOTALS;
	if (process->window_start != WINDOW_UNSAID)
		return process->window_start == WINDOW_OPEN;
	if (process->is_fork && process->parent != PROCESS_NONE)
		return is_within(&run->processes[process->parent], process->start_ns);
	return *window == 0 || strcmp(window, "all") == 0;
}

static void add_range(struct process *process, int64_t from_ns, int64_t to_ns)
{
	struct window_range *ranges = model_room(process->ranges, process->range_count, sizeof *ranges);

	if (ranges == NULL)
		return;
	process->ranges = ranges;
	ranges[process->range_count++] = (struct window_range){from_ns, to_ns};
}

#define EDGES_TOGETHER 16 /* that are put in order at once: stamps of more threads than that are never so late */

/*
 * How many edges from `i` on, which repeats the one before it, are as many of one kind as of the other, with one behind them that repeats
 * as well, of the other kind; 0 = none: one of them is not in the log.
 */
static size_t edges_together(const struct process *process, size_t i)
{
	const struct window *edges = process->windows;
	int is_open = edges[i].is_open, more = 0;

	for (size_t count = 1; count <= EDGES_TOGETHER && i + count < process->window_count; count++) {
		more += edges[i + count - 1].is_open == is_open ? 1 : -1;
		if (more == 0 && edges[i + count].is_open != is_open)
			return count;
	}
	return 0;
}

/* Of a log that numbers no edges: what lies close together and is open, open, close, close is open, close, open, close. */
static void guess_order(struct process *process)
{
	struct window *edges = process->windows, together[EDGES_TOGETHER];

	for (size_t i = 1, count; i < process->window_count; i += count ? count : 1) {
		count = edges[i].is_open == edges[i - 1].is_open ? edges_together(process, i) : 0;
		size_t next[2] = {1, 0}; /* of those that close, that open, or the other way round: where the next one goes */
		for (size_t k = 0; k < count; k++) {
			size_t *place = &next[edges[i + k].is_open != edges[i].is_open];
			together[*place] = edges[i + k];
			*place += 2;
		}
		for (size_t k = 0; k < count; k++) {
			together[k].time_ns = edges[i + k].time_ns;
			edges[i + k] = together[k];
		}
	}
}

static int by_number(const void *one, const void *other)
{
	const struct window *first = one, *second = other;

	return first->number < second->number ? -1 : first->number > second->number;
}

static bool are_numbered(const struct process *process)
{
	size_t i = 0;

	while (i < process->window_count && process->windows[i].number)
		i++;
	return i > 0 && i == process->window_count;
}

/*
 * An edge is stamped after it was made, so another thread's next one may bear an earlier time. Such edges change places; the times stay
 * where they are.
 */
static void settle_edges(struct process *process)
{
	struct window *edges = process->windows;
	int64_t *times;

	if (!are_numbered(process)) {
		guess_order(process);
		return;
	}
	times = base_alloc(process->window_count, sizeof *times);
	for (size_t i = 0; i < process->window_count; i++)
		times[i] = edges[i].time_ns;
	qsort(edges, process->window_count, sizeof *edges, by_number);
	for (size_t i = 0; i < process->window_count; i++)
		edges[i].time_ns = times[i];
	free(times);
}

void windows_make_ranges(const struct run *run, struct process *process)
{
	int64_t from_ns = INT64_MIN; /* what a process did before its own clock began is its own all the same */
	int is_open;

	settle_edges(process);
	is_open = is_open_at_start(run, process);
	for (size_t i = 0; i < process->window_count; i++) {
		const struct window *edge = &process->windows[i];

		if (!edge->is_open && is_open)
			add_range(process, from_ns, edge->time_ns);
		if (edge->is_open && !is_open)
			from_ns = edge->time_ns;
		is_open = edge->is_open;
	}
	if (is_open)
		add_range(process, from_ns, INT64_MAX);
}

int64_t windows_recorded_ns(const struct process *process, int64_t from_ns, int64_t to_ns)
{
	int64_t sum = 0;

	for (size_t i = range_behind(process, from_ns); i < process->range_count && process->ranges[i].from_ns < to_ns; i++) {
		const struct window_range *range = &process->ranges[i];
		int64_t from = range->from_ns > from_ns ? range->from_ns : from_ns;
		int64_t to = range->to_ns < to_ns ? range->to_ns : to_ns;
		sum += to > from ? to - from : 0;
	}
	return sum;
}

bool windows_hold_all(const struct process *process)
{
	for (size_t i = 0; i < process->window_count; i++)
		if (!process->windows[i].is_open || process->windows[i].cause != WINDOW_BY_START)
			return false;
	return process->range_count == 1 && !may_lack_edges(process);
}

static bool is_edge_before(const void *windows, size_t i, uint64_t time)
{
	return ((const struct window *)windows)[i].time_ns < (int64_t)time;
}

size_t windows_edge_at(const struct process *process, int64_t time)
{
	return base_count_before(process->windows, process->window_count, (uint64_t)time, is_edge_before);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window_cost: by how much capture windows made the steps longer that they held.
 *
 * Rule: an inference from the steps' own times. Each window gives one ratio, the median of its steps by the median of as many before
 * and behind it, so that a program that grows slower counts nowhere; the cost is the median of these ratios, and its bounds are those
 * that a sign test at 5 % would just not reject (Thompson, "On confidence ranges for the median", 1936). Nothing is said of fewer than
 * six windows, which no such test tells apart. Steps next to a window's edge may lie in it in part, and count on neither side. Windows of
 * several threads or ranks that are open at once are one: what happens to be slow there is slow for all of them.
 */
#include "reducer/tables/window_cost.h"

#include "reducer/model/windows.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"
#include "reducer/tables/step_values.h"

#include <math.h>
#include <stdlib.h>

enum { PROCESS, WINDOWS, INSIDE, OUTSIDE, INSIDE_STEP, OUTSIDE_STEP, COST, COST_NS, LOW, HIGH, OF_ALL, MACHINE, MEMBER, COLUMNS };
static const struct table_column columns[] = {
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 0, "pid as the process saw it"},
	[WINDOWS] = {"windows", "windows", TABLE_INTEGER, UNIT_COUNT, 0,
		     "that hold whole steps, with steps outside beside them; those of several threads at once are one"},
	[INSIDE] = {"inside_steps", "inside", TABLE_INTEGER, UNIT_COUNT, 1, "steps in these"},
	[OUTSIDE] = {"outside_steps", "outside", TABLE_INTEGER, UNIT_COUNT, 1, "steps before and behind that they are compared with"},
	[INSIDE_STEP] = {"inside_p50_ns", "step inside", TABLE_INTEGER, UNIT_NS, 0, "median of the windows' medians"},
	[OUTSIDE_STEP] = {"outside_p50_ns", "outside", TABLE_INTEGER, UNIT_NS, 0, "the same of the steps around each"},
	[COST] = {"cost", "longer by", TABLE_REAL, UNIT_RATIO, 0,
		  "median over windows of inside by outside, less 1: 0.05 = 5 % longer; empty = too few windows"},
	[COST_NS] = {"cost_ns", "or", TABLE_INTEGER, UNIT_NS, 0, "cost times outside_p50_ns"},
	[LOW] = {"cost_low", "at least", TABLE_REAL, UNIT_RATIO, 0, "lower bound, wrong at most once in 40 times"},
	[HIGH] = {"cost_high", "at most", TABLE_REAL, UNIT_RATIO, 0, "upper bound, likewise"},
	[OF_ALL] = {"all_cost", "of all", TABLE_REAL, UNIT_RATIO, 0,
		    "cost_ns times the steps that were recorded, of one in part that part, by the time of all: 0.01 = 1 % of it; to open "
		    "and close is not in it"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

#define WINDOWS_LEAST 6	 /* 2 of 2^6 orders of signs are one-sided: 3 % */
#define WINDOWS_EXACT 100 /* more: the normal distribution is near enough */
#define MISS 0.025	 /* of each bound */
#define DEVIATIONS 1.96	 /* that so many of normal values lie beyond */

/* A window, with the step at each of its edges. */
struct opened {
	int64_t from_ns, to_ns;
	double ratio;
};

struct cost {
	struct opened *windows; /* sorted when summed up, as these: */
	double *inside, *outside;
	size_t count, room, inside_steps, outside_steps;
	double recorded_steps; /* of those recorded in part that part */
	uint64_t all_ns;       /* of all steps */
	double *times; /* scratch: of some steps */
	size_t time_count, time_room;
};

static void cost_free(struct cost *cost)
{
	free(cost->windows);
	free(cost->inside);
	free(cost->outside);
	free(cost->times);
}

/* The thread's rows from `first` to before `end`. */
struct stretch {
	const struct step_rows *rows;
	size_t first, end;
};

static bool is_inside(const struct stretch *stretch, size_t i)
{
	return i >= stretch->first && i < stretch->end && step_rows_judges(stretch->rows, i);
}

static bool is_outside(const struct stretch *stretch, size_t i)
{
	if (i < stretch->first || i >= stretch->end)
		return false;
	const struct step_row *row = stretch->rows->items[i];
	return row->is_unrecorded && !row->unit.is_cut && !row->is_evaluation && !stretch->rows->is_first[i] && row->total_ns;
}

static void take_time(struct cost *cost, const struct stretch *stretch, size_t i)
{
	cost->times = base_grow(cost->times, &cost->time_room, cost->time_count + 1, sizeof(*cost->times));
	cost->times[cost->time_count++] = (double)stretch->rows->items[i]->total_ns;
}

/* Outside ones from `i` on, `step` 1 or -1 further each, the one at the window's edge left out, until there are `most` or another comes. */
static void take_beside(struct cost *cost, const struct stretch *stretch, size_t i, int step, size_t most)
{
	for (i += (size_t)step; most && is_outside(stretch, i); i += (size_t)step, most--)
		take_time(cost, stretch, i);
}

static struct opened opened_at(const struct stretch *stretch, size_t first, size_t end, double ratio)
{
	const struct step_row *before = stretch->rows->items[first > stretch->first ? first - 1 : first];
	const struct step_row *behind = stretch->rows->items[end < stretch->end ? end : end - 1];

	return (struct opened){before->start_ns, behind->start_ns + (int64_t)behind->total_ns, ratio};
}

/* The steps from `first` to before `end` are those of one window. */
static void add_window(struct cost *cost, const struct stretch *stretch, size_t first, size_t end)
{
	double inside, outside;

	cost->time_count = 0;
	for (size_t i = first; i < end; i++)
		take_time(cost, stretch, i);
	inside = base_median(cost->times, cost->time_count);
	cost->time_count = 0;
	take_beside(cost, stretch, first - 1, -1, end - first);
	take_beside(cost, stretch, end, 1, end - first);
	outside = base_median(cost->times, cost->time_count);
	if (inside <= 0 || outside <= 0)
		return;
	size_t room = cost->room;
	cost->inside = base_grow(cost->inside, &room, cost->count + 1, sizeof(*cost->inside));
	room = cost->room;
	cost->outside = base_grow(cost->outside, &room, cost->count + 1, sizeof(*cost->outside));
	cost->windows = base_grow(cost->windows, &cost->room, cost->count + 1, sizeof(*cost->windows));
	cost->inside[cost->count] = inside;
	cost->outside[cost->count] = outside;
	cost->windows[cost->count++] = opened_at(stretch, first, end, inside / outside);
	cost->inside_steps += end - first;
	cost->outside_steps += cost->time_count;
}

static void add_thread(struct cost *cost, const struct stretch *stretch)
{
	for (size_t i = stretch->first, end; i < stretch->end; i = end) {
		for (end = i; is_inside(stretch, end);)
			end++;
		if (end == i)
			end++;
		else
			add_window(cost, stretch, i, end);
	}
}

static void add_process(struct cost *cost, const struct process *process, const struct step_rows *rows, size_t first, size_t end)
{
	struct stretch stretch = {rows, first, first};

	for (size_t i = first; i < end; i++) {
		const struct step_row *row = rows->items[i];
		int64_t end_ns = row->start_ns + (int64_t)row->total_ns;
		if (row->unit.is_cut || !row->total_ns)
			continue;
		cost->recorded_steps += (double)windows_recorded_ns(process, row->start_ns, end_ns) / (double)row->total_ns;
		cost->all_ns += row->total_ns;
	}
	for (; stretch.first < end; stretch.first = stretch.end) {
		uint32_t thread = rows->items[stretch.first]->unit.thread;
		while (stretch.end < end && rows->items[stretch.end]->unit.thread == thread)
			stretch.end++;
		add_thread(cost, &stretch);
	}
}

/* How many of the least ratios lie below the lower bound, and of the largest above the upper one, at most. */
static size_t depth_of(size_t count)
{
	double all = pow(2, (double)count), orders = 1, sum = 0;
	size_t depth = 0;

	if (count > WINDOWS_EXACT)
		return (size_t)((double)count / 2 - DEVIATIONS * sqrt((double)count) / 2);
	for (; (sum + orders) / all <= MISS; depth++) { /* `orders`: of signs with `depth` of one kind */
		sum += orders;
		orders = orders * (double)(count - depth) / (double)(depth + 1);
	}
	return depth;
}

static int by_time(const void *a, const void *b)
{
	const struct opened *one = a, *other = b;

	return one->from_ns < other->from_ns ? -1 : one->from_ns > other->from_ns;
}

/* The ratios in order, one of those that were open at once: their median. Returns how many. */
static size_t join_ratios(struct cost *cost, double *ratios)
{
	size_t count = 0;

	if (cost->count)
		qsort(cost->windows, cost->count, sizeof(*cost->windows), by_time);
	for (size_t i = 0, next; i < cost->count; i = next) {
		double *joined = &ratios[count++]; /* what is joined is read before its place is written again */
		int64_t to_ns = cost->windows[i].to_ns;
		for (next = i; next < cost->count && (next == i || cost->windows[next].from_ns < to_ns); next++) {
			joined[next - i] = cost->windows[next].ratio;
			to_ns = cost->windows[next].to_ns > to_ns ? cost->windows[next].to_ns : to_ns;
		}
		*joined = base_median(joined, next - i);
	}
	return count;
}

struct summed {
	bool is_bound;
	size_t windows;
	double cost, low, high; /* 0.05: 5 % longer */
	double inside_ns, outside_ns;
	double all_cost; /* of the time of all steps */
};

static struct summed sum_up(struct cost *cost)
{
	double *ratios = base_alloc(cost->count + 1, sizeof(*ratios));
	size_t count = join_ratios(cost, ratios), depth = count >= WINDOWS_LEAST ? depth_of(count) : 0;
	struct summed summed = {.is_bound = depth > 0, .windows = count, .cost = base_median(ratios, count) - 1};

	summed.inside_ns = base_median(cost->inside, cost->count);
	summed.outside_ns = base_median(cost->outside, cost->count);
	if (cost->all_ns)
		summed.all_cost = summed.cost * summed.outside_ns * cost->recorded_steps / (double)cost->all_ns;
	if (depth) {
		summed.low = ratios[depth - 1] - 1;
		summed.high = ratios[count - depth] - 1;
	}
	free(ratios);
	return summed;
}

static void put_process(struct table *table, const struct process *process, struct cost *cost)
{
	struct summed summed = sum_up(cost);

	table_row(table);
	table_process(table, PROCESS, MACHINE, process);
	table_integer(table, WINDOWS, (int64_t)summed.windows);
	table_integer(table, INSIDE, (int64_t)cost->inside_steps);
	table_integer(table, OUTSIDE, (int64_t)cost->outside_steps);
	table_integer(table, INSIDE_STEP, llround(summed.inside_ns));
	table_integer(table, OUTSIDE_STEP, llround(summed.outside_ns));
	if (!summed.is_bound) {
		table_note(table, NOTE_INFO, "Process %s: what differs over fewer than six windows may be chance.", process->called);
		return;
	}
	table_real(table, COST, summed.cost);
	table_integer(table, COST_NS, llround(summed.cost * summed.outside_ns));
	table_real(table, LOW, summed.low);
	table_real(table, HIGH, summed.high);
	table_real(table, OF_ALL, summed.all_cost);
}

#define BOTH "what the library does outside of windows as well is in both"

/* Most runs have none, and their steps need not be gone through. */
static bool has_windows(const struct request *request)
{
	for (size_t p = 0; p < request->run->process_count; p++)
		if (request->run->processes[p].window_count)
			return true;
	return false;
}

void window_cost_note(struct table *table, const struct request *request)
{
	struct step_rows rows;
	struct cost cost = {0};

	if (!has_windows(request))
		return;
	step_rows_find(&rows, request);
	for (size_t p = 0, end, first; p < request->run->process_count && rows.kind != UNIT_WHOLE; p++) {
		first = step_rows_of(&rows, p, &end);
		add_process(&cost, &request->run->processes[p], &rows, first, end);
	}
	struct summed summed = sum_up(&cost);
	if (summed.is_bound && summed.low > 0)
		table_note(table, NOTE_INFERRED,
			   "Recording made %ss %.1f %% longer (%.1f to %.1f %%, by the times inside and around %zu windows; what the "
			   "program does in step with them counts as well, and " BOTH "): %.1f %% of the time of all.",
			   unit_kind_name(rows.kind), 100 * summed.cost, 100 * summed.low, 100 * summed.high, summed.windows,
			   100 * summed.all_cost);
	else if (summed.is_bound)
		table_note(table, NOTE_INFERRED,
			   "That recording made %ss longer cannot be told: by %.1f to %.1f %% (times inside and around %zu windows; " BOTH
			   ").",
			   unit_kind_name(rows.kind), 100 * summed.low, 100 * summed.high, summed.windows);
	cost_free(&cost);
	step_rows_free(&rows);
}

static void note_why(struct table *table)
{
	if (table->row_count)
		table_note(table, NOTE_INFERRED,
			   "From the steps' own times: where a program does something in step with its windows (a checkpoint each 500 "
			   "steps) that counts as well; " BOTH ".");
}

static void fill(struct table *table, const struct request *request)
{
	struct step_rows rows;

	step_rows_find(&rows, request);
	for (size_t p = 0; p < request->run->process_count && rows.kind != UNIT_WHOLE; p++) {
		struct cost cost = {0};
		size_t end, first = step_rows_of(&rows, p, &end);
		add_process(&cost, &request->run->processes[p], &rows, first, end);
		if (cost.count)
			put_process(table, &request->run->processes[p], &cost);
		cost_free(&cost);
	}
	note_why(table);
	notes_recording(table, request);
	step_rows_free(&rows);
}

static const struct analysis_kind *const needs[] = {&analysis_steps, NULL};
const struct table_kind table_window_cost = {
	.id = "window_cost",
	.title = "What recording costs",
	.help = "By how much steps inside of capture windows are longer than those around them: TFPROF_WINDOW with /EVERY or budget: "
		"measures what it costs while the job runs.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_WINDOW | FILTER_STEP,
	.needs_scan = true,
	.analyses = needs,
	.nothing = "No window has whole steps inside and steps outside beside it: TFPROF_WINDOW=budget:1% or step:10-19/500, say, makes "
		   "some.",
	.fill = fill,
};

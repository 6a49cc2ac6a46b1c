/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comparison.runs: the runs of both sides one by one.
 *
 * Rule: what comparison.times has the median of; so that a reader sees the run that is unlike the others.
 */
#include "reducer/comparison/verdict.h"

#include <math.h>

enum { SIDE, RUN, STEPS, P50, P10, MEAN, CPU, UNDELAYED, WAITED, HEAP, COLUMNS };

static const struct table_column columns[] = {
	[SIDE] = {"side", "side", TABLE_TEXT, UNIT_NONE, 0, "before (--against) or after"},
	[RUN] = {"run", "run", TABLE_INTEGER, UNIT_NONE, 0, "counted from 1, in the order in which they were read"},
	[STEPS] = {"steps", "steps", TABLE_INTEGER, UNIT_COUNT, 0, "that are judged"},
	[P50] = {"step_p50_ns", "median step", TABLE_INTEGER, UNIT_NS, 0, "median time of a step"},
	[P10] = {"step_p10_ns", "step p10", TABLE_INTEGER, UNIT_NS, 1, "1 of 10 steps took at most that"},
	[MEAN] = {"step_mean_ns", "mean step", TABLE_INTEGER, UNIT_NS, 1, "mean time of a step"},
	[CPU] = {"step_cpu_ns", "processor", TABLE_INTEGER, UNIT_NS, 0, "processor time of a step"},
	[UNDELAYED] = {"step_undelayed_ns", "undelayed", TABLE_INTEGER, UNIT_NS, 0,
		       "time of a step without the wait for a processor"},
	[WAITED] = {"waited", "waited", TABLE_REAL, UNIT_RATIO, 0,
		    "share of the steps' time in which their thread waited for a processor; empty = not known"},
	[HEAP] = {"peak_heap_bytes", "heap peak", TABLE_INTEGER, UNIT_BYTES, 0, "most usable bytes of the heap live at one time"},
};

static void put(struct table *table, size_t column, const struct figures *run, const char *id)
{
	const struct figure *figure = figures_find(run, id);

	if (figure)
		table_integer(table, column, llround(figure->value));
}

static void put_side(struct table *table, const char *side, const struct figures *joined, const struct figures *runs)
{
	for (size_t i = 0; i < joined->run_count; i++) {
		const struct figures *run = runs ? &runs[i] : joined;
		table_row(table);
		table_string(table, SIDE, side);
		table_integer(table, RUN, (int64_t)i + 1);
		put(table, STEPS, run, "steps");
		put(table, P50, run, "step_p50");
		put(table, P10, run, "step_p10");
		put(table, MEAN, run, "step_mean");
		put(table, CPU, run, "step_cpu");
		put(table, UNDELAYED, run, "step_undelayed");
		if (run->busy >= 0)
			table_real(table, WAITED, run->busy);
		put(table, HEAP, run, "peak:heap");
	}
}

static void fill(struct table *table, const struct request *request)
{
	put_side(table, "before", &request->compared->before, request->compared->before_runs);
	put_side(table, "after", &request->compared->after, request->compared->after_runs);
}

static const struct analysis_kind *const needs[] = {&analysis_steps, NULL};
const struct table_kind table_comparison_runs = {
	.id = "comparison.runs",
	.title = "Runs of both sides",
	.help = "With --against: steps, processor time, wait for a processor and heap peak of each run (--run=each) of both "
		"sides.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_WINDOW | FILTER_STEP | FILTER_DEVICE | FILTER_STREAM | FILTER_THREAD,
	.needs_scan = true,
	.needs_base = true,
	.analyses = needs,
	.fill = fill,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comparison.times, comparison.memory, comparison.counts: the figures of two runs side by side.
 *
 * Rule: one row a figure that either run has; what only one has stays empty on the other side. No figure is called better or
 * worse than the steps let it: whether they differ is told by ranks.h, and by nothing where there are few.
 */
#include "reducer/comparison/limits.h"

#include <string.h>

enum { FIGURE, BEFORE, AFTER, DIFFERENCE, CHANGE, MOST, LIMIT, VERDICT, HELP, COLUMNS };

#define COLUMNS_OF(suffix, unit)                                                                                                 \
	{                                                                                                                        \
		[FIGURE] = {"figure", "figure", TABLE_TEXT, UNIT_NONE, 0, "its name, as --limit takes it"},                      \
		[BEFORE] = {"before" suffix, "before", TABLE_INTEGER, unit, 0, "in the older run (--against)"},                  \
		[AFTER] = {"after" suffix, "after", TABLE_INTEGER, unit, 0, "in the newer run"},                                 \
		[DIFFERENCE] = {"difference" suffix, "difference", TABLE_INTEGER, unit, 0, "after - before"},                    \
		[CHANGE] = {"change", "change", TABLE_REAL, UNIT_RATIO, 0, "difference by before; empty where that is 0"},       \
		[MOST] = {"at_most" suffix, "at most", TABLE_INTEGER, unit, 2, "what --limit allows; the strictest of several"}, \
		[LIMIT] = {"limit", "limit", TABLE_TEXT, UNIT_NONE, 1, "kept, or exceeded (exit status 3)"},                     \
		[VERDICT] = {"verdict",                                                                                          \
			     "verdict",                                                                                          \
			     TABLE_TEXT,                                                                                         \
			     UNIT_NONE,                                                                                          \
			     1,                                                                                                  \
			     "of the time of steps: whether the newer run's are longer or shorter than how they vary explains"}, \
		[HELP] = {"meaning", "meaning", TABLE_TEXT, UNIT_NONE, 1, "what is counted; parts are the mean of a step"},      \
	}
static const struct table_column time_columns[] = COLUMNS_OF("_ns", UNIT_NS);
static const struct table_column memory_columns[] = COLUMNS_OF("_bytes", UNIT_BYTES);
static const struct table_column count_columns[] = COLUMNS_OF("", UNIT_COUNT);

/* A figure by its name, which one of the runs has. */
static void put_row(struct table *table, const struct request *request, const struct compared *compared,
		    const struct figure *named)
{
	const struct figure *before = figures_find(&compared->before, named->id),
			    *after = figures_find(&compared->after, named->id);
	enum limit_state state = LIMIT_NONE;
	double most = 0;

	if ((!before || before->value <= 0) && (!after || after->value <= 0))
		return;
	table_row(table);
	table_string(table, FIGURE, named->id);
	table_string(table, HELP, named->help);
	if (before)
		table_integer(table, BEFORE, (int64_t)(before->value + 0.5));
	if (after) {
		table_integer(table, AFTER, (int64_t)(after->value + 0.5));
		state = figure_limits_judge(request->figure_limits, compared, after, &most);
	}
	if (before && after) {
		table_integer(table, DIFFERENCE, (int64_t)(after->value + 0.5) - (int64_t)(before->value + 0.5));
		if (before->value > 0)
			table_real(table, CHANGE, (after->value - before->value) / before->value);
		if (strncmp(after->id, "step_", 5) == 0)
			table_string(table, VERDICT, ranks_word(compared->ranks.verdict));
	}
	if (state == LIMIT_NONE)
		return;
	table_integer(table, MOST, (int64_t)most);
	table_string(table, LIMIT, state == LIMIT_KEPT ? "kept" : "exceeded");
}

/* Of the newer run in its order, then what only the older one has. */
static void put_rows(struct table *table, const struct request *request, const struct compared *compared)
{
	enum table_unit unit = table->kind->columns[BEFORE].unit;

	for (size_t i = 0; i < compared->after.count; i++)
		if (compared->after.items[i].unit == unit)
			put_row(table, request, compared, &compared->after.items[i]);
	for (size_t i = 0; i < compared->before.count; i++)
		if (compared->before.items[i].unit == unit && !figures_find(&compared->after, compared->before.items[i].id))
			put_row(table, request, compared, &compared->before.items[i]);
}

static void note_steps(struct table *table, const struct compared *compared)
{
	const struct figures *before = &compared->before, *after = &compared->after;

	if (!before->step_count || !after->step_count) {
		table_note(table, NOTE_MISSING, "Steps are not compared: the %s run has none (step_stats says what marks them).",
			   !after->step_count ? "newer" : "older");
		return;
	}
	if (before->kind != after->kind)
		table_note(table, NOTE_INFO, "What is compared is not alike: a %s of the older run, a %s of the newer one.",
			   unit_kind_name(before->kind), unit_kind_name(after->kind));
	table_note(
		table, NOTE_INFO,
		"%zu of %zu %ss of the older run and %zu of %zu of the newer one are compared (what is left out: the first, and "
		"evaluation). In %.1f %% of all pairs of one of each the newer one's is the longer.",
		before->step_count, before->all_steps, unit_kind_name(before->kind), after->step_count, after->all_steps,
		100 * compared->ranks.longer_share);
	table_note(table, NOTE_INFERRED,
		   "\"longer\" and \"shorter\" tell the runs apart from how steps vary within each (a rank test, 99 %%); that "
		   "the machine was "
		   "busier, or another one, is no less a cause than the program.");
}

static void fill(struct table *table, const struct request *request)
{
	struct compared compared;

	compared_make(&compared, request);
	put_rows(table, request, &compared);
	if (table->kind->columns[BEFORE].unit == UNIT_NS)
		note_steps(table, &compared);
	compared_free(&compared);
}

static const struct analysis_kind *const needs[] = {&analysis_steps, NULL};
const struct table_kind table_comparison_times = {
	.id = "comparison.times",
	.title = "Times of two runs",
	.help = "With --against: the time of a step, of its parts and phases, and of the run, in the older run and in this one.",
	.columns = time_columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_WINDOW | FILTER_STEP | FILTER_DEVICE | FILTER_STREAM | FILTER_THREAD,
	.needs_scan = true,
	.needs_base = true,
	.analyses = needs,
	.fill = fill,
};
const struct table_kind table_comparison_memory = {
	.id = "comparison.memory",
	.title = "Memory of two runs",
	.help = "With --against: peak, live at the end and allocated bytes of every allocator, in the older run and in this one.",
	.columns = memory_columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_ALLOCATOR,
	.needs_scan = true,
	.needs_base = true,
	.fill = fill,
};
const struct table_kind table_comparison_counts = {
	.id = "comparison.counts",
	.title = "Counts of two runs",
	.help = "With --against: steps, kernels and allocations, in the older run and in this one.",
	.columns = count_columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_ALLOCATOR,
	.needs_scan = true,
	.needs_base = true,
	.fill = fill,
};

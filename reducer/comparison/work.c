/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comparison.ops, comparison.kernels: what ran in two runs, op by op and kernel by kernel.
 *
 * Rule: where both runs have steps a time is that of a step, so that runs of different length can be compared; the largest
 * difference comes first, either way.
 */
#include "reducer/comparison/figures.h"
#include "reducer/comparison/join.h"

#include <math.h>
#include <stdlib.h>

enum { NAME, TYPE, SIDE, BEFORE, AFTER, DIFFERENCE, CHANGE, BEFORE_COUNT, AFTER_COUNT, BEFORE_MEAN, AFTER_MEAN, ONLY, COLUMNS };

#define TIME_HELP "of a step (all of it, the first step's too, by the number of steps) where both runs have steps, else in all: "
static const struct table_column columns[] = {
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 0, "of the op or the kernel"},
	[TYPE] = {"type", "type", TABLE_TEXT, UNIT_NONE, 2, "kind of op"},
	[SIDE] = {"side", "side", TABLE_TEXT, UNIT_NONE, 0, "host, or device"},
	[BEFORE] = {"before_ns", "before", TABLE_INTEGER, UNIT_NS, 0,
		    TIME_HELP "in the older run; ops: without the ops inside it"},
	[AFTER] = {"after_ns", "after", TABLE_INTEGER, UNIT_NS, 0, "the same in the newer run"},
	[DIFFERENCE] = {"difference_ns", "difference", TABLE_INTEGER, UNIT_NS, 0,
			"after - before; what a run does not have counts as 0"},
	[CHANGE] = {"change", "change", TABLE_REAL, UNIT_RATIO, 0, "difference by before; empty where there is none"},
	[BEFORE_COUNT] = {"before_times", "times", TABLE_INTEGER, UNIT_COUNT, 1, "how often it ran in the older run, in all"},
	[AFTER_COUNT] = {"after_times", "times now", TABLE_INTEGER, UNIT_COUNT, 1, "how often it ran in the newer run, in all"},
	[BEFORE_MEAN] = {"before_avg_ns", "once", TABLE_INTEGER, UNIT_NS, 2, "mean of one time in the older run"},
	[AFTER_MEAN] = {"after_avg_ns", "once now", TABLE_INTEGER, UNIT_NS, 2, "mean of one time in the newer run"},
	[ONLY] = {"only", "only", TABLE_TEXT, UNIT_NONE, 0, "before or after, where only one run has it"},
};

enum { VALUE_NS, VALUE_TIMES };

static double difference(const struct join_row *row, struct figures_basis basis)
{
	return row->after.values[VALUE_NS] / basis.after - row->before.values[VALUE_NS] / basis.before;
}

static int by_difference(const void *a, const void *b, void *context)
{
	double one = fabs(difference(a, *(struct figures_basis *)context)), other = fabs(difference(b, *(struct figures_basis *)context));

	return one > other ? -1 : one < other;
}

static void put_side(struct table *table, const struct join_side *side, double basis, size_t time, size_t count, size_t each)
{
	if (!side->is_there)
		return;
	table_integer(table, time, (int64_t)llround(side->values[VALUE_NS] / basis));
	table_integer(table, count, (int64_t)side->values[VALUE_TIMES]);
	if (side->values[VALUE_TIMES] > 0)
		table_integer(table, each, (int64_t)llround(side->values[VALUE_NS] / side->values[VALUE_TIMES]));
}

static void put_row(struct table *table, const struct join_row *row, struct figures_basis basis, bool is_ops)
{
	double before = row->before.values[VALUE_NS] / basis.before;

	table_row(table);
	table_string(table, NAME, row->keys[0]);
	table_string(table, SIDE, is_ops ? row->keys[2] : "device");
	if (is_ops && row->keys[1][0])
		table_string(table, TYPE, row->keys[1]);
	put_side(table, &row->before, basis.before, BEFORE, BEFORE_COUNT, BEFORE_MEAN);
	put_side(table, &row->after, basis.after, AFTER, AFTER_COUNT, AFTER_MEAN);
	/* Of the cells as they are shown: a reader may subtract. */
	table_integer(table, DIFFERENCE,
		      (int64_t)llround(row->after.values[VALUE_NS] / basis.after) - (int64_t)llround(before));
	if (row->before.is_there && row->after.is_there && before > 0)
		table_real(table, CHANGE, difference(row, basis) / before);
	if (!row->before.is_there || !row->after.is_there)
		table_string(table, ONLY, row->before.is_there ? "before" : "after");
}

static void fill(struct table *table, const struct request *request, const struct join_spec *spec, bool is_ops)
{
	struct request after = figures_plain(request), before = figures_plain(request->base);
	struct figures_basis basis = figures_basis(&before, &after);
	struct join join;

	if (!is_ops)
		after.group = before.group = GROUP_KERNEL;
	join_make(&join, spec, &before, &after);
	if (join.count)
		qsort_r(join.rows, join.count, sizeof(*join.rows), by_difference, &basis);
	for (size_t i = 0; i < join.count; i++)
		put_row(table, &join.rows[i], basis, is_ops);
	if (join.count && basis.has_steps)
		table_note(table, NOTE_INFO, "Times are of a step: %.0f in the older run, %.0f in the newer one.", basis.before,
			   basis.after);
	else if (join.count)
		table_note(table, NOTE_INFO, "Times are of the whole runs: not both have steps.");
	join_free(&join);
}

static void fill_ops(struct table *table, const struct request *request)
{
	static const struct join_spec spec = {&table_op_stats, {"name", "type", "side"}, {"self_ns", "occurrences"}, 0};

	fill(table, request, &spec, true);
}

static void fill_kernels(struct table *table, const struct request *request)
{
	static const struct join_spec spec = {&table_kernel_stats, {"kernel_name"}, {"total_ns", "occurrences"}, 0};

	fill(table, request, &spec, false);
}

static const struct analysis_kind *const needs[] = {&analysis_steps, &analysis_work, NULL};
#define WORK_FILTERS (FILTER_PROCESS | FILTER_DEVICE | FILTER_STREAM | FILTER_WINDOW | FILTER_STEP | FILTER_THREAD)
const struct table_kind table_comparison_ops = {
	.id = "comparison.ops",
	.title = "Ops of two runs",
	.help = "With --against: the time of each op in the older run and in this one, the largest difference first.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = WORK_FILTERS | FILTER_GROUP,
	.text_rows = 10,
	.needs_scan = true,
	.needs_base = true,
	.needs_base_logs = true,
	.analyses = needs,
	.fill = fill_ops,
};
const struct table_kind table_comparison_kernels = {
	.id = "comparison.kernels",
	.title = "Kernels of two runs",
	.help = "With --against: the time of each kernel in the older run and in this one, the largest difference first.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = WORK_FILTERS,
	.text_rows = 10,
	.needs_scan = true,
	.needs_base = true,
	.needs_base_logs = true,
	.analyses = needs,
	.fill = fill_kernels,
};

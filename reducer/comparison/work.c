/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comparison.ops, comparison.kernels: what ran in two runs, op by op and kernel by kernel.
 *
 * Rule: where both runs have steps a time is that of a step, so that runs of different length can be compared; the largest
 * difference comes first, either way.
 */
#include "reducer/comparison/kept.h"

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
	[BEFORE_COUNT] = {"before_times", "times", TABLE_INTEGER, UNIT_COUNT, 1,
			  "how often it ran in the older run, of several in all of them"},
	[AFTER_COUNT] = {"after_times", "times now", TABLE_INTEGER, UNIT_COUNT, 1, "the same in the newer run"},
	[BEFORE_MEAN] = {"before_avg_ns", "once", TABLE_INTEGER, UNIT_NS, 2, "mean of one time in the older run"},
	[AFTER_MEAN] = {"after_avg_ns", "once now", TABLE_INTEGER, UNIT_NS, 2, "mean of one time in the newer run"},
	[ONLY] = {"only", "only", TABLE_TEXT, UNIT_NONE, 0,
		  "before or after, where only one run has it; or small before: a baseline left out what had so little, and before is "
		  "the most it can have had"},
};

enum { VALUE_NS, VALUE_TIMES };

static double difference(const struct join_row *row, struct kept_basis basis)
{
	return row->after.values[VALUE_NS] / basis.after - row->before.values[VALUE_NS] / basis.before;
}

static int by_difference(const void *a, const void *b, void *context)
{
	double one = fabs(difference(a, *(struct kept_basis *)context)), other = fabs(difference(b, *(struct kept_basis *)context));

	return one > other ? -1 : one < other;
}

static void put_side(struct table *table, const struct join_side *side, double basis, size_t time, size_t count, size_t each)
{
	if (side->is_there || side->is_bound)
		table_integer(table, time, (int64_t)llround(side->values[VALUE_NS] / basis));
	if (!side->is_there)
		return;
	table_integer(table, count, (int64_t)side->values[VALUE_TIMES]);
	if (side->values[VALUE_TIMES] > 0)
		table_integer(table, each, (int64_t)llround(side->values[VALUE_NS] / side->values[VALUE_TIMES]));
}

static void put_row(struct table *table, const struct join_row *row, struct kept_basis basis, bool is_ops)
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
	if ((row->before.is_there || row->before.is_bound) && row->after.is_there && before > 0)
		table_real(table, CHANGE, difference(row, basis) / before);
	if (row->before.is_bound && before > 0)
		table_string(table, ONLY, "new, or small before");
	else if (!row->before.is_there || !row->after.is_there)
		table_string(table, ONLY, row->before.is_there ? "before" : "after");
}

static void fill(struct table *table, const struct request *request, enum kept_subject subject)
{
	struct kept_pair pair;
	struct text basis = {0};

	if (!kept_compare(&pair, table, request, subject))
		return;
	kept_say_basis(&pair, &basis);
	if (pair.join.count)
		table_note(table, NOTE_INFO, "Times are %s", basis.bytes);
	kept_bound(&pair, table, VALUE_NS);
	if (pair.join.count)
		qsort_r(pair.join.rows, pair.join.count, sizeof(*pair.join.rows), by_difference, &pair.basis);
	for (size_t i = 0; i < pair.join.count; i++)
		put_row(table, &pair.join.rows[i], pair.basis, subject == KEPT_OPS);
	text_free(&basis);
	kept_close(&pair);
}

const struct kept_kind kept_ops = {
	.word = "op",
	.rows = "ops",
	.table = &table_comparison_ops,
	.spec = {.kind = &table_op_stats, .keys = {"name", "type", "side"}, .values = {"self_ns", "occurrences"}, .rank = VALUE_NS},
};
const struct kept_kind kept_kernels = {
	.word = "kernel",
	.rows = "kernels",
	.table = &table_comparison_kernels,
	.spec = {.kind = &table_kernel_stats, .keys = {"kernel_name"}, .values = {"total_ns", "occurrences"}, .rank = VALUE_NS},
	.group = GROUP_KERNEL,
};

static void fill_ops(struct table *table, const struct request *request)
{
	fill(table, request, KEPT_OPS);
}

static void fill_kernels(struct table *table, const struct request *request)
{
	fill(table, request, KEPT_KERNELS);
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
	.analyses = needs,
	.fill = fill_kernels,
};

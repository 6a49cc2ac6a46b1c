/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.ops: what the host ran for the input, by name.
 *
 * Rule: iterators of tf.data, loaders and the ops in them and in their worker processes, reads, copies; both shares are of the
 * sum of all self times, so that the total's may exceed 1, as the TensorFlow Profiler has it.
 */
#include "reducer/tables/input_rows.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"

#include <stdlib.h>
#include <string.h>

enum { PID, OP, COUNT, TOTAL, TOTAL_SHARE, SELF, SELF_SHARE, CATEGORY, MACHINE, MEMBER, COLUMNS };

static const struct table_column columns[] = {
	[PID] = {"pid", "pid", TABLE_INTEGER, UNIT_NONE, 1, "process that ran it"},
	[OP] = {"op", "op", TABLE_TEXT, UNIT_NONE, 0, "long name of an iterator, name of an op, or what was done"},
	[COUNT] = {"count", "times", TABLE_INTEGER, UNIT_COUNT, 0, "how often it ran"},
	[TOTAL] = {"total_ns", "total", TABLE_INTEGER, UNIT_NS, 0, "with what was inside it"},
	[TOTAL_SHARE] = {"total_share", "of all", TABLE_REAL, UNIT_RATIO, 1, "of the sum of all self times: may exceed 1"},
	[SELF] = {"self_ns", "self", TABLE_INTEGER, UNIT_NS, 0, "without what was inside it"},
	[SELF_SHARE] = {"self_share", "share", TABLE_REAL, UNIT_RATIO, 0, "of the sum of all self times"},
	[CATEGORY] = {"category", "category", TABLE_TEXT, UNIT_NONE, 0, "as in input.host"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

struct row {
	const struct process *process; /* of the run's list: in its order */
	const char *name;
	uint64_t count, total_ns, self_ns;
	enum input_category category;
};

struct rows {
	struct row *items;
	size_t count, room;
};

static void add(struct rows *rows, struct row row)
{
	rows->items = base_grow(rows->items, &rows->room, rows->count + 1, sizeof(*rows->items));
	rows->items[rows->count++] = row;
}

static void add_process(struct rows *rows, const struct request *request, size_t process)
{
	const struct process *own = &request->run->processes[process];
	const struct loading *loading = analyses_process(request->analyses, &analysis_loading, process);
	const struct pipelines *pipelines = analyses_process(request->analyses, &analysis_pipelines, process);

	for (size_t i = 0; pipelines && i < pipelines->count; i++) {
		const struct pipeline_node *node = &pipelines->nodes[i];
		add(rows, (struct row){own, node->name, node->calls, node->total_ns, node->thread_self_ns,
				       input_category_of(node->name)});
	}
	for (size_t i = 0; loading && i < loading->op_count; i++) {
		const struct loading_op *op = &loading->ops[i];
		add(rows, (struct row){own, op->name, op->count, op->total_ns, op->self_ns, op->category});
	}
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *one = a, *other = b;

	if (one->self_ns != other->self_ns)
		return one->self_ns < other->self_ns ? 1 : -1;
	if (one->process != other->process)
		return one->process < other->process ? -1 : 1;
	return strcmp(one->name, other->name);
}

static void put_row(struct table *table, const struct row *row, double all)
{
	table_row(table);
	table_process(table, PID, MACHINE, row->process);
	table_string(table, OP, row->name);
	table_integer(table, COUNT, (int64_t)row->count);
	table_integer(table, TOTAL, (int64_t)row->total_ns);
	table_integer(table, SELF, (int64_t)row->self_ns);
	table_string(table, CATEGORY, input_category_name(row->category));
	if (all > 0) {
		table_real(table, TOTAL_SHARE, (double)row->total_ns / all);
		table_real(table, SELF_SHARE, (double)row->self_ns / all);
	}
}

static void fill(struct table *table, const struct request *request)
{
	struct input_views views;
	struct rows rows = {0};
	double all = 0;

	input_views_find(&views, request);
	for (size_t p = 0; p < request->run->process_count; p++)
		add_process(&rows, request, p);
	for (size_t i = 0; i < rows.count; i++)
		all += (double)rows.items[i].self_ns;
	if (rows.count)
		qsort(rows.items, rows.count, sizeof(*rows.items), compare_rows);
	for (size_t i = 0; i < rows.count; i++)
		put_row(table, &rows.items[i], all);
	input_notes(table, request, &views);
	free(rows.items);
	input_views_free(&views);
}

const struct table_kind table_input_ops = {
	.id = "input.ops",
	.title = "Ops of the input",
	.help = "What the host ran for the input: iterators, loaders and the ops in them and their workers, reads, copies.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_WINDOW | FILTER_STEP | FILTER_DEVICE | FILTER_STREAM | FILTER_THREAD,
	.text_rows = 30,
	.needs_scan = true,
	.analyses = input_analyses,
	.nothing = "Nothing says how input came about: no tf.data, DataLoader or range of the program told of it, and "
		   "the thread of the steps read nothing between them.",
	.fill = fill,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tf_data.pipelines: the pipelines of tf.data, and what each waits for.
 *
 * Rule: a row a pipeline of each process; those of one shape (one an epoch) share it. Pipelines that only hand elements on to
 * a device are told, but are nobody's bottleneck.
 */
#include "reducer/analysis/input_kinds.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/pipeline_rows.h"
#include "reducer/tables/process_cells.h"

enum {
	PIPELINE,
	PROCESS,
	CALLS,
	FIRST,
	MIN,
	MEAN,
	MAX,
	TOTAL,
	SLOW,
	BOTTLENECK,
	BOTTLENECK_NS,
	KIND,
	REMEDY,
	LONG_NAME,
	LONGEST,
	LONGEST_NS,
	MADE,
	MACHINE, MEMBER, COLUMNS
};

static const struct table_column columns[] = {
	[PIPELINE] = {"pipeline", "pipeline", TABLE_TEXT, UNIT_NONE, 0, "Host:n, or Device:n where it feeds a device"},
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 1, "pid as the process saw it"},
	[CALLS] = {"calls", "calls", TABLE_INTEGER, UNIT_COUNT, 0, "times the program asked it for the next element"},
	[FIRST] = {"first_ns", "first", TABLE_INTEGER, UNIT_NS, 2, "start of the first call, from the start of the run"},
	[MIN] = {"min_ns", "min", TABLE_INTEGER, UNIT_NS, 1, "shortest call"},
	[MEAN] = {"mean_ns", "mean", TABLE_INTEGER, UNIT_NS, 0, "of one call"},
	[MAX] = {"max_ns", "max", TABLE_INTEGER, UNIT_NS, 0, "longest call"},
	[TOTAL] = {"total_ns", "total", TABLE_INTEGER, UNIT_NS, 0, "of all calls"},
	[SLOW] = {"slow_calls", "slow", TABLE_INTEGER, UNIT_COUNT, 0, "calls of more than 50 us"},
	[BOTTLENECK] = {"bottleneck", "bottleneck", TABLE_TEXT, UNIT_NONE, 0,
			"iterator with the most own time while slow calls waited; empty = none was slow, or it feeds a device"},
	[BOTTLENECK_NS] = {"bottleneck_ns", "its own", TABLE_INTEGER, UNIT_NS, 0, "that time: without the iterators below it"},
	[KIND] = {"kind", "kind", TABLE_TEXT, UNIT_NONE, 1, "what sort of iterator that is"},
	[REMEDY] = {"remedy", "what to do", TABLE_TEXT, UNIT_NONE, 0, "for the bottleneck"},
	[LONG_NAME] = {"long_name", "long name", TABLE_TEXT, UNIT_NONE, 1, "of the bottleneck: from the root down to it"},
	[LONGEST] = {"longest_bottleneck", "in the longest call", TABLE_TEXT, UNIT_NONE, 2,
		     "long name of the iterator with the most own time in the longest call alone; the TensorFlow Profiler names "
		     "this one"},
	[LONGEST_NS] = {"longest_bottleneck_ns", "its own", TABLE_INTEGER, UNIT_NS, 2, "that time"},
	[MADE] = {"made", "made", TABLE_INTEGER, UNIT_COUNT, 2,
		  "pipelines of this shape that were made: Keras makes one an epoch"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static void put_bottleneck(struct table *table, const struct process *process, const struct pipelines *all,
			   const struct pipeline_node *root)
{
	const struct pipeline_node *node = pipelines_bottleneck(all, root), *longest = pipelines_longest(all, root);

	if (node) {
		table_string(table, BOTTLENECK, input_iterator_name(node->name));
		table_integer(table, BOTTLENECK_NS, (int64_t)node->slow_ns);
		table_string(table, KIND, input_bottleneck_kind(node->name));
		table_string(table, REMEDY, input_remedy(node->name, input_is_python(process, node->self_ns)));
		table_string(table, LONG_NAME, node->name);
	}
	if (longest) {
		table_string(table, LONGEST, longest->name);
		table_integer(table, LONGEST_NS, (int64_t)longest->longest_ns);
	}
}

static void put_row(struct table *table, const struct process *process, const struct pipelines *all,
		    const struct pipeline_node *root)
{
	char name[32];

	pipeline_label(all, root, name, sizeof(name));
	table_row(table);
	table_string(table, PIPELINE, name);
	table_process(table, PROCESS, MACHINE, process);
	table_integer(table, CALLS, (int64_t)root->calls);
	table_integer(table, FIRST, root->first_ns);
	table_integer(table, MIN, (int64_t)root->min_ns);
	table_integer(table, MEAN, (int64_t)(root->total_ns / root->calls));
	table_integer(table, MAX, (int64_t)root->max_ns);
	table_integer(table, TOTAL, (int64_t)root->total_ns);
	table_integer(table, SLOW, (int64_t)root->slow_calls);
	table_integer(table, MADE, (int64_t)root->made);
	if (!root->is_device)
		put_bottleneck(table, process, all, root);
}

static void fill(struct table *table, const struct request *request)
{
	size_t slow = 0, host = 0;

	for (size_t p = 0; p < request->run->process_count; p++) {
		const struct pipelines *all = analyses_process(request->analyses, &analysis_pipelines, p);
		for (size_t i = 0; all && i < all->count; i++) {
			if (!all->nodes[i].is_root)
				continue;
			put_row(table, &request->run->processes[p], all, &all->nodes[i]);
			host += !all->nodes[i].is_device;
			slow += all->nodes[i].slow_calls && !all->nodes[i].is_device;
		}
	}
	pipeline_notes(table, request);
	if (table->row_count && !host)
		table_note(table, NOTE_INFO, "No pipeline of the host was active: record for longer.");
	else if (host && !slow)
		table_note(table, NOTE_INFO, "No call took longer than 50 us: the pipelines keep up.");
}

static const struct analysis_kind *const analyses[] = {&analysis_pipelines, NULL};

const struct table_kind table_tf_data_pipelines = {
	.id = "tf_data.pipelines",
	.title = "Pipelines of tf.data",
	.help = "What the program asked each tf.data pipeline for, how long it waited, which iterator it waited for and what to "
		"do.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_WINDOW | FILTER_STEP | FILTER_THREAD,
	.text_rows = 20,
	.needs_scan = true,
	.analyses = analyses,
	.fill = fill,
};

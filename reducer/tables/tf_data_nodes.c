/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tf_data.nodes: every iterator of every tf.data pipeline.
 *
 * Rule: a row an iterator, by pipeline, from the root down; total counts all its calls, own time those that a call of the root
 * waited for.
 */
#include "reducer/analysis/input_kinds.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/pipeline_rows.h"
#include "reducer/tables/process_cells.h"

#include <stdlib.h>
#include <string.h>

enum {
	PIPELINE,
	NAME,
	PROCESS,
	CALLS,
	FIRST,
	MIN,
	MEAN,
	MAX,
	TOTAL,
	SELF,
	SLOW_SELF,
	BLOCKING,
	BOTTLENECK,
	CRITICAL,
	ASYNC,
	CATEGORY,
	LONG_NAME,
	PARENT,
	PARAMETERS,
	MACHINE, MEMBER, COLUMNS
};

static const struct table_column columns[] = {
	[PIPELINE] = {"pipeline", "pipeline", TABLE_TEXT, UNIT_NONE, 0, "as in tf_data.pipelines"},
	[NAME] = {"name", "iterator", TABLE_TEXT, UNIT_NONE, 0, "last part of its long name"},
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 2, "pid as the process saw it"},
	[CALLS] = {"calls", "calls", TABLE_INTEGER, UNIT_COUNT, 0, "for an element"},
	[FIRST] = {"first_ns", "first", TABLE_INTEGER, UNIT_NS, 2, "start of the first call, from the start of the run"},
	[MIN] = {"min_ns", "min", TABLE_INTEGER, UNIT_NS, 2, "shortest call"},
	[MEAN] = {"mean_ns", "mean", TABLE_INTEGER, UNIT_NS, 0, "of one call"},
	[MAX] = {"max_ns", "max", TABLE_INTEGER, UNIT_NS, 1, "longest call"},
	[TOTAL] = {"total_ns", "total", TABLE_INTEGER, UNIT_NS, 0, "of all calls, with what is below it"},
	[SELF] = {"self_ns", "own", TABLE_INTEGER, UNIT_NS, 0,
		  "of the calls that the root's calls waited for, without what iterators below it did meanwhile, on any thread"},
	[SLOW_SELF] = {"slow_self_ns", "own, slow", TABLE_INTEGER, UNIT_NS, 1, "the same while calls of more than 50 us waited"},
	[BLOCKING] = {"blocking_calls", "waited for", TABLE_INTEGER, UNIT_COUNT, 1, "calls that a call of the root waited for"},
	[BOTTLENECK] = {"bottleneck_calls", "bottleneck of", TABLE_INTEGER, UNIT_COUNT, 0,
			"slow calls of the root in which it had the most own time"},
	[CRITICAL] = {"critical", "critical", TABLE_TEXT, UNIT_NONE, 0, "yes = on the path from the root to the bottleneck"},
	[ASYNC] = {"asynchronous", "async", TABLE_TEXT, UNIT_NONE, 1, "yes = works in threads of its own"},
	[CATEGORY] = {"category", "category", TABLE_TEXT, UNIT_NONE, 1, "reading on demand, reading in advance, preprocessing"},
	[LONG_NAME] = {"long_name", "long name", TABLE_TEXT, UNIT_NONE, 1, "from the root down to it"},
	[PARENT] = {"parent", "asked by", TABLE_TEXT, UNIT_NONE, 3, "long name of the iterator that asks it; empty = a root"},
	[PARAMETERS] = {"parameters", "parameters", TABLE_TEXT, UNIT_NONE, 2, "as the iterator says them; tuning changes some"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static const char *yes(bool is_so)
{
	return is_so ? "yes" : NULL;
}

static bool is_critical(const struct pipeline_node *node, const struct pipeline_node *bottleneck)
{
	size_t length = strlen(node->name);

	return bottleneck && strncmp(bottleneck->name, node->name, length) == 0 &&
	       (!bottleneck->name[length] || bottleneck->name[length] == ':' || bottleneck->name[length] == '[');
}

static void put_row(struct table *table, const struct process *process, const struct pipelines *all,
		    const struct pipeline_node *root, const struct pipeline_node *node, const struct pipeline_node *bottleneck)
{
	const struct pipeline_node *above = pipelines_above(all, node);
	char label[32];

	pipeline_label(all, root, label, sizeof(label));
	table_row(table);
	table_string(table, PIPELINE, label);
	table_string(table, NAME, input_iterator_name(node->name));
	table_process(table, PROCESS, MACHINE, process);
	table_integer(table, CALLS, (int64_t)node->calls);
	table_integer(table, FIRST, node->first_ns);
	table_integer(table, MIN, (int64_t)node->min_ns);
	table_integer(table, MEAN, (int64_t)(node->total_ns / node->calls));
	table_integer(table, MAX, (int64_t)node->max_ns);
	table_integer(table, TOTAL, (int64_t)node->total_ns);
	table_integer(table, SELF, (int64_t)node->self_ns);
	table_integer(table, SLOW_SELF, (int64_t)node->slow_ns);
	table_integer(table, BLOCKING, (int64_t)node->blocking_calls);
	table_integer(table, BOTTLENECK, (int64_t)node->bottleneck_calls);
	table_string(table, CRITICAL, yes(is_critical(node, bottleneck)));
	table_string(table, ASYNC, yes(input_is_async(node->name)));
	table_string(table, CATEGORY, input_category_name(input_category_of(node->name)));
	table_string(table, LONG_NAME, node->name);
	table_string(table, PARENT, above ? above->name : NULL);
	table_string(table, PARAMETERS, node->parameters[0] ? node->parameters : NULL);
}

static void put_pipeline(struct table *table, const struct process *process, const struct pipelines *all,
			 const struct pipeline_node *root)
{
	const struct pipeline_node *bottleneck = root->is_device ? NULL : pipelines_bottleneck(all, root);

	for (size_t i = 0; i < all->count; i++) /* by name: a parent stands before its children */
		if (all->nodes[i].log_id == root->log_id && all->nodes[i].pipeline == root->pipeline)
			put_row(table, process, all, root, &all->nodes[i], bottleneck);
}

static void fill(struct table *table, const struct request *request)
{
	for (size_t p = 0; p < request->run->process_count; p++) {
		const struct pipelines *all = analyses_process(request->analyses, &analysis_pipelines, p);
		for (size_t i = 0; all && i < all->count; i++)
			if (all->nodes[i].is_root)
				put_pipeline(table, &request->run->processes[p], all, &all->nodes[i]);
	}
	pipeline_notes(table, request);
}

static const struct analysis_kind *const analyses[] = {&analysis_pipelines, NULL};

const struct table_kind table_tf_data_nodes = {
	.id = "tf_data.nodes",
	.title = "Iterators of tf.data",
	.help = "Every iterator of the tf.data pipelines: its calls, its own time, and whether the program waited for it.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_WINDOW | FILTER_STEP | FILTER_THREAD,
	.text_rows = 40,
	.needs_scan = true,
	.analyses = analyses,
	.fill = fill,
};

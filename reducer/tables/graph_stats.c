/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_stats: CUDA graphs: how often they ran, what is in them, how long they took.
 *
 * Rule: one row an executable graph that ran. CUPTI tells of copied nodes, not whether the copy is a clone, a child inside
 * another graph or an executable one: those without a launch are counted in a note. With TFPROF_CUDA_GRAPH=graph the device
 * says only when the whole ran.
 */
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/process_cells.h"

enum {
	PROCESS, GRAPH, LAUNCHES, NODES, KERNELS, COPIES, SETS, DEVICE_TIME, SPAN, SPAN_AVERAGE, SPAN_LEAST, SPAN_MOST, HOST, LEVEL,
	MACHINE, MEMBER, COLUMNS
};

static const struct table_column columns[] = {
	[PROCESS] = {"process", "process", TABLE_INTEGER, UNIT_NONE, 2, "pid"},
	[GRAPH] = {"graph", "graph", TABLE_INTEGER, UNIT_NONE, 0, "CUPTI's id of the executable graph"},
	[LAUNCHES] = {"launches", "launches", TABLE_INTEGER, UNIT_COUNT, 0, "launches that ran on the device"},
	[NODES] = {"nodes", "nodes", TABLE_INTEGER, UNIT_COUNT, 1,
		   "nodes that it was made of, seen when it was instantiated; empty = not seen"},
	[KERNELS] = {"kernels", "kernels", TABLE_INTEGER, UNIT_COUNT, 0,
		     "kernels that ran, in all launches; empty where it was recorded as a whole"},
	[COPIES] = {"copies", "copies", TABLE_INTEGER, UNIT_COUNT, 1, "copies, likewise"},
	[SETS] = {"sets", "sets", TABLE_INTEGER, UNIT_COUNT, 2, "sets, likewise"},
	[DEVICE_TIME] = {"device_ns", "on device", TABLE_INTEGER, UNIT_NS, 0,
			 "time of its nodes, added up; of the whole where it was recorded so"},
	[SPAN] = {"span_ns", "span", TABLE_INTEGER, UNIT_NS, 0,
		  "from the first start to the last end of each launch, added up"},
	[SPAN_AVERAGE] = {"span_avg_ns", "avg", TABLE_INTEGER, UNIT_NS, 0, "of one launch"},
	[SPAN_LEAST] = {"span_min_ns", "min", TABLE_INTEGER, UNIT_NS, 2, "shortest"},
	[SPAN_MOST] = {"span_max_ns", "max", TABLE_INTEGER, UNIT_NS, 1, "longest"},
	[HOST] = {"host_ns", "in call", TABLE_INTEGER, UNIT_NS, 1, "time inside the launch calls"},
	[LEVEL] = {"level", "level", TABLE_TEXT, UNIT_NONE, 1, "node: each node was recorded; graph: the whole"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static void add_row(struct table *table, const struct process *process, const struct gpu_graph *graph)
{
	table_row(table);
	table_process(table, PROCESS, MACHINE, process);
	table_integer(table, GRAPH, graph->id);
	table_integer(table, LAUNCHES, (int64_t)graph->launches);
	if (graph->nodes)
		table_integer(table, NODES, (int64_t)graph->nodes);
	if (!graph->is_whole) {
		table_integer(table, KERNELS, (int64_t)graph->kernels);
		table_integer(table, COPIES, (int64_t)graph->copies);
		table_integer(table, SETS, (int64_t)graph->sets);
	}
	table_integer(table, DEVICE_TIME, (int64_t)graph->device_ns);
	if (graph->spans) {
		table_integer(table, SPAN, (int64_t)graph->span_ns);
		table_integer(table, SPAN_AVERAGE, (int64_t)(graph->span_ns / graph->spans));
		table_integer(table, SPAN_LEAST, (int64_t)graph->shortest_ns);
		table_integer(table, SPAN_MOST, (int64_t)graph->longest_ns);
	}
	table_integer(table, HOST, (int64_t)graph->host_ns);
	table_string(table, LEVEL, graph->is_whole ? "graph" : "node");
}

static bool has_run(const struct gpu_graph *graph)
{
	return graph->launches || graph->kernels || graph->copies || graph->sets || graph->is_whole;
}

static void fill(struct table *table, const struct request *request)
{
	size_t idle = 0;

	if (!gpu_any(table, request))
		return;
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!process->gpu || !request_wants_process(request, process))
			continue;
		for (size_t k = 0; k < process->gpu->graph_count; k++)
			if (has_run(&process->gpu->graphs[k]))
				add_row(table, process, &process->gpu->graphs[k]);
			else
				idle++;
	}
	if (idle)
		table_note(table, NOTE_INFO, "%zu more were made of which no launch was seen: clones, children inside others, or "
			   "executable ones that were not launched.", idle);
	if (table->row_count)
		table_sort(table, SPAN, false);
	gpu_notes(table, request);
}

const struct table_kind table_graph_stats = {
	.id = "graph_stats",
	.title = "CUDA graphs",
	.help = "Executable graphs: launches, nodes, time on the device and from first to last node.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_WINDOW | FILTER_PROCESS,
	.text_rows = 25,
	.needs_scan = true,
	.nothing = "No CUDA graph was launched while calls or device work were recorded.",
	.fill = fill,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compile_stats: code that was compiled or loaded for devices while the program ran.
 *
 * Rule: what CUPTI and the driver say of themselves, and the host's calls that load code, each in rows of its own: the same
 * time may stand in both, so nothing here is added up.
 */
#include "reducer/tables/gpu_rows.h"

enum { WHAT, FUNCTION, DEVICE, PROCESS, OCCURRENCES, BYTES, TOTAL, AVERAGE, LEAST, MOST, MEDIAN, P99, SIDE, COLUMNS };

static const struct table_column columns[] = {
	[WHAT] = {"what", "what", TABLE_TEXT, UNIT_NONE, 0, "PTX to cubin (cache loaded, stored, compiled), module loaded, lazy load, ..."},
	[FUNCTION] = {"function", "call", TABLE_TEXT, UNIT_NONE, 0, "the call that caused it; empty = not known"},
	[DEVICE] = {"device", "device", TABLE_INTEGER, UNIT_NONE, 1, "CUDA ordinal; empty = not said"},
	[PROCESS] = {"process", "process", TABLE_INTEGER, UNIT_NONE, 2, "pid"},
	[OCCURRENCES] = {"occurrences", "times", TABLE_INTEGER, UNIT_COUNT, 0, "how often"},
	[BYTES] = {"bytes", "bytes", TABLE_INTEGER, UNIT_BYTES, 1, "of code, or of the cache; 0 = not said"},
	[TOTAL] = {"total_ns", "total", TABLE_INTEGER, UNIT_NS, 0, "time; empty = an instant"},
	[AVERAGE] = {"avg_ns", "avg", TABLE_INTEGER, UNIT_NS, 1, "each time"},
	[LEAST] = {"min_ns", "min", TABLE_INTEGER, UNIT_NS, 3, "shortest"},
	[MOST] = {"max_ns", "max", TABLE_INTEGER, UNIT_NS, 1, "longest"},
	[MEDIAN] = {"p50_ns", "p50", TABLE_INTEGER, UNIT_NS, 3, "half took at most that"},
	[P99] = {"p99_ns", "p99", TABLE_INTEGER, UNIT_NS, 3, "99 of 100 took at most that"},
	[SIDE] = {"source", "from", TABLE_TEXT, UNIT_NONE, 2, "call: time inside the host's call; driver: as CUPTI reports it"},
};

static void add_row(struct table *table, const struct process *process, const struct gpu_compile *row)
{
	table_row(table);
	table_string(table, WHAT, row->what);
	gpu_put_function(table, FUNCTION, process->gpu, row->function);
	gpu_put_device(table, DEVICE, row->device);
	table_integer(table, PROCESS, process->pid);
	table_integer(table, OCCURRENCES, (int64_t)row->occurrences);
	table_integer(table, BYTES, (int64_t)row->bytes);
	gpu_put_spread(table, TOTAL, &row->times);
	table_string(table, SIDE, row->is_host ? "call" : "driver");
}

static void fill(struct table *table, const struct request *request)
{
	if (!gpu_any(table, request))
		return;
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!process->gpu || !request_wants_process(request, process))
			continue;
		for (size_t k = 0; k < process->gpu->compile_count; k++)
			if (gpu_wants_device_number(request, process->gpu, process->gpu->compiles[k].device))
				add_row(table, process, &process->gpu->compiles[k]);
	}
	if (table->row_count)
		table_sort(table, TOTAL, false);
	table_note(table, NOTE_INFO, "Rows of calls and of the driver may tell the same time twice: they are not to be added.");
}

const struct table_kind table_compile_stats = {
	.id = "compile_stats",
	.title = "Compiling and loading device code",
	.help = "Just-in-time compilation, its cache, modules loaded, and what the driver and CUPTI took for themselves.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_DEVICE,
	.text_rows = 25,
	.needs_scan = true,
	.fill = fill,
};

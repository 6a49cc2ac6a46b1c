/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compile_stats: code that was compiled or loaded for devices while the program ran, and functions that frameworks traced or
 * compiled again.
 *
 * Rule: what CUPTI and the driver say of themselves, and the host's calls that load code, each in rows of its own: the same
 * time may stand in both, so nothing here is added up.
 */
#include "reducer/tables/compile_rows.h"
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"
#include "reducer/tables/xla_files.h"

#include <string.h>

enum { WHAT, FUNCTION, DEVICE, PROCESS, OCCURRENCES, BYTES, TOTAL, AVERAGE, LEAST, MOST, MEDIAN, P99, SIDE, MACHINE, MEMBER, COLUMNS };

static const struct table_column columns[] = {
	[WHAT] = {"what", "what", TABLE_TEXT, UNIT_NONE, 0,
		  "PTX to cubin (cache loaded, stored, compiled), module loaded, lazy load, tf.function traced, XLA, ..."},
	[FUNCTION] = {"function", "call", TABLE_TEXT, UNIT_NONE, 0,
		      "the call that caused it, or the function that was traced or compiled; empty = not known"},
	[DEVICE] = {"device", "device", TABLE_INTEGER, UNIT_NONE, 1, "CUDA ordinal; empty = not said"},
	[PROCESS] = {"process", "process", TABLE_INTEGER, UNIT_NONE, 2, "pid"},
	[OCCURRENCES] = {"occurrences", "times", TABLE_INTEGER, UNIT_COUNT, 0,
			 "how often; of traced and compiled functions how many versions ran"},
	[BYTES] = {"bytes", "bytes", TABLE_INTEGER, UNIT_BYTES, 1, "of code, or of the cache; 0 = not said"},
	[TOTAL] = {"total_ns", "total", TABLE_INTEGER, UNIT_NS, 0, "time; empty = an instant"},
	[AVERAGE] = {"avg_ns", "avg", TABLE_INTEGER, UNIT_NS, 1, "each time"},
	[LEAST] = {"min_ns", "min", TABLE_INTEGER, UNIT_NS, 3, "shortest"},
	[MOST] = {"max_ns", "max", TABLE_INTEGER, UNIT_NS, 1, "longest"},
	[MEDIAN] = {"p50_ns", "p50", TABLE_INTEGER, UNIT_NS, 3, "half took at most that"},
	[P99] = {"p99_ns", "p99", TABLE_INTEGER, UNIT_NS, 3, "99 of 100 took at most that"},
	[SIDE] = {"source", "from", TABLE_TEXT, UNIT_NONE, 2,
		  "call: time inside the host's call; driver: as CUPTI reports it; framework: what it announced; dump: files "
		  "that XLA wrote; frames: inferred from Python stacks"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static void add_row(struct table *table, const struct process *process, const struct gpu_compile *row)
{
	table_row(table);
	table_string(table, WHAT, row->what);
	gpu_put_function(table, FUNCTION, process->gpu, row->function);
	gpu_put_device(table, DEVICE, row->device);
	table_process(table, PROCESS, MACHINE, process);
	table_integer(table, OCCURRENCES, (int64_t)row->occurrences);
	table_integer(table, BYTES, (int64_t)row->bytes);
	gpu_put_spread(table, TOTAL, &row->times);
	table_string(table, SIDE, row->is_host ? "call" : "driver");
}

static void add_framework_row(struct table *table, const struct process *process, const struct compile_row *row, const char *side)
{
	table_row(table);
	table_string(table, WHAT, row->what);
	table_string(table, FUNCTION, row->function);
	if (process)
		table_process(table, PROCESS, MACHINE, process);
	table_integer(table, OCCURRENCES, (int64_t)row->versions);
	if (row->bytes)
		table_integer(table, BYTES, (int64_t)row->bytes);
	if (row->is_timed) {
		table_integer(table, TOTAL, row->total_ns);
		if (row->versions)
			table_integer(table, AVERAGE, row->total_ns / (int64_t)row->versions);
	}
	table_string(table, SIDE, side);
}

/* Returns whether versions were counted. */
static bool add_frameworks(struct table *table, const struct process *process)
{
	struct compile_rows rows = {0};
	bool has_versions = false;

	compile_rows_take(&rows, process);
	for (size_t i = 0; i < rows.count; i++) {
		add_framework_row(table, process, &rows.list[i], "framework");
		has_versions |= !rows.list[i].is_timed;
	}
	compile_rows_free(&rows);
	return has_versions;
}

/* Returns whether there is one. */
static bool add_tracings(struct table *table, const struct process *process)
{
	struct compile_rows rows = {0};
	bool has_any;

	compile_rows_take_tracings(&rows, process);
	has_any = rows.count > 0;
	for (size_t i = 0; i < rows.count; i++)
		add_framework_row(table, process, &rows.list[i], "frames");
	compile_rows_free(&rows);
	return has_any;
}

/* Modules of one name are versions of one function: JAX compiles it again for other shapes. */
static void add_dumps(struct table *table, const struct request *request)
{
	struct xla_files files = xla_files_find(request);
	struct compile_rows rows = {0};

	for (size_t i = 0; i < files.count; i++)
		compile_rows_add(&rows, "XLA module compiled", files.list[i].name, strlen(files.list[i].name),
				 files.list[i].bytes);
	for (size_t i = 0; i < rows.count; i++)
		add_framework_row(table, NULL, &rows.list[i], "dump");
	compile_rows_free(&rows);
	xla_files_free(&files);
}

static void fill(struct table *table, const struct request *request)
{
	bool has_versions = false, has_gpu = false, has_tracings = false;
	size_t placeless = 0;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process))
			continue;
		if (!request->device)
			has_versions |= add_frameworks(table, process);
		if (!request->device)
			has_tracings |= add_tracings(table, process);
		for (size_t k = 0; process->gpu && k < process->gpu->compile_count; k++) {
			placeless += request->device && process->gpu->compiles[k].device == GPU_NONE;
			if (gpu_wants_device_number(request, process->gpu, process->gpu->compiles[k].device)) {
				add_row(table, process, &process->gpu->compiles[k]);
				has_gpu = true;
			}
		}
	}
	if (!request->device)
		add_dumps(table, request);
	else
		table_note(table, NOTE_INFO, "What frameworks and XLA compiled names no device: --device leaves it out.");
	gpu_note_placeless(table, placeless, "rows of the driver and of calls");
	if (!table->row_count && !request->device) {
		if (!notes_not_in_file(table, request))
			table_note(table, NOTE_MISSING,
				   "Nothing says that code was compiled: no tf.function, torch.compile or XLA of TensorFlow ran while "
				   "ops were "
				   "recorded, and no CUDA program loaded code. What JAX compiled is known by TFPROF_XLA_DUMP=1.");
		return;
	}
	table_sort(table, TOTAL, false);
	if (has_versions)
		table_note(table, NOTE_INFERRED,
			   "Versions of traced and compiled functions are counted by the names under which they ran: one more "
			   "than the first is a retrace; one that never ran is not seen. What is traced within a function counts in "
			   "the time of both.");
	if (has_tracings)
		table_note(table, NOTE_INFERRED,
			   "Rows from frames: stretches between Python stacks that all hold frames of the compiler; short ones, and "
			   "the ends of long ones, are missed.");
	if (has_gpu)
		table_note(table, NOTE_INFO,
			   "Rows of calls and of the driver may tell the same time twice: they are not to be added.");
}

const struct table_kind table_compile_stats = {
	.id = "compile_stats",
	.title = "Compiling and loading code",
	.help = "Just-in-time compilation, its cache, modules loaded, what the driver and CUPTI took for themselves; functions "
		"that frameworks "
		"traced or compiled again; XLA.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_DEVICE,
	.text_rows = 25,
	.needs_scan = true,
	.fill = fill,
};

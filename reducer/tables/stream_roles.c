/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_roles: what each stream of each device did, and whether launches on a device took turns between streams.
 *
 * Rule: times are sums of durations; a stream's work that overlaps itself counts twice. The role is what took most of its time.
 */
#include "reducer/analysis/roles.h"
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"

enum {
	PROCESS,
	DEVICE,
	CONTEXT,
	STREAM,
	NAME,
	ROLE,
	COMPUTE,
	COLLECTIVE,
	COPY_IN,
	COPY_OUT,
	COPY_ON,
	SET,
	GRAPH,
	LAUNCHES,
	BYTES,
	FIRST,
	LAST,
	THREAD,
	ORDER,
	SWITCHES,
	MACHINE, MEMBER, COLUMNS
};

static const struct table_column columns[] = {
	[PROCESS] = {"process", "process", TABLE_INTEGER, UNIT_NONE, 1, "pid as the process saw it"},
	[DEVICE] = {"device", "device", TABLE_INTEGER, UNIT_NONE, 0, "CUDA ordinal"},
	[CONTEXT] = {"context", "context", TABLE_INTEGER, UNIT_NONE, 2, "CUPTI's context id"},
	[STREAM] = {"stream", "stream", TABLE_INTEGER, UNIT_NONE, 0, "CUPTI's stream id"},
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 2, "that the program gave it"},
	[ROLE] = {"role", "role", TABLE_TEXT, UNIT_NONE, 0, "what took most of its time"},
	[COMPUTE] = {"compute_ns", "compute", TABLE_INTEGER, UNIT_NS, 0, "kernels that are no collectives"},
	[COLLECTIVE] = {"collectives_ns", "collectives", TABLE_INTEGER, UNIT_NS, 0,
			"kernels of collectives (NCCL and the like), by name"},
	[COPY_IN] = {"copy_in_ns", "copies in", TABLE_INTEGER, UNIT_NS, 0, "host to device"},
	[COPY_OUT] = {"copy_out_ns", "copies out", TABLE_INTEGER, UNIT_NS, 0, "device to host"},
	[COPY_ON] = {"copy_device_ns", "copies on", TABLE_INTEGER, UNIT_NS, 1, "on the device and between devices"},
	[SET] = {"memset_ns", "memsets", TABLE_INTEGER, UNIT_NS, 1, "time in which memsets ran"},
	[GRAPH] = {"graph_ns", "graphs", TABLE_INTEGER, UNIT_NS, 1, "graphs recorded as a whole (TFPROF_CUDA_GRAPH=graph)"},
	[LAUNCHES] = {"occurrences", "times", TABLE_INTEGER, UNIT_COUNT, 0, "pieces of work, those with impossible times left out"},
	[BYTES] = {"bytes", "bytes", TABLE_INTEGER, UNIT_BYTES, 1, "copied and set by them"},
	[FIRST] = {"first_ns", "first", TABLE_INTEGER, UNIT_NS, 2, "start of its first work, from the start of the run"},
	[LAST] = {"last_ns", "last", TABLE_INTEGER, UNIT_NS, 2, "end of its last"},
	[THREAD] = {"threads", "launched by", TABLE_TEXT, UNIT_NONE, 2,
		    "one thread, or several, by the calls that were recorded; empty = none was"},
	[ORDER] = {"order", "order", TABLE_TEXT, UNIT_NONE, 1,
		   "of the device: serialised = one stream's work follows itself; interleaved = work of several streams takes "
		   "turns"},
	[SWITCHES] = {"switches", "turns", TABLE_INTEGER, UNIT_COUNT, 2,
		      "pieces of its work before which another stream of the device had worked"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

/* Of a process: places of streams that have names, and whether work of a device's streams takes turns. */
struct streams {
	const struct process *process;
	struct number_map names; /* context, stream -> place in gpu->streams */
	bool is_interleaved;	 /* of the device of the rows that are put */
};

static void find_names(struct streams *streams)
{
	const struct gpu *gpu = streams->process->gpu;

	for (size_t i = 0; i < gpu->stream_count; i++)
		if (gpu->streams[i].name[0] &&
		    number_map_find(&streams->names, gpu->streams[i].context, gpu->streams[i].id) == NUMBER_MAP_NONE &&
		    number_map_set(&streams->names, gpu->streams[i].context, gpu->streams[i].id, (uint32_t)i) != 0)
			return; /* so many streams: the others have no names here */
}

static const char *stream_name(const struct streams *streams, const struct stream_row *row)
{
	uint32_t place = number_map_find(&streams->names, row->context, row->stream);

	return place == NUMBER_MAP_NONE ? NULL : streams->process->gpu->streams[place].name;
}

/* Turns are taken where a tenth of the device's work follows another stream's: of the rows from `first` on, which are by device. */
static bool is_interleaved(const struct roles *roles, size_t first)
{
	uint64_t switches = 0, all = 0;

	for (size_t i = first; i < roles->count && roles->rows[i].device == roles->rows[first].device; i++) {
		switches += roles->rows[i].switches;
		for (size_t r = 0; r < STREAM_ROLES; r++)
			all += roles->rows[i].counts[r];
	}
	return switches * 10 > all;
}

static void put_row(struct table *table, const struct streams *streams, const struct stream_row *row)
{
	enum stream_role most = ROLE_COMPUTE;
	uint64_t count = 0;

	table_row(table);
	for (enum stream_role r = 0; r < STREAM_ROLES; r++) {
		most = row->ns[r] > row->ns[most] ? r : most;
		count += row->counts[r];
		table_integer(table, COMPUTE + (size_t)r, (int64_t)row->ns[r]);
	}
	table_process(table, PROCESS, MACHINE, streams->process);
	gpu_put_device(table, DEVICE, row->device);
	table_integer(table, CONTEXT, row->context);
	table_integer(table, STREAM, row->stream);
	table_string(table, NAME, stream_name(streams, row));
	table_string(table, ROLE, stream_role_name(most));
	table_integer(table, LAUNCHES, (int64_t)count);
	table_integer(table, BYTES, (int64_t)row->bytes);
	table_integer(table, FIRST, row->first_ns);
	table_integer(table, LAST, row->last_ns);
	if (row->first_thread)
		table_string(table, THREAD, row->other_threads ? "several" : "one");
	table_string(table, ORDER, streams->is_interleaved ? "interleaved" : "serialised");
	table_integer(table, SWITCHES, (int64_t)row->switches);
}

static void fill(struct table *table, const struct request *request)
{
	if (!gpu_any(table, request))
		return;
	for (size_t p = 0; p < request->run->process_count; p++) {
		const struct roles *roles = analyses_process(request->analyses, &analysis_roles, p);
		struct streams streams = {.process = &request->run->processes[p]};
		if (!roles || !roles->count)
			continue;
		find_names(&streams);
		for (size_t i = 0; i < roles->count; i++) {
			if (!i || roles->rows[i].device != roles->rows[i - 1].device)
				streams.is_interleaved = is_interleaved(roles, i);
			put_row(table, &streams, &roles->rows[i]);
		}
		number_map_free(&streams.names);
	}
	gpu_notes(table, request);
}

static const struct analysis_kind *const needs[] = {&analysis_roles, NULL};
const struct table_kind table_stream_roles = {
	.id = "stream_roles",
	.title = "Roles of streams",
	.help = "What each stream of each GPU did: compute, collectives, copies in and out; whether launches take turns between "
		"streams.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = GPU_FILTERS | FILTER_STEP,
	.text_rows = 30,
	.needs_scan = true,
	.analyses = needs,
	.nothing = "No work of a device was recorded: TFPROF_CUDA=cupti tells of it, where there is CUPTI.",
	.fill = fill,
};

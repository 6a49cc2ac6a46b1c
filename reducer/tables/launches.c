/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launches: every kernel launch, copy, set and graph launch, with both its sides.
 *
 * Rule: one row a launch, by time; what one side does not know stays empty, and the row says why it has one side only.
 */
#include "reducer/model/gpu_launches.h"
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/process_cells.h"

#include <stdlib.h>

enum {
	HOST, HOST_DURATION, DELAY, DEVICE_START, DEVICE_DURATION, KIND, NAME, PAIRING, REASON, PROCESS, THREAD, DEVICE, STREAM,
	CORRELATION, FUNCTION, OP, BYTES, RECORDS, GRAPH, IMPOSSIBLE, STACK, MACHINE, MEMBER, COLUMNS
};

static const struct table_column columns[] = {
	[HOST] = {"host_start_ns", "host start", TABLE_INTEGER, UNIT_NS, 0, "when the call began; empty = no call is known"},
	[HOST_DURATION] = {"host_duration_ns", "in call", TABLE_INTEGER, UNIT_NS, 1, "time inside the call", "call_time"},
	[DELAY] = {"queue_delay_ns", "delay", TABLE_INTEGER, UNIT_NS, 1,
		   "from the call's begin to the device's start; may be negative by the clocks' error"},
	[DEVICE_START] = {"device_start_ns", "device start", TABLE_INTEGER, UNIT_NS, 0,
			  "when the device began; of several records the first"},
	[DEVICE_DURATION] = {"device_duration_ns", "on device", TABLE_INTEGER, UNIT_NS, 0,
			     "how long it ran; of several records from the first start to the last end", "device_time"},
	[KIND] = {"kind", "kind", TABLE_TEXT, UNIT_NONE, 0, "launch (a kernel), copy, set, graph"},
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 0, "kernel, or direction of the copy"},
	[PAIRING] = {"pairing", "pairing", TABLE_TEXT, UNIT_NONE, 0,
		     "paired; device-only; host-only; not-launched (the call started nothing: it failed, or was captured)"},
	[REASON] = {"reason", "reason", TABLE_TEXT, UNIT_NONE, 2, "why it is not paired"},
	[PROCESS] = {"process", "process", TABLE_INTEGER, UNIT_NONE, 3, "pid"},
	[THREAD] = {"thread", "thread", TABLE_INTEGER, UNIT_NONE, 2, "kernel thread id of the caller"},
	[DEVICE] = {"device", "device", TABLE_INTEGER, UNIT_NONE, 1, "CUDA ordinal"},
	[STREAM] = {"stream", "stream", TABLE_INTEGER, UNIT_NONE, 1, "CUPTI's stream id"},
	[CORRELATION] = {"correlation_id", "corr.", TABLE_INTEGER, UNIT_NONE, 2,
			 "what joins the call and its records; 0 = none"},
	[FUNCTION] = {"function", "function", TABLE_TEXT, UNIT_NONE, 2, "the call"},
	[OP] = {"op_name", "op", TABLE_TEXT, UNIT_NONE, 2, "innermost op or range that the thread was in"},
	[BYTES] = {"bytes", "bytes", TABLE_INTEGER, UNIT_BYTES, 2, "copied or set"},
	[RECORDS] = {"records", "records", TABLE_INTEGER, UNIT_COUNT, 3, "device records of it: a graph has many"},
	[GRAPH] = {"graph", "graph", TABLE_INTEGER, UNIT_NONE, 3, "id of the executable graph"},
	[IMPOSSIBLE] = {"impossible", "impossible", TABLE_TEXT, UNIT_NONE, 3, "what cannot be about its device times"},
	[STACK] = {"stack", "stack", TABLE_STACK, UNIT_NONE, 4, "call stack of the call"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

/* Names of kernels as people read them, by place in gpu->names: made once, for that takes longer than all the rest of a row. */
struct names {
	struct text *texts;
	size_t count;
};

static struct names names_make(const struct gpu *gpu)
{
	return (struct names){.texts = base_alloc(gpu->name_count, sizeof(struct text)), .count = gpu->name_count};
}

static void names_free(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		text_free(&names->texts[i]);
	free(names->texts);
}

static void put_kernel(struct table *table, const struct gpu *gpu, struct names *names, uint32_t kernel)
{
	struct text *text = kernel < names->count ? &names->texts[kernel] : NULL;

	if (text && !text->bytes)
		gpu_kernel_text(text, gpu, kernel);
	if (text)
		table_text(table, NAME, text->length ? text->bytes : "", text->length);
}

static void put_name(struct table *table, const struct gpu *gpu, struct names *names, const struct gpu_launch *launch)
{
	if (launch->kind == GPU_LAUNCH)
		put_kernel(table, gpu, names, launch->shape < gpu->shape_count ? gpu->shapes[launch->shape].kernel : launch->kernel);
	else if (launch->kind == GPU_COPY && launch->records)
		table_string(table, NAME, gpu_copy_name(launch->copy_kind));
	else if (launch->kind == GPU_SET)
		table_string(table, NAME, "set");
}

static void put_impossible(struct table *table, unsigned bits)
{
	static const char *const texts[GPU_IMPOSSIBLE_KINDS] = {"no time", "ends before its start", "starts before its call",
								"ends in the future"};

	for (unsigned i = 0; i < GPU_IMPOSSIBLE_KINDS; i++)
		if (bits >> i & 1) {
			table_string(table, IMPOSSIBLE, texts[i]);
			return;
		}
}

static void put_times(struct table *table, const struct gpu_launch *launch)
{
	if (launch->host_ns != TIME_UNKNOWN) {
		table_integer(table, HOST, launch->host_ns);
		table_integer(table, HOST_DURATION, (int64_t)launch->host_duration_ns);
	}
	if (launch->device_ns != TIME_UNKNOWN) {
		table_integer(table, DEVICE_START, launch->device_ns);
		table_integer(table, DEVICE_DURATION, (int64_t)launch->device_span_ns);
	}
	if (launch->host_ns != TIME_UNKNOWN && launch->device_ns != TIME_UNKNOWN)
		table_integer(table, DELAY, launch->device_ns - launch->host_ns);
}

static void add_row(struct table *table, size_t number, const struct process *process, struct names *names,
		    const struct gpu_launch *launch)
{
	const struct gpu *gpu = process->gpu;

	table_row(table);
	put_times(table, launch);
	table_string(table, KIND, gpu_kind_name(launch->kind));
	put_name(table, gpu, names, launch);
	table_string(table, PAIRING, gpu_pairing_name(launch->pairing));
	if (launch->reason)
		table_string(table, REASON, gpu_reason_text(launch->reason));
	table_process(table, PROCESS, MACHINE, process);
	gpu_put_thread(table, THREAD, process, launch->thread);
	if (launch->queue < gpu->queue_count) {
		gpu_put_device(table, DEVICE, gpu->queues[launch->queue].device);
		table_integer(table, STREAM, gpu->queues[launch->queue].stream);
	}
	table_integer(table, CORRELATION, (int64_t)launch->correlation);
	gpu_put_function(table, FUNCTION, gpu, launch->function);
	gpu_put_op(table, OP, process, launch->op);
	if (launch->kind == GPU_COPY || launch->kind == GPU_SET)
		table_integer(table, BYTES, (int64_t)launch->bytes);
	table_integer(table, RECORDS, launch->records);
	if (launch->graph)
		table_integer(table, GRAPH, launch->graph);
	put_impossible(table, launch->impossible);
	if (launch->stack)
		table_stack(table, STACK, (uint32_t)number, launch->stack);
}

static void fill(struct table *table, const struct request *request)
{
	size_t limit = request_row_limit(request, table->kind), count = 0, placeless = 0;
	struct gpu_launch launch;

	if (!gpu_any(table, request))
		return;
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!process->gpu || !request_wants_process(request, process))
			continue;
		struct names names = names_make(process->gpu);
		while (gpu_launches_next(process->gpu, &launch)) {
			if (!gpu_wants_thread(request, process, launch.thread))
				continue;
			placeless += (request->device || request->stream) && launch.queue >= process->gpu->queue_count;
			if (gpu_wants_queue(request, process->gpu, launch.queue) && count++ < limit)
				add_row(table, i, process, &names, &launch);
		}
		names_free(&names);
	}
	table->omitted_count = count - table->row_count;
	gpu_note_placeless(table, placeless, "launches without a record of a device");
	gpu_notes(table, request);
}

const struct table_kind table_launches = {
	.id = "launches",
	.title = "Launches",
	.help = "Every launch with what the host and what the device know of it, paired by correlation id.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = GPU_FILTERS,
	.text_rows = 40,
	.needs_scan = true,
	.needs_launches = true,
	.is_long = true,
	.fill = fill,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the pass over the records takes of GPUs: unpacks records and hands them to the files that know what they mean.
 *
 * Rule: one function a kind of record; an argument record waits for the gpu_call right behind it in its stream.
 */
#include "reducer/model/gpu_scan.h"

#include "reducer/model/clock.h"

#include <stdlib.h>
#include <string.h>

#define VALUE(f) batch_value(batch, i, fields[f])
#define OUT_OF_MEMORY 2u /* cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY; a library's own codes mean other things */

static void keep_arguments(struct gpu_scan *scan, size_t stream, enum gpu_kind kind, const struct batch *batch, size_t i,
			   const int *fields, int count)
{
	struct gpu_arguments *arguments = &scan->arguments[stream];

	scan->any = 1;
	arguments->kind = kind;
	arguments->is_library = kind == GPU_LIBRARY;
	arguments->is_object = 0;
	for (int f = 0; f < count; f++)
		arguments->values[f] = VALUE(f);
}

static void take_launch(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	keep_arguments(state, stream, GPU_LAUNCH, batch, i, fields, 9);
}

static void take_copy(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	keep_arguments(state, stream, GPU_COPY, batch, i, fields, 5);
}

static void take_set(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	keep_arguments(state, stream, GPU_SET, batch, i, fields, 4);
}

static void take_alloc(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	keep_arguments(state, stream, GPU_ALLOC, batch, i, fields, 7);
}

static void take_free(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	keep_arguments(state, stream, GPU_FREE, batch, i, fields, 4);
}

static void take_object(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct gpu_scan *scan = state;

	keep_arguments(scan, stream, GPU_OTHER, batch, i, fields, 2);
	scan->arguments[stream].is_object = 1;
}

static void take_library(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	keep_arguments(state, stream, GPU_LIBRARY, batch, i, fields, GPU_LIBRARY_ARGUMENTS);
}

static void take_begin(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	gpu_library_begin(state, stream, (uint32_t)VALUE(0));
}

static void sum_module_call(struct gpu_scan *scan, const struct gpu_call *call)
{
	const struct gpu_compile key = {.what = "call that loads or unloads code", .device = GPU_NONE, .function = call->function,
					.is_host = 1};

	gpu_sum_compile(scan, &key, call->duration, 1, 0);
}

/* Calls besides launches that records of the device may name. */
static int is_answered(enum gpu_kind kind)
{
	return kind == GPU_ALLOC || kind == GPU_FREE || kind == GPU_EVENT || kind == GPU_MODULE || kind == GPU_CONTEXT ||
	       kind == GPU_GRAPH_WORK || kind == GPU_OTHER;
}

/* All but launches that are as they should be. */
static void take_unusual(struct gpu_scan *scan, const struct gpu_call *call, struct gpu_arguments *arguments)
{
	if (call->kind == GPU_LIBRARY)
		gpu_library_end(scan, call, arguments);
	else if (call->kind == GPU_ALLOC || call->kind == GPU_FREE)
		gpu_memory_call(scan, call, arguments);
	else if (call->kind == GPU_MODULE)
		sum_module_call(scan, call);
	else if (call->result == 0 && call->function != GPU_NONE && scan->gpu->functions[call->function].ending != GPU_ENDS_NOTHING)
		gpu_memory_context(scan, call, arguments);
	if (call->result == OUT_OF_MEMORY && call->kind != GPU_LIBRARY)
		gpu_memory_refused(scan, call, arguments);
	if (call->result != 0 && call->kind != GPU_LIBRARY)
		gpu_fault_call(scan, call, arguments);
	if ((call->kind >= GPU_LAUNCH && call->kind <= GPU_GRAPH) || (call->correlation != 0 && is_answered(call->kind)) ||
	    call->kind == GPU_SYNC)
		gpu_pair_call(scan, call, arguments);
}

/* The op that the stream's thread is in. */
static inline uint32_t op_of(struct gpu_scan *scan, size_t stream)
{
	const struct scan_ops *ops = &scan->scan->ops;
	struct gpu_arguments *arguments = &scan->arguments[stream];
	uint64_t seen = 1 + (ops->changes[0] == NULL ? 0 : *ops->changes[0]) + (ops->changes[1] == NULL ? 0 : *ops->changes[1]);

	if (arguments->seen != seen) {
		arguments->op = ops->current == NULL ? 0 : ops->current(ops->state, stream, NULL);
		arguments->seen = seen;
	}
	return arguments->op;
}

/* The row of the function that the call before named, where this names it again. */
static inline uint32_t function_at(struct gpu_scan *scan, uint32_t number)
{
	if (scan->last_function.row == 0 || scan->last_function.number != number) {
		scan->last_function.number = number;
		scan->last_function.row = gpu_function_at(scan, number) + 1; /* NONE + 1 is 0 */
	}
	return scan->last_function.row - 1;
}

static void take_calls(void *state, size_t stream, const struct batch *batch, size_t from, size_t to, const int *fields)
{
	struct gpu_scan *scan = state;
	const struct batch_kind *kind = batch->kinds[batch->tags[from]];
	const uint64_t *durations = scan_values(kind, batch->rows[from], fields[0]);
	const uint64_t *correlations = scan_values(kind, batch->rows[from], fields[1]);
	const uint64_t *functions = scan_values(kind, batch->rows[from], fields[2]);
	const uint64_t *stacks = scan_values(kind, batch->rows[from], fields[3]);
	const uint64_t *contexts = scan_values(kind, batch->rows[from], fields[4]);
	const uint64_t *results = scan_values(kind, batch->rows[from], fields[5]);
	const uint64_t *flags = scan_values(kind, batch->rows[from], fields[6]);
	struct gpu_arguments *arguments = &scan->arguments[stream];
	struct gpu_call call; /* set field by field: clearing it first costs as much as all the rest */

	scan->any = 1;
	call.stream = stream;
	call.thread = scan->scan->process->log->streams[stream].thread;
	call.op = op_of(scan, stream); /* calls change nothing about it */
	for (size_t i = 0; i < to - from; i++) {
		call.end = batch->times[from + i];
		call.duration = durations[i];
		call.correlation = correlations[i];
		call.function = function_at(scan, (uint32_t)functions[i]);
		call.stack = scan_stack(scan->scan, stream, call.end, (uint32_t)stacks[i]);
		call.context = (uint32_t)contexts[i];
		call.result = (uint32_t)results[i];
		call.flags = (uint32_t)flags[i];
		call.begin = call.duration > call.end ? 0 : call.end - call.duration;
		call.kind = call.function == GPU_NONE ? GPU_OTHER : scan->gpu->functions[call.function].kind;
		gpu_sum_call(scan, &call);
		gpu_python_call(scan, &call);
		if (call.kind < GPU_LAUNCH || call.kind > GPU_SET || !gpu_usual_call(scan, &call, arguments))
			take_unusual(scan, &call, arguments);
		arguments->kind = GPU_OTHER;
		arguments->is_library = arguments->is_object = 0;
	}
}

static void take_call(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	take_calls(state, stream, batch, i, i + 1, fields);
}

/* The fields that all device records share: start, duration, correlation, graph, node. */
static struct gpu_record record_of(struct gpu_scan *scan, enum gpu_kind kind, size_t stream, const struct batch *batch, size_t i,
				   const int *fields)
{
	const struct batch_kind *rows = batch->kinds[batch->tags[i]];
	uint16_t row = batch->rows[i];
	uint32_t op = scan->arguments[stream].given_op;

	scan->any = 1;
	scan->arguments[stream].given_op = 0;
	return (struct gpu_record){.kind = kind, .time = batch->times[i], .start = scan_value(rows, row, fields[0]),
				   .duration = scan_value(rows, row, fields[1]), .correlation = scan_value(rows, row, fields[2]),
				   .graph = (uint32_t)scan_value(rows, row, fields[3]), .node = scan_value(rows, row, fields[4]),
				   .shape = GPU_NONE, .queue = GPU_NONE, .source_device = GPU_NONE, .destination_device = GPU_NONE,
				   .given_op = op};
}

/* What the file of another profiler says the next device record was for; most ops come again and again. */
static void take_device_op(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct gpu_scan *scan = state;
	const struct scan_ops *ops = &scan->scan->ops;
	uint64_t id = VALUE(0);
	struct gpu_given *given = &scan->given[id % GPU_RECENT];

	if (given->next != id + 1) {
		const char *name = ops->name == NULL ? "" : ops->name(ops->name_state, id);
		*given = (struct gpu_given){id + 1, *name == 0 ? 0 : op_names_number(scan->scan->op_names, name)};
	}
	scan->arguments[stream].given_op = given->op;
}

static void take_work(struct gpu_scan *scan, const struct gpu_record *record)
{
	if (!gpu_usual_record(scan, record))
		gpu_pair_record(scan, record);
}

static void take_kernel(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct gpu_scan *scan = state;
	struct gpu_record record = record_of(scan, GPU_LAUNCH, stream, batch, i, fields);

	record.shape = gpu_shape_at(scan, VALUE(5));
	record.queue = gpu_queue_at(scan, VALUE(6));
	take_work(scan, &record);
}

static void take_kernels(void *state, size_t stream, const struct batch *batch, size_t from, size_t to, const int *fields)
{
	struct gpu_scan *scan = state;
	const struct batch_kind *kind = batch->kinds[batch->tags[from]];
	uint16_t row = batch->rows[from];
	const struct gpu_kernels kernels = {.time = batch->times + from,
					    .start = scan_values(kind, row, fields[0]),
					    .duration = scan_values(kind, row, fields[1]),
					    .correlation = scan_values(kind, row, fields[2]),
					    .graph = scan_values(kind, row, fields[3]),
					    .node = scan_values(kind, row, fields[4]),
					    .shape = scan_values(kind, row, fields[5]),
					    .queue = scan_values(kind, row, fields[6]),
					    .count = to - from};
	size_t at = 0;

	scan->any = 1;
	while (at < kernels.count) {
		if (scan->arguments[stream].given_op == 0)
			at = gpu_usual_kernels(scan, &kernels, at);
		if (at < kernels.count)
			take_kernel(state, stream, batch, from + at++, fields);
	}
}

static void take_device_copy(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct gpu_scan *scan = state;
	struct gpu_record record = record_of(scan, GPU_COPY, stream, batch, i, fields);

	record.bytes = VALUE(5);
	record.queue = gpu_queue_at(scan, VALUE(6));
	record.copy_kind = (uint32_t)VALUE(7);
	record.source = (uint32_t)VALUE(8);
	record.destination = (uint32_t)VALUE(9);
	record.flags = (uint32_t)VALUE(10);
	record.source_device = (uint32_t)VALUE(11);
	record.destination_device = (uint32_t)VALUE(12);
	take_work(scan, &record);
}

static void take_device_set(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct gpu_scan *scan = state;
	struct gpu_record record = record_of(scan, GPU_SET, stream, batch, i, fields);

	record.bytes = VALUE(5);
	record.queue = gpu_queue_at(scan, VALUE(6));
	record.destination = (uint32_t)VALUE(7);
	record.flags = (uint32_t)VALUE(8);
	take_work(scan, &record);
}

static void take_graph_run(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct gpu_scan *scan = state;
	struct gpu_record record = record_of(scan, GPU_GRAPH, stream, batch, i, fields);

	record.queue = gpu_queue_at(scan, VALUE(5));
	gpu_pair_record(scan, &record);
}

static void take_device_wait(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct gpu_scan *scan = state;
	struct gpu_record record = record_of(scan, GPU_SYNC, stream, batch, i, fields);

	record.copy_kind = (uint32_t)VALUE(5);
	record.source = (uint32_t)VALUE(6);
	record.destination = (uint32_t)VALUE(7);
	record.flags = (uint32_t)VALUE(8);
	gpu_pair_wait(scan, &record);
}

static uint32_t function_of(struct gpu_scan *scan, uint64_t correlation)
{
	const struct gpu_flight *flight = gpu_pair_find(scan, correlation);

	return flight != NULL && flight->has & FLIGHT_CALL ? flight->function : GPU_NONE;
}

static void take_overhead(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	static const char *const kinds[] = {"", "CUPTI: buffer flush", "CUPTI: instrumentation", "CUPTI: resources", "module load",
					    "lazy function load", "command queue full", "CUPTI: buffer request", "managed memory set-up"};
	struct gpu_scan *scan = state;
	uint64_t start = VALUE(0), duration = VALUE(1), kind = VALUE(3);
	struct gpu_compile key = {.what = "driver or CUPTI: other", .device = GPU_NONE, .function = function_of(scan, VALUE(2))};

	(void)stream;
	scan->any = 1;
	if (kind == 1)
		key.what = "driver compiler";
	else if (kind % 65536 == 0 && kind / 65536 > 0 && kind / 65536 < sizeof kinds / sizeof *kinds)
		key.what = kinds[kind / 65536];
	scan->gpu->counts.overheads++;
	if (duration <= INT64_MAX)
		scan->gpu->counts.overhead_ns += duration;
	gpu_sum_compile(scan, &key, duration, start != 0 && duration <= INT64_MAX, 0);
}

static void take_jit(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	static const char *const kinds[2][4] = {
		{"PTX to cubin", "PTX to cubin: cache loaded", "PTX to cubin: cache stored", "PTX to cubin: compiled"},
		{"NVVM IR to PTX", "NVVM IR to PTX: cache loaded", "NVVM IR to PTX: cache stored", "NVVM IR to PTX: compiled"}};
	struct gpu_scan *scan = state;
	uint64_t start = VALUE(0), duration = VALUE(1), entry = VALUE(3), operation = VALUE(4);
	struct gpu_compile key = {.device = (uint32_t)VALUE(5), .function = function_of(scan, VALUE(2))};

	(void)stream;
	scan->any = 1;
	key.what = kinds[entry == 2][operation < 4 ? operation : 0];
	gpu_sum_compile(scan, &key, duration, start != 0 && duration <= INT64_MAX, VALUE(6));
}

static void take_module(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct gpu_scan *scan = state;
	const struct gpu_compile key = {.what = VALUE(1) == 2 ? "module unloaded" : "module loaded", .device = GPU_NONE,
					.function = GPU_NONE};

	(void)stream;
	scan->any = 1;
	gpu_sum_compile(scan, &key, 0, 0, VALUE(0));
}

static void take_clock(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct gpu_scan *scan = state;
	uint64_t origin = scan->scan->process->log->header.origin.ticks, ticks = VALUE(0);

	(void)stream;
	scan->passed_ns = 0;
	if (ticks >= origin)
		gpu_clock_realtime(scan->clock, ticks - origin, VALUE(1), VALUE(2));
}

static void take_gpu_clock(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct gpu_scan *scan = state;
	uint64_t origin = scan->scan->process->log->header.origin.ticks, ticks = VALUE(0);

	(void)stream;
	scan->any = 1;
	scan->gpu->has_clock = 1;
	scan->passed_ns = 0;
	if (ticks >= origin)
		gpu_clock_reading(scan->clock, ticks - origin, VALUE(2), VALUE(1));
}

static void take_managed(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct gpu_scan *scan = state;
	struct gpu_counts *counts = &scan->gpu->counts;
	uint64_t value = VALUE(0), kind = VALUE(1);

	(void)stream;
	scan->any = 1;
	if (kind == 1 || kind == 2)
		counts->managed_bytes[kind - 1] += value;
	else if (kind == 3 || kind == 4)
		counts->managed_faults[kind - 3] += value;
}

enum { ALLOCATION_NODE = 10 }; /* CU_GRAPH_NODE_TYPE_MEM_ALLOC */

static void take_node(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct gpu_scan *scan = state;
	const struct scan_ops *ops = &scan->scan->ops;
	uint64_t original = VALUE(2);
	struct gpu_graph *graph;

	scan->any = 1;
	scan->gpu->counts.graph_nodes += original == 0 && fields[3] >= 0 && VALUE(3) == ALLOCATION_NODE;
	gpu_node_made(scan, VALUE(1), original, original != 0 || ops->current == NULL ? 0 : ops->current(ops->state, stream, NULL));
	graph = original == 0 ? NULL : gpu_graph_at(scan, (uint32_t)VALUE(0));
	if (graph != NULL)
		graph->nodes++;
}

static void take_state(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct gpu_scan *scan = state;
	int value = (int)VALUE(0);

	(void)stream;
	scan->any = 1;
	if (value == 6) {
		scan->ends = batch->times[i];
		return;
	}
	if (value == 1) {
		scan->first_on = scan->first_on == 0 ? batch->times[i] : scan->first_on;
		scan->last_on = batch->times[i];
	} else if (value == 4 && scan->state == 1) {
		scan->last_off = batch->times[i];
	}
	scan->state = value >= 0 && value <= 5 ? value : -1;
	scan->gpu->state = scan->state;
}

static const struct scan_record records[] = {
	{"gpu_call", take_call, 0, {"duration", "correlation", "function", "stack", "context", "result", "flags"}, take_calls},
	{"gpu_launch", take_launch, NULL, {"kernel", "stream", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared"}},
	{"gpu_copy", take_copy, NULL, {"bytes", "destination", "source", "stream", "kind"}},
	{"gpu_set", take_set, NULL, {"bytes", "destination", "stream", "value"}},
	{"gpu_alloc", take_alloc, NULL, {"address", "bytes", "stream", "pool", "device", "flavour", "context"}},
	{"gpu_free", take_free, NULL, {"address", "stream", "flavour", "bytes"}},
	{"gpu_object", take_object, NULL, {"object", "other"}},
	{"library_call", take_library, NULL, {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}},
	{"call_begin", take_begin, NULL, {"function"}},
	{"kernel", take_kernel, NULL, {"start", "duration", "correlation", "graph", "node", "shape", "queue"}, take_kernels},
	{"device_copy", take_device_copy, 0,
	 {"start", "duration", "correlation", "graph", "node", "bytes", "queue", "kind", "source", "destination", "flags",
	  "source_device", "destination_device"}},
	{"device_set", take_device_set, 0,
	 {"start", "duration", "correlation", "graph", "node", "bytes", "queue", "memory", "flags"}},
	{"graph_run", take_graph_run, NULL, {"start", "duration", "correlation", "graph", "", "queue"}},
	{"device_wait", take_device_wait, NULL, {"start", "duration", "correlation", "", "", "kind", "context", "stream", "event"}},
	{"device_memory", gpu_take_device_memory, 0,
	 {"timestamp", "correlation", "address", "bytes", "operation", "kind", "flags", "device", "pool", "pool_bytes", "pool_used"}},
	{"device_pool", gpu_take_device_pool, NULL, {"address", "operation", "device", "bytes", "used", "threshold", "timestamp", "kind"}},
	{"device_room", gpu_take_device_room, NULL, {"device", "free", "total"}},
	{"context_end", gpu_take_context_end, NULL, {"context"}},
	{"window", gpu_take_window, NULL, {"is_open"}},
	{"gpu_live", gpu_take_live, NULL, {"flavour", "blocks", "bytes", "device"}},
	{"gpu_overhead", take_overhead, NULL, {"start", "duration", "correlation", "kind"}},
	{"jit", take_jit, NULL, {"start", "duration", "correlation", "entry", "operation", "device", "bytes"}},
	{"gpu_module", take_module, NULL, {"bytes", "operation"}},
	{"gpu_clock", take_gpu_clock, NULL, {"ticks", "width", "timestamp"}},
	{"clock", take_clock, NULL, {"ticks", "realtime", "width"}},
	{"managed", take_managed, NULL, {"value", "kind"}},
	{"device_op", take_device_op, NULL, {"op"}},
	{"graph_node", take_node, NULL, {"graph", "node", "original", "kind"}},
	{"gpu_state", take_state, NULL, {"state"}},
};

static void drop(void *state)
{
	struct gpu_scan *scan = state;
	struct number_map *const maps[] = {
		&scan->function_of, &scan->device_of, &scan->context_of, &scan->stream_of, &scan->shape_of, &scan->queue_of, &scan->name_of,
		&scan->text_of, &scan->stream_rows, &scan->kernel_rows, &scan->copy_rows, &scan->api_rows, &scan->wait_rows,
		&scan->library_rows, &scan->graph_rows, &scan->compile_rows, &scan->pool_rows, &scan->node_rows, &scan->stack_rows};

	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		number_map_free(maps[i]);
	flights_free(&scan->flights);
	gpu_usual_free(scan);
	gpu_memory_free(scan);
	gpu_fault_free(&scan->fault);
	gpu_free(scan->gpu);
	free(scan->arguments);
	free(scan->pending);
	free(scan->instances);
	free(scan->texts);
	free(scan->node_ops);
	free(scan);
}

static int open_scan(struct gpu_scan *scan)
{
	const struct process *process = scan->scan->process;
	const struct run_options *options = scan->scan->options;
	double ns_per_tick = process->clock->ns_per_tick > 0 ? process->clock->ns_per_tick : 1;

	scan->gpu = calloc(1, sizeof *scan->gpu);
	scan->arguments = calloc(process->log->stream_count + 1, sizeof *scan->arguments);
	if (scan->gpu == NULL || scan->arguments == NULL || flights_begin(&scan->flights, 1 / ns_per_tick) != 0)
		return -1;
	scan->gpu->clock = calloc(1, sizeof *scan->gpu->clock);
	scan->clock = scan->gpu->clock;
	if (scan->clock == NULL || gpu_clock_begin(scan->clock, process) != 0)
		return -1;
	scan->flights.settle = gpu_pair_settle;
	scan->flights.context = scan;
	scan->state = scan->gpu->state = -1;
	scan->from_ns = options == NULL || !options->has_window ? INT64_MIN : options->from_ns;
	scan->to_ns = options == NULL || !options->has_window ? INT64_MAX : options->to_ns;
	scan->has_window = options != NULL && options->has_window;
	scan->keeps_launches = options != NULL && options->wants_launches;
	scan->without = options == NULL ? 0 : options->without;
	gpu_usual_begin(scan);
	return 0;
}

static void *begin(struct scan *pass)
{
	struct gpu_scan *scan = calloc(1, sizeof *scan);

	if (scan == NULL)
		return NULL;
	scan->scan = pass;
	if (open_scan(scan) == 0)
		return scan;
	drop(scan);
	return NULL;
}

static int finish(void *state)
{
	struct gpu_scan *scan = state;
	struct gpu *gpu = scan->gpu;

	gpu_usual_end(scan);
	flights_end(&scan->flights);
	gpu_fault_end(scan);
	if (!scan->any && gpu->function_count == 0 && gpu->device_count == 0)
		return 0;
	for (size_t i = 0; i < gpu->sweep_count; i++) {
		gpu_sweep_end(&gpu->sweeps[i]);
		gpu->counts.late_lanes += gpu->sweeps[i].late;
	}
	gpu->counts.left_out += scan->flights.is_cut != 0;
	if (gpu_memory_finish(scan) != 0)
		return -1;
	scan->scan->process->gpu = gpu;
	scan->gpu = NULL;
	return 0;
}

const struct scan_subject gpu_subject = {
	.records = records,
	.record_count = sizeof records / sizeof *records,
	.facts = gpu_facts,
	.fact_count = GPU_FACT_KINDS,
	.begin = begin,
	.finish = finish,
	.free = drop,
	.times = gpu_times,
	.close = gpu_close,
};

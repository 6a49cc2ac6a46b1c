/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up kernels, copies, calls, waits, graphs and compilations by what distinguishes them.
 *
 * Rule: memory follows the number of distinct things, never the number of records; what finds no room is counted.
 */
#include "reducer/model/gpu_scan.h"

#include <stdlib.h>

/* The sweep of a device, + 1; 0 where there is no room. */
static uint32_t sweep_of(struct gpu_scan *scan, uint32_t device)
{
	struct gpu *gpu = scan->gpu;
	struct gpu_sweep *sweep;

	for (size_t i = 0; i < gpu->sweep_count; i++)
		if (gpu->sweeps[i].device == device)
			return (uint32_t)i + 1;
	sweep = gpu->sweep_count < GPU_DEVICES_MAX ? GPU_ROOM(scan, sweeps, sweep_count) : NULL;
	if (sweep == NULL)
		return 0;
	sweep->device = device;
	sweep->queues = &gpu->queues;
	sweep->is_total = (scan->without & RUN_SUM_CURVES) != 0;
	return (uint32_t)gpu->sweep_count;
}

/* A copy that the processor makes, see GPU_COPY_ON_HOST. */
static inline int is_on_host(const struct gpu_record *record)
{
	return record->kind == GPU_COPY && record->copy_kind == GPU_COPY_ON_HOST;
}

/*
 * The queue does something for the first time. Work of one stream runs on several hardware queues: computing on one, copies on
 * others, and their first one has the lane of all.
 */
static void begin_queue(struct gpu_scan *scan, uint32_t place)
{
	struct gpu_queue *queue = &scan->gpu->queues[place];
	uint64_t device = (uint64_t)queue->device << 32 | queue->context;
	uint32_t first = number_map_find(&scan->stream_rows, device, queue->stream);

	queue->sweep = sweep_of(scan, queue->device);
	queue->first = first == NUMBER_MAP_NONE ? place : first;
	if (first != NUMBER_MAP_NONE || number_map_set(&scan->stream_rows, device, queue->stream, place) != 0)
		return;
	queue->lane.is_cut = scan->lanes == GPU_LANES_MAX;
	scan->lanes += !queue->lane.is_cut;
}

/* The busy curves: of the stream, and of its device. */
static inline __attribute__((always_inline)) void add_busy(struct gpu_scan *scan, const struct gpu_record *record)
{
	struct gpu *gpu = scan->gpu;
	struct gpu_queue *queue = record->queue == GPU_NONE ? NULL : &gpu->queues[record->queue];
	struct gpu_interval interval = {.start = record->start,
					.end = record->start + record->duration,
					.is_kernel = record->kind == GPU_LAUNCH || record->kind == GPU_GRAPH};

	if (queue == NULL || record->duration == 0 || is_on_host(record))
		return;
	if (queue->sweep == 0)
		begin_queue(scan, record->queue);
	interval.queue = queue->first;
	if ((scan->without & RUN_SUM_CURVES) || queue->sweep == 0 || gpu->queues[queue->first].lane.is_cut)
		gpu->queues[queue->first].lane.busy_ns += record->duration;
	if (queue->sweep != 0)
		gpu_sweep_add(&gpu->sweeps[queue->sweep - 1], &interval);
}

/* The row of a kernel that did not come lately, which `recent` names from now on. */
static __attribute__((noinline)) struct gpu_kernel *find_kernel(struct gpu_scan *scan, struct gpu_recent *recent,
								 const struct gpu_kernel *key, uint64_t high, uint64_t low)
{
	struct gpu_kernel *kernel;

	*recent = (struct gpu_recent){high, low, number_map_find(&scan->kernel_rows, high, low) + 1}; /* NONE + 1 is 0 */
	if (recent->place != 0)
		return &scan->gpu->kernels[recent->place - 1];
	kernel = GPU_ROOM(scan, kernels, kernel_count);
	if (kernel == NULL)
		return NULL;
	*kernel = *key;
	number_map_set(&scan->kernel_rows, high, low, (uint32_t)scan->gpu->kernel_count - 1);
	recent->place = (uint32_t)scan->gpu->kernel_count;
	return kernel;
}

static inline __attribute__((always_inline)) struct gpu_kernel *kernel_at(struct gpu_scan *scan, const struct gpu_record *record,
									    uint32_t op, uint32_t thread)
{
	uint64_t high = (uint64_t)record->shape << 32 | op, low = (uint64_t)record->queue << 32 | thread;
	struct gpu_recent *recent = &scan->recent[(record->shape * 5 + op * 3 + record->queue + thread) & (GPU_RECENT - 1)];

	if (recent->place != 0 && ((recent->high ^ high) | (recent->low ^ low)) == 0)
		return &scan->gpu->kernels[recent->place - 1];
	return find_kernel(scan, recent, &(struct gpu_kernel){.shape = record->shape, .op = op, .queue = record->queue, .thread = thread},
			   high, low);
}

static inline __attribute__((always_inline)) void sum_kernel(struct gpu_scan *scan, const struct gpu_record *record, uint32_t op,
								uint32_t thread, unsigned bits)
{
	struct gpu_kernel *kernel = kernel_at(scan, record, op, thread);

	if (kernel == NULL)
		return;
	kernel->occurrences++;
	if (bits != 0)
		kernel->untimed++;
	else
		spread_add(&kernel->times, record->duration);
}

static struct gpu_copy *copy_at(struct gpu_scan *scan, const struct gpu_record *record, uint32_t op, uint32_t thread)
{
	uint64_t high = (uint64_t)op << 32 | (record->copy_kind & 255) << 24 | (record->source & 255) << 16 |
			(record->destination & 255) << 8 | (record->flags & 255);
	uint64_t low = (uint64_t)record->queue << 40 ^ (uint64_t)thread << 16 ^ (uint64_t)(record->source_device & 255) << 8 ^
		       (record->destination_device & 255);
	uint32_t place = number_map_find(&scan->copy_rows, high, low);
	struct gpu_copy *copy;

	if (place != NUMBER_MAP_NONE)
		return &scan->gpu->copies[place];
	copy = GPU_ROOM(scan, copies, copy_count);
	if (copy == NULL)
		return NULL;
	*copy = (struct gpu_copy){.kind = record->copy_kind, .source = record->source, .destination = record->destination,
				  .flags = record->flags, .source_device = record->source_device,
				  .destination_device = record->destination_device, .op = op, .queue = record->queue,
				  .thread = thread, .least_bytes = UINT64_MAX};
	number_map_set(&scan->copy_rows, high, low, (uint32_t)scan->gpu->copy_count - 1);
	return copy;
}

static void sum_copy(struct gpu_scan *scan, const struct gpu_record *record, uint32_t op, uint32_t thread, unsigned bits)
{
	struct gpu_copy *copy = copy_at(scan, record, op, thread);
	double bandwidth;

	if (copy == NULL)
		return;
	copy->occurrences++;
	copy->bytes += record->bytes;
	copy->least_bytes = record->bytes < copy->least_bytes ? record->bytes : copy->least_bytes;
	copy->most_bytes = record->bytes > copy->most_bytes ? record->bytes : copy->most_bytes;
	if (bits != 0) {
		copy->untimed++;
		return;
	}
	spread_add(&copy->times, record->duration);
	copy->timed_bytes += record->bytes;
	bandwidth = record->duration == 0 ? 0 : (double)record->bytes * 1e9 / (double)record->duration;
	copy->best_bandwidth = bandwidth > copy->best_bandwidth ? bandwidth : copy->best_bandwidth;
}

struct gpu_graph *gpu_graph_at(struct gpu_scan *scan, uint32_t id)
{
	uint32_t place = number_map_find(&scan->graph_rows, 0, id);
	struct gpu_graph *graph;

	if (place != NUMBER_MAP_NONE)
		return &scan->gpu->graphs[place];
	graph = GPU_ROOM(scan, graphs, graph_count);
	if (graph == NULL)
		return NULL;
	*graph = (struct gpu_graph){.id = id};
	number_map_set(&scan->graph_rows, 0, id, (uint32_t)scan->gpu->graph_count - 1);
	return graph;
}

static void sum_graph(struct gpu_scan *scan, const struct gpu_record *record, unsigned bits)
{
	struct gpu_graph *graph = record->graph == 0 ? NULL : gpu_graph_at(scan, record->graph);

	if (graph == NULL)
		return;
	graph->kernels += record->kind == GPU_LAUNCH;
	graph->copies += record->kind == GPU_COPY;
	graph->sets += record->kind == GPU_SET;
	graph->is_whole |= record->kind == GPU_GRAPH;
	if (bits == 0 && !is_on_host(record))
		graph->device_ns += record->duration;
}

/* The op of a graph node; 0 = not known. */
static uint32_t node_op(struct gpu_scan *scan, uint64_t node)
{
	uint32_t place = number_map_find(&scan->node_rows, 0, node);

	return place == NUMBER_MAP_NONE ? 0 : scan->node_ops[place];
}

void gpu_sum_record(struct gpu_scan *scan, const struct gpu_record *record, struct gpu_flight *flight, unsigned bits)
{
	uint32_t op = record->given_op != 0 || record->node == 0 ? record->given_op : node_op(scan, record->node);
	uint32_t thread = flight == NULL ? 0 : flight->thread;

	if ((scan->without & RUN_SUM_WORK) || (!(bits & GPU_NO_TIME) && !gpu_wants_device(scan, record->start)))
		return;
	if (op == 0 && flight != NULL)
		op = flight->op;
	if (record->kind == GPU_LAUNCH)
		sum_kernel(scan, record, op, thread, bits);
	else if (record->kind == GPU_COPY || record->kind == GPU_SET)
		sum_copy(scan, record, op, thread, bits);
	sum_graph(scan, record, bits);
	if (!is_on_host(record))
		gpu_python_record(scan, record, flight, bits);
	if (bits == 0)
		add_busy(scan, record);
}

void gpu_sum_usual(struct gpu_scan *scan, const struct gpu_record *record, uint32_t op, uint32_t thread)
{
	if (scan->without & RUN_SUM_WORK)
		return;
	if (record->kind == GPU_LAUNCH)
		sum_kernel(scan, record, op, thread, 0);
	else
		sum_copy(scan, record, op, thread, 0);
	add_busy(scan, record);
}

/* The row of a call, + 1, made when it is new; 0 where there is no room. */
static uint32_t api_at(struct gpu_scan *scan, const struct gpu_call *call)
{
	uint64_t high = (uint64_t)call->function << 32 | call->result;
	uint32_t place = number_map_find(&scan->api_rows, high, call->thread);
	struct gpu_api *api;

	if (place != NUMBER_MAP_NONE)
		return place + 1;
	api = GPU_ROOM(scan, apis, api_count);
	if (api == NULL)
		return 0;
	*api = (struct gpu_api){.function = call->function, .result = call->result, .thread = call->thread};
	place = (uint32_t)scan->gpu->api_count - 1;
	number_map_set(&scan->api_rows, high, call->thread, place);
	return place + 1;
}

void gpu_sum_call(struct gpu_scan *scan, const struct gpu_call *call)
{
	struct gpu_arguments *stream = &scan->arguments[call->stream];
	struct gpu_api *api;

	scan->gpu->counts.calls++;
	if ((scan->without & RUN_SUM_CALLS) || !gpu_wants_ticks(scan, call->begin))
		return;
	if (stream->last_api == 0 || stream->last_function != call->function || stream->last_result != call->result) {
		stream->last_api = api_at(scan, call);
		stream->last_function = call->function;
		stream->last_result = call->result;
	}
	if (stream->last_api == 0)
		return;
	api = &scan->gpu->apis[stream->last_api - 1];
	api->captured += (call->flags & 4) != 0;
	api->nested += (call->flags & 8) != 0;
	spread_add(&api->times, call->duration);
}

void gpu_sum_wait(struct gpu_scan *scan, const struct gpu_wait *key, uint64_t duration, int is_timed, uint64_t host_ns)
{
	uint64_t high = (uint64_t)key->function << 32 | key->thread;
	uint64_t low = (((uint64_t)key->kind << 32 | key->context) * UINT64_C(0xff51afd7ed558ccd)) ^
		       (((uint64_t)key->stream << 32 | key->event) * UINT64_C(0x9e3779b97f4a7c15));
	uint32_t place = number_map_find(&scan->wait_rows, high, low);
	struct gpu_wait *wait;

	if (place == NUMBER_MAP_NONE) {
		wait = GPU_ROOM(scan, waits, wait_count);
		if (wait == NULL)
			return;
		*wait = *key;
		place = (uint32_t)scan->gpu->wait_count - 1;
		number_map_set(&scan->wait_rows, high, low, place);
	}
	wait = &scan->gpu->waits[place];
	wait->occurrences++;
	wait->host_ns += host_ns;
	if (is_timed)
		spread_add(&wait->times, duration);
	else
		wait->untimed++;
}

void gpu_sum_compile(struct gpu_scan *scan, const struct gpu_compile *key, uint64_t duration, int is_timed, uint64_t bytes)
{
	uint64_t high = (uint64_t)(uintptr_t)key->what, low = (uint64_t)key->device << 32 | key->function;
	uint32_t place = number_map_find(&scan->compile_rows, high, low);
	struct gpu_compile *row;

	if (place == NUMBER_MAP_NONE) {
		row = GPU_ROOM(scan, compiles, compile_count);
		if (row == NULL)
			return;
		*row = *key;
		place = (uint32_t)scan->gpu->compile_count - 1;
		number_map_set(&scan->compile_rows, high, low, place);
	}
	row = &scan->gpu->compiles[place];
	row->occurrences++;
	row->bytes += bytes;
	if (is_timed)
		spread_add(&row->times, duration);
	else
		row->untimed++;
}

void gpu_node_made(struct gpu_scan *scan, uint64_t node, uint64_t original, uint32_t op)
{
	uint32_t *wider;

	if (original != 0)
		op = node_op(scan, original);
	if (op == 0)
		return;
	if (scan->node_count == scan->node_room) {
		uint32_t room = scan->node_room == 0 ? 256 : scan->node_room * 2;
		wider = realloc(scan->node_ops, room * sizeof *wider);
		scan->gpu->counts.left_out += wider == NULL;
		if (wider == NULL)
			return;
		scan->node_ops = wider;
		scan->node_room = room;
	}
	scan->node_ops[scan->node_count] = op;
	if (number_map_set(&scan->node_rows, 0, node, scan->node_count) == 0)
		scan->node_count++;
	else
		scan->gpu->counts.left_out++;
}

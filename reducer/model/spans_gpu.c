/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of GPU calls and of what devices did; see spans.h.
 *
 * Rule: device work belongs to the op, range, phase and thread of the call with its correlation id; of a graph's node, to those
 * of the moment at which the node was made. Calls are kept in a bounded table (spans_awaited.h).
 */
#include "reducer/model/spans_internal.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDING_NS 2
#define AHEAD 8 /* records whose calls are fetched from memory meanwhile */

int64_t spans_device_ns(struct spans *spans, uint64_t device_time)
{
	return spans_ns(spans, gpu_clock_ticks_near(spans->scan->process->gpu->clock, &spans->near_device, device_time));
}

static const struct gpu_function *function_of(const struct spans *spans, uint64_t number, uint32_t *place)
{
	*place = number_map_find(&spans->functions, 0, number);
	return *place == NUMBER_MAP_NONE ? NULL : &spans->scan->process->gpu->functions[*place];
}

/* Puts in what is known of where work was started. */
static void set_place(const struct spans *spans, struct span *span, const struct span_place *place)
{
	span->phase = place->phase;
	span->op = spans_text(spans, place->op);
	span->op_source = place->op_source;
	span->inputs = spans_text(spans, place->inputs);
	span->range = spans_text(spans, place->range);
}

void spans_set_call(const struct spans *spans, struct span *span, const struct span_call *call)
{
	int is_of_node = span->op != NULL || span->range != NULL;

	span->thread = call->thread;
	span->called_ns = call->begin_ns;
	span->nest = spans->nests.items[call->place.nest]; /* a node's too: it ran where the graph was launched */
	if (!is_of_node)
		set_place(spans, span, &call->place);
}

/* Whether that is so of most: it began behind its call, and ended before another one was read. */
static inline int is_possible(struct spans *spans, const struct span_moment *moment, int64_t start_ns, int64_t called_ns)
{
	uint64_t end = moment->start + moment->duration;

	return (start_ns >= called_ns && end >= moment->start && end <= spans->passed) || spans_is_possible_near(spans, moment);
}

/* The same of one that came before its call returned, whose device time is not known any more. */
static int was_possible(const struct spans *spans, const struct span *held, const struct span_call *call)
{
	uint64_t error = 0;

	if (spans->is_foreign || held->start_ns >= call->begin_ns)
		return 1;
	gpu_clock_ns(spans->scan->process->gpu->clock, call->begin, &error);
	return (uint64_t)call->begin_ns - (uint64_t)held->start_ns <= error + GPU_SKEW_NS;
}

/* What tells a device record from others of its call, nodes of a graph that began at once among them; never 0. */
static inline uint64_t record_of(uint64_t start, uint64_t duration, uint64_t queue, uint64_t node, uint64_t bytes)
{
	uint64_t record = ((start * UINT64_C(0x9e3779b97f4a7c15) + duration) ^ queue) * UINT64_C(0xff51afd7ed558ccd) + node;

	record = (record ^ bytes) * UINT64_C(0x9e3779b97f4a7c15);
	return record == 0 ? 1 : record;
}

/* Keeps the call, and tells the device work that came before it returned, what came twice once. */
static void keep_call(struct spans *spans, struct span_call *call)
{
	uint64_t last = 0;
	struct span *held;

	call->record = 0;
	if (call->correlation == 0 || spans->awaited.calls == NULL)
		return;
	while ((held = awaited_unhold(&spans->awaited, call->correlation)) != NULL) {
		uint64_t record = record_of((uint64_t)held->start_ns, held->duration_ns, held->track, held->node, held->bytes);

		spans_set_call(spans, held, call);
		call->place.is_awaited = call->place.is_awaited && held->graph != 0;
		if (record != last && was_possible(spans, held, call))
			spans_tell(spans, held);
		last = record;
	}
	awaited_put(&spans->awaited, call);
}

static void hold(struct spans *spans, const struct span *span)
{
	struct span *eldest = awaited_make_room(&spans->awaited);

	if (eldest != NULL)
		spans_tell(spans, eldest);
	awaited_hold(&spans->awaited, span);
}

/* The span of a call, but for its times and its id. */
static void make_call(struct spans *spans, struct alike *alike, const struct span_call *call, uint32_t result, uint32_t at)
{
	const struct gpu_function *function = at == NUMBER_MAP_NONE ? NULL : &spans->scan->process->gpu->functions[at];
	struct span *span = &alike->span;

	span->kind = SPAN_WHOLE;
	span->what = SPAN_CALL;
	span->on = SPAN_THREAD;
	span->track = span->thread = call->thread;
	span->depth = call->place.depth;
	span->source = SPAN_NO_SOURCE;
	span->is_flow_start = 1;
	span->call = function == NULL ? GPU_OTHER : function->kind;
	span->function = function == NULL ? GPU_NONE : at;
	span->result = result;
	span->device = span->context = span->stream = GPU_NONE;
	span->name = function == NULL ? "[function not recorded]" : function->name;
	span->nest = spans->nests.items[call->place.nest];
	set_place(spans, span, &call->place);
	if (spans->options->is_without_arguments)
		return;
	alike->arguments[0] = (struct span_argument){.name = "correlation"};
	alike->arguments[1] = (struct span_argument){.name = "result", .number = result};
	alike->arguments[2] = (struct span_argument){.name = "library", .text = function == NULL ? "" : function->library};
	span->arguments = alike->arguments;
	span->argument_count = 3;
}

/* What calls of that function and result share, told or about to be; *is_new: the latter. */
static struct alike *call_alike(struct spans *spans, const struct span_call *call, uint32_t result, uint32_t at, int *is_new)
{
	const struct alike_key key = {.what = SPAN_CALL,
				      .first = at,
				      .second = result,
				      .op = call->place.op,
				      .inputs = call->place.inputs,
				      .range = call->place.range,
				      .depth = call->place.depth,
				      .nest = call->place.nest,
				      .phase = call->place.phase,
				      .op_source = call->place.op_source,
				      .thread = call->thread};
	struct alike *alike = alikes_of(&spans->alikes, &key, is_new);

	if (*is_new) {
		spans_tell_waiting(spans); /* it may be like what is kept there */
		alike_begin(&spans->alikes, alike, &key);
		make_call(spans, alike, call, result, at);
	}
	return alike;
}

/* Of what is alike the first is told whole. Inlined, so that the others are written where they wait, not copied there. */
static inline __attribute__((always_inline)) void tell_alike(struct spans *spans, struct alike *alike,
							       const struct span_again *again, int is_new)
{
	if (!is_new) {
		spans_tell_again(spans, alike, again);
		return;
	}
	alike_set(alike, again);
	spans_tell(spans, &alike->span);
}

void spans_take_calls(void *state, size_t stream, const struct batch *batch, size_t from, size_t to, const int *fields)
{
	struct spans *spans = state;
	const struct batch_kind *kind = batch->kinds[batch->tags[from]];
	const uint64_t *durations = scan_values(kind, batch->rows[from], fields[0]);
	const uint64_t *correlations = scan_values(kind, batch->rows[from], fields[1]);
	const uint64_t *functions = scan_values(kind, batch->rows[from], fields[2]);
	const uint64_t *results = scan_values(kind, batch->rows[from], fields[3]);
	struct span_call call = {.thread = spans_serial(spans, stream), .place = spans_where(spans, stream)};
	const struct gpu_function *function = NULL;
	uint8_t is_awaited = 0, has_flops = 0;
	struct alike *alike = NULL;

	for (size_t i = 0; i < to - from; i++) {
		uint64_t end = batch->times[from + i];
		int is_new = 0;

		call.correlation = correlations[i];
		call.begin = durations[i] > end ? 0 : end - durations[i];
		call.begin_ns = spans_ns(spans, call.begin);
		if (i == 0 || functions[i] != functions[i - 1] || results[i] != results[i - 1]) {
			uint32_t at;

			function = function_of(spans, functions[i], &at);
			is_awaited = function != NULL && function->kind >= GPU_LAUNCH && function->kind <= GPU_GRAPH &&
				     (uint32_t)results[i] == 0;
			has_flops = spans->flops != NULL && function != NULL &&
				    (function->kind == GPU_LIBRARY || function->kind == GPU_GRAPH);
			if (spans->options->wants & SPAN_BIT(SPAN_CALL))
				alike = call_alike(spans, &call, (uint32_t)results[i], at, &is_new);
		}
		call.place.is_awaited = is_awaited;
		if (has_flops)
			spans_flops_call(spans, stream, function, (uint32_t)results[i], &call, spans_ns(spans, end));
		if (alike != NULL)
			tell_alike(spans, alike,
				   &(struct span_again){.like = &alike->span,
							.start_ns = call.begin_ns,
							.duration_ns = (uint64_t)(spans_ns(spans, end) - call.begin_ns),
							.flow = call.correlation},
				   is_new);
		keep_call(spans, &call);
	}
}

void spans_take_call(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	spans_take_calls(state, stream, batch, i, i + 1, fields);
}

/*
 * The first lane of a queue that is free at that moment; the last one where none is. Converting device times rounds, so that
 * work which follows at once may seem to begin ROUNDING_NS before what it follows has ended: it is drawn that much later.
 */
static inline uint32_t choose_lane(struct spans *spans, uint32_t queue, int64_t *start_ns, uint64_t duration_ns)
{
	int64_t *ends = spans->lane_ends[queue];
	uint32_t lane = 0;

	while (lane + 1 < SPAN_LANES && ends[lane] > *start_ns + ROUNDING_NS)
		lane++;
	if (ends[lane] > *start_ns && ends[lane] <= *start_ns + ROUNDING_NS)
		*start_ns = ends[lane];
	ends[lane] = *start_ns + (int64_t)duration_ns;
	return lane;
}

/* What the file of another profiler says of the next device record wins over what follows from its call. */
static void set_given(struct spans *spans, size_t stream, struct span *span)
{
	struct span_pending *pending = &spans->pending[stream];

	if (pending->given.op != 0) {
		span->op = spans_text(spans, spans_place_of(&spans->words, pending->given.op));
		span->op_source = SOURCE_traceme;
	}
	if (pending->given.shapes != 0)
		span->shapes = spans_text(spans, spans_place_of(&spans->words, pending->given.shapes));
	span->given_step = pending->given.step;
	memset(&pending->given, 0, sizeof pending->given);
}

void spans_take_device_op(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;

	spans->pending[stream].given.op = (uint32_t)SPANS_VALUE(0);
	spans->pending[stream].given.shapes = (uint32_t)SPANS_VALUE(1);
}

void spans_take_device_step(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;

	spans->pending[stream].given.step = SPANS_VALUE(0) + 1;
}

/* What all work of a queue has. */
static void set_queue(const struct spans *spans, struct span *span, uint32_t at)
{
	const struct gpu_queue *queue = &spans->scan->process->gpu->queues[at];

	span->kind = SPAN_WHOLE;
	span->on = SPAN_QUEUE;
	span->track = at;
	span->device = queue->device;
	span->context = queue->context;
	span->stream = queue->stream;
	span->source = SPAN_NO_SOURCE;
	span->depth = SPAN_NO_DEPTH;
}

/* What a device record says besides its span. */
struct work_read {
	uint64_t start, queue, read; /* device time, id, ticks */
};

/* Is it the same record as the one before of that call? */
static int is_twice(const struct spans *spans, const struct span_call *call, const struct work_read *work, const struct span *span)
{
	uint64_t record = record_of(work->start, span->duration_ns, work->queue, span->node, span->bytes);

	return call != NULL && !spans->is_foreign && call->record == record;
}

/* Device work without a possible time cannot be told, nor what came twice; kernel_stats counts it. */
static void tell_work(struct spans *spans, size_t stream, const struct work_read *work, struct span *span)
{
	uint32_t at = number_map_find(&spans->queues, 0, work->queue), made;
	struct span_call *call = awaited_find(&spans->awaited, span->flow);
	struct span_moment moment = {.start = work->start, .duration = span->duration_ns, .read = work->read, .called = UINT64_MAX};

	if (at == NUMBER_MAP_NONE || work->start == 0 || (int64_t)span->duration_ns < 0 || is_twice(spans, call, work, span))
		return;
	set_queue(spans, span, at);
	span->called_ns = TIME_UNKNOWN;
	span->start_ns = spans_device_ns(spans, work->start);
	if (call != NULL)
		moment.called = call->begin;
	if (!is_possible(spans, &moment, span->start_ns, call == NULL ? TIME_UNKNOWN : call->begin_ns))
		return;
	span->lane = choose_lane(spans, span->track, &span->start_ns, span->duration_ns);
	made = span->node == 0 ? NUMBER_MAP_NONE : number_map_find(&spans->nodes, 0, span->node);
	if (made != NUMBER_MAP_NONE)
		set_place(spans, span, &spans->node_places[made]);
	if (call != NULL) {
		call->record = record_of(work->start, span->duration_ns, work->queue, span->node, span->bytes);
		spans_set_call(spans, span, call);
		call->place.is_awaited = call->place.is_awaited && span->graph != 0; /* of a graph many records come */
	}
	set_given(spans, stream, span);
	if (call == NULL && span->flow != 0)
		hold(spans, span);
	else
		spans_tell(spans, span);
}

static const char *name_of_kernel(const struct gpu *gpu, const struct gpu_shape *shape)
{
	return shape == NULL || shape->kernel >= gpu->name_count ? "[kernel not recorded]" : gpu->names[shape->kernel];
}

/* For people. Returns how many there are. */
static size_t describe_kernel(const struct gpu_shape *shape, uint64_t correlation, struct span_argument arguments[5])
{
	size_t count = 0;

	arguments[count++] = (struct span_argument){.name = "correlation", .number = correlation};
	if (shape == NULL)
		return count;
	arguments[count++] = (struct span_argument){.name = "blocks",
						    .number = (uint64_t)shape->grid[0] * shape->grid[1] * shape->grid[2]};
	arguments[count++] = (struct span_argument){.name = "threads per block",
						    .number = (uint64_t)shape->block[0] * shape->block[1] * shape->block[2]};
	arguments[count++] = (struct span_argument){.name = "registers per thread", .number = shape->registers};
	arguments[count++] = (struct span_argument){.name = "shared bytes",
						    .number = (uint64_t)shape->static_shared + shape->dynamic_shared};
	return count;
}

/* A kernel's record, read. */
struct kernel_read {
	uint64_t start, duration, correlation, queue, node, read; /* read: ticks when it was read from CUPTI */
	uint32_t graph, shape; /* shape: its place, NUMBER_MAP_NONE = not recorded */
};

static void tell_kernel(struct spans *spans, size_t stream, const struct kernel_read *read)
{
	const struct gpu *gpu = spans->scan->process->gpu;
	const struct gpu_shape *shape = read->shape == NUMBER_MAP_NONE ? NULL : &gpu->shapes[read->shape];
	struct span_argument arguments[5];
	size_t count = spans->options->is_without_arguments ? 0 : describe_kernel(shape, read->correlation, arguments);

	tell_work(spans, stream, &(struct work_read){read->start, read->queue, read->read},
		  &(struct span){.what = SPAN_KERNEL,
				.duration_ns = read->duration,
				.flow = read->correlation,
				.graph = read->graph,
				.node = read->node,
				.shape = shape,
				.arguments = arguments,
				.argument_count = count,
				.name = name_of_kernel(gpu, shape)});
}

/* The span of a kernel, but for its times and its id. */
static void make_kernel(struct spans *spans, struct alike *alike, const struct span_call *call, uint32_t shape, uint32_t queue)
{
	const struct gpu *gpu = spans->scan->process->gpu;
	struct span *span = &alike->span;

	span->what = SPAN_KERNEL;
	span->shape = shape == NUMBER_MAP_NONE ? NULL : &gpu->shapes[shape];
	span->name = name_of_kernel(gpu, span->shape);
	set_queue(spans, span, queue);
	spans_set_call(spans, span, call);
	if (spans->options->is_without_arguments)
		return;
	span->arguments = alike->arguments;
	span->argument_count = describe_kernel(span->shape, 0, alike->arguments);
}

/* What kernels of that shape and queue share that were called there, told or about to be; *is_new: the latter. */
static inline __attribute__((always_inline)) struct alike *kernel_alike(struct spans *spans, const struct span_call *call,
									     uint32_t shape, uint32_t queue, int *is_new)
{
	const struct alike_key key = {.what = SPAN_KERNEL,
				      .first = shape,
				      .second = queue,
				      .op = call->place.op,
				      .inputs = call->place.inputs,
				      .range = call->place.range,
				      .nest = call->place.nest,
				      .phase = call->place.phase,
				      .op_source = call->place.op_source,
				      .thread = call->thread};
	struct alike *alike = alikes_of(&spans->alikes, &key, is_new);

	if (*is_new) {
		spans_tell_waiting(spans);
		alike_begin(&spans->alikes, alike, &key);
		make_kernel(spans, alike, call, shape, queue);
	}
	return alike;
}

/* One kernel of one known call, of which nothing else is said: as tell_kernel would tell it. Returns 0 where it is another. */
static inline __attribute__((always_inline)) int tell_usual_kernel(struct spans *spans, const struct kernel_read *read)
{
	uint32_t queue = number_map_find(&spans->queues, 0, read->queue);
	struct span_again again = {.duration_ns = read->duration, .flow = read->correlation};
	struct span_moment moment = {.start = read->start, .duration = read->duration, .read = read->read};
	uint64_t record = record_of(read->start, read->duration, read->queue, 0, 0);
	struct span_call *call;
	struct alike *alike;
	int is_new;

	if (queue == NUMBER_MAP_NONE || read->start == 0 || (int64_t)read->duration < 0 || read->node != 0 || read->graph != 0)
		return 0;
	call = awaited_find(&spans->awaited, read->correlation);
	if (call == NULL || call->record == record || !(spans->options->wants & SPAN_BIT(SPAN_KERNEL)))
		return 0;
	again.start_ns = spans_device_ns(spans, read->start);
	moment.called = call->begin;
	if (!is_possible(spans, &moment, again.start_ns, call->begin_ns))
		return 1;
	call->record = record;
	alike = kernel_alike(spans, call, read->shape, queue, &is_new);
	again.like = &alike->span;
	again.called_ns = call->begin_ns;
	again.lane = choose_lane(spans, queue, &again.start_ns, read->duration);
	call->place.is_awaited = 0;
	tell_alike(spans, alike, &again, is_new);
	return 1;
}

void spans_take_kernels(void *state, size_t stream, const struct batch *batch, size_t from, size_t to, const int *fields)
{
	struct spans *spans = state;
	const struct span_pending *pending = &spans->pending[stream];
	const struct batch_kind *kind = batch->kinds[batch->tags[from]];
	const uint64_t *starts = scan_values(kind, batch->rows[from], fields[0]);
	const uint64_t *durations = scan_values(kind, batch->rows[from], fields[1]);
	const uint64_t *correlations = scan_values(kind, batch->rows[from], fields[2]);
	const uint64_t *shapes = scan_values(kind, batch->rows[from], fields[3]);
	const uint64_t *queues = scan_values(kind, batch->rows[from], fields[4]);
	const uint64_t *graphs = scan_values(kind, batch->rows[from], fields[5]);
	const uint64_t *nodes = scan_values(kind, batch->rows[from], fields[6]);

	for (size_t i = 0; i < to - from; i++) {
		const struct kernel_read read = {.start = starts[i],
						 .duration = durations[i],
						 .correlation = correlations[i],
						 .shape = number_map_find(&spans->shapes, 0, shapes[i]),
						 .queue = queues[i],
						 .read = batch->times[from + i],
						 .graph = (uint32_t)graphs[i],
						 .node = nodes[i]};
		int is_given = pending->given.op != 0 || pending->given.shapes != 0 || pending->given.step != 0;

		if (i + AHEAD < to - from)
			awaited_fetch(&spans->awaited, correlations[i + AHEAD]);
		if (is_given || !tell_usual_kernel(spans, &read))
			tell_kernel(spans, stream, &read);
	}
}

void spans_take_kernel(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	spans_take_kernels(state, stream, batch, i, i + 1, fields);
}

void spans_take_copy(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	static const char *const kinds[] = {"copy",
					    "copy to device",
					    "copy to host",
					    "copy to array",
					    "copy array to host",
					    "copy array to array",
					    "copy array to device",
					    "copy device to array",
					    "copy on device",
					    "copy on host",
					    "copy to peer"};
	struct span_argument arguments[] = {{.name = "correlation", .number = SPANS_VALUE(2)},
					    {.name = "bytes", .number = SPANS_VALUE(4)}};
	uint64_t kind = SPANS_VALUE(5);

	tell_work(state, stream, &(struct work_read){SPANS_VALUE(0), SPANS_VALUE(3), batch->times[i]},
		  &(struct span){.what = kind == GPU_COPY_ON_HOST ? SPAN_HOST_COPY : SPAN_COPY,
				.duration_ns = SPANS_VALUE(1),
				.flow = SPANS_VALUE(2),
				.bytes = SPANS_VALUE(4),
				.copy_kind = (uint32_t)kind,
				.from_memory = (uint8_t)SPANS_VALUE(8),
				.to_memory = (uint8_t)SPANS_VALUE(9),
				.manner = (uint8_t)SPANS_VALUE(10),
				.graph = (uint32_t)SPANS_VALUE(6),
				.node = SPANS_VALUE(7),
				.arguments = arguments,
				.argument_count = 2,
				.name = kinds[kind < sizeof kinds / sizeof *kinds ? kind : 0]});
}

void spans_take_set(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct span_argument arguments[] = {{.name = "correlation", .number = SPANS_VALUE(2)},
					    {.name = "bytes", .number = SPANS_VALUE(4)}};

	tell_work(state, stream, &(struct work_read){SPANS_VALUE(0), SPANS_VALUE(3), batch->times[i]},
		  &(struct span){.what = SPAN_SET,
				.duration_ns = SPANS_VALUE(1),
				.name = "memset",
				.flow = SPANS_VALUE(2),
				.bytes = SPANS_VALUE(4),
				.to_memory = (uint8_t)SPANS_VALUE(7),
				.manner = (uint8_t)SPANS_VALUE(8),
				.graph = (uint32_t)SPANS_VALUE(5),
				.node = SPANS_VALUE(6),
				.arguments = arguments,
				.argument_count = 2});
}

void spans_take_graph(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct span_argument arguments[] = {{.name = "correlation", .number = SPANS_VALUE(2)},
					    {.name = "graph", .number = SPANS_VALUE(4)}};

	tell_work(state, stream, &(struct work_read){SPANS_VALUE(0), SPANS_VALUE(3), batch->times[i]},
		  &(struct span){.what = SPAN_GRAPH,
				.duration_ns = SPANS_VALUE(1),
				.name = "graph",
				.flow = SPANS_VALUE(2),
				.graph = (uint32_t)SPANS_VALUE(4),
				.arguments = arguments,
				.argument_count = 2});
}

/* A node keeps the op that was running when it was made; a clone has that of its original. */
void spans_take_node(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;
	uint64_t node = SPANS_VALUE(0), original = SPANS_VALUE(1);
	uint32_t from = original == 0 ? NUMBER_MAP_NONE : number_map_find(&spans->nodes, 0, original);

	if (spans->node_count == spans->node_room) { /* number_map_set ends it; the first pass counts what is beyond (gpu_node_made) */
		size_t room = spans->node_room ? spans->node_room * 2 : 256;
		struct span_place *larger = realloc(spans->node_places, room * sizeof *larger);
		if (larger == NULL)
			return;
		spans->node_places = larger;
		spans->node_room = room;
	}
	spans->node_places[spans->node_count] = from == NUMBER_MAP_NONE ? spans_where(spans, stream) : spans->node_places[from];
	if (number_map_set(&spans->nodes, 0, node, (uint32_t)spans->node_count) == 0)
		spans->node_count++;
}

/* Returns -1 without memory. */
int spans_gpu_begin(struct spans *spans)
{
	const struct gpu *gpu = spans->scan->process->gpu;
	int failed = 0;

	if (gpu == NULL)
		return 0;
	spans->is_foreign = process_is_foreign(spans->scan->process);
	for (size_t i = 0; i < gpu->function_count; i++)
		failed |= number_map_set(&spans->functions, 0, gpu->functions[i].number, (uint32_t)i);
	for (size_t i = 0; i < gpu->shape_count; i++)
		failed |= number_map_set(&spans->shapes, 0, gpu->shapes[i].id, (uint32_t)i);
	failed |= gpu_first_queues(gpu, &spans->queues); /* hardware channels of one stream are drawn as one */
	alikes_begin(&spans->alikes);
	spans->lane_ends = calloc(gpu->queue_count + 1, sizeof *spans->lane_ends);
	return spans->lane_ends == NULL || awaited_begin(&spans->awaited) != 0 ? -1 : failed;
}

/* Device work whose call never came. */
void spans_gpu_finish(struct spans *spans)
{
	struct span *held;

	while ((held = awaited_unhold_any(&spans->awaited)) != NULL)
		spans_tell(spans, held);
}

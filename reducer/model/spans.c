/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of one process; see reducer/model/spans.h.
 *
 * Rule: one function a kind of record; ranges wait in a list of what is open until their end comes by.
 */
#include "reducer/model/spans.h"

#include "reducer/model/gpu.h"
#include "reducer/model/number_map.h"
#include "reducer/model/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_MOST (1u << 16) /* ranges open at once; further ones are drawn as marks */
#define ROUNDING_NS 2
#define VALUE(f) batch_value(batch, i, fields[f])

/* A range that has begun. `family` keeps pops of one kind of range from ending another. */
struct open_range {
	uint32_t thread, family;
	uint64_t key, name;
	uint64_t start; /* ticks */
	int is_op;
};
enum { FAMILY_PROCESS = 1u << 16, FAMILY_OP = 2u << 16, FAMILY_STACK = 3u << 16 }; /* the source, or domain, is added */

struct spans {
	struct scan *scan;
	size_t process;
	span_visit *visit;
	void *context;
	int result;				     /* of the visit */
	struct number_map strings, words;	     /* hash of a string fact, id of an op_name fact -> place in texts */
	struct number_map functions, shapes, queues; /* number or id -> place in process->gpu */
	const char **texts;
	size_t text_count, text_room;
	struct pool pool;
	int64_t (*lane_ends)[SPAN_LANES]; /* by place of the queue: when the last work of each lane ends */
	struct open_range *open;
	size_t open_count, open_room;
	struct {
		uint64_t start, number;
		int is_known;
	} step;
	uint64_t last; /* ticks */
};

struct wanted {
	struct run *run;
	size_t process;
	span_visit *visit;
	void *context;
	int result;
};

static void tell(struct spans *spans, struct span span)
{
	span.process = spans->process;
	if (spans->result == 0)
		spans->result = spans->visit(spans->context, &span);
}

static int64_t ns(const struct spans *spans, uint64_t ticks)
{
	return process_ns(spans->scan->process, ticks);
}

static uint32_t thread_of(const struct spans *spans, size_t stream)
{
	return spans->scan->process->log->streams[stream].thread;
}

static void keep_text(struct spans *spans, struct number_map *map, uint64_t key, const struct fact_value *text)
{
	if (text == NULL || number_map_find(map, 0, key) != NUMBER_MAP_NONE)
		return;
	if (spans->text_count == spans->text_room) {
		size_t room = spans->text_room ? spans->text_room * 2 : 256;
		const char **larger = realloc(spans->texts, room * sizeof *larger);
		if (larger == NULL)
			return;
		spans->texts = larger;
		spans->text_room = room;
	}
	spans->texts[spans->text_count] = pool_text(&spans->pool, text->text, text->length);
	if (number_map_set(map, 0, key, (uint32_t)spans->text_count) == 0)
		spans->text_count++;
}

static const char *text_of(const struct spans *spans, const struct number_map *map, uint64_t key)
{
	uint32_t place = number_map_find(map, 0, key);

	return place == NUMBER_MAP_NONE ? "[name not recorded]" : spans->texts[place];
}

static void take_string(void *state, const struct fact *fact, const int *fields)
{
	struct spans *spans = state;

	keep_text(spans, &spans->strings, fact_number(fact, fields[0]), fact_text(fact, fields[1]));
}

static void take_word(void *state, const struct fact *fact, const int *fields)
{
	struct spans *spans = state;

	keep_text(spans, &spans->words, fact_number(fact, fields[0]), fact_text(fact, fields[1]));
}

/* Ranges. */

static void tell_range(struct spans *spans, const struct open_range *range, uint64_t end, int is_open)
{
	int64_t start = ns(spans, range->start), until = ns(spans, end);

	int is_of_process = (range->family & ~UINT32_C(0xffff)) == FAMILY_PROCESS;

	tell(spans, (struct span){.kind = SPAN_WHOLE,
				  .on = is_of_process ? SPAN_PROCESS : SPAN_THREAD,
				  .track = range->thread,
				  .start_ns = start,
				  .duration_ns = until > start ? (uint64_t)(until - start) : 0,
				  .category = range->is_op ? "op" : "range",
				  .is_open = is_open,
				  .name = text_of(spans, range->is_op ? &spans->words : &spans->strings, range->name)});
}

static void begin_range(struct spans *spans, const struct open_range *range)
{
	if (spans->open_count == spans->open_room) {
		size_t room = spans->open_room ? spans->open_room * 2 : 64;
		struct open_range *larger = room > OPEN_MOST ? NULL : realloc(spans->open, room * sizeof *larger);
		if (larger == NULL) {
			tell_range(spans, range, range->start, 1);
			return;
		}
		spans->open = larger;
		spans->open_room = room;
	}
	spans->open[spans->open_count++] = *range;
}

/* The youngest open range that fits ends. thread 0 = of any thread. */
static void end_range(struct spans *spans, uint32_t family, uint32_t thread, uint64_t key, uint64_t end)
{
	for (size_t at = spans->open_count; at-- > 0;) {
		const struct open_range *range = &spans->open[at];
		if (range->family != family || range->key != key || (thread != 0 && range->thread != thread))
			continue;
		tell_range(spans, range, end, 0);
		memmove(&spans->open[at], &spans->open[at + 1], (--spans->open_count - at) * sizeof *range);
		return;
	}
}

static void take_push(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;

	begin_range(spans, &(struct open_range){.thread = thread_of(spans, stream),
						.family = FAMILY_STACK + (uint16_t)VALUE(2),
						.key = VALUE(1),
						.name = VALUE(0),
						.start = batch->times[i]});
}

static void take_pop(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;

	end_range(spans, FAMILY_STACK + (uint16_t)VALUE(1), thread_of(spans, stream), VALUE(0), batch->times[i]);
}

static void take_start(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;

	begin_range(spans, &(struct open_range){.thread = thread_of(spans, stream),
						.family = FAMILY_PROCESS,
						.key = VALUE(0),
						.name = VALUE(1),
						.start = batch->times[i]});
}

static void take_end(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	(void)stream;
	end_range(state, FAMILY_PROCESS, 0, VALUE(0), batch->times[i]);
}

static void take_op_begin(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;

	begin_range(spans, &(struct open_range){.thread = thread_of(spans, stream),
						.family = FAMILY_OP + (uint16_t)VALUE(2),
						.key = VALUE(1),
						.name = VALUE(0),
						.start = batch->times[i],
						.is_op = 1});
}

/* Usually on the thread that began it; else on any. */
static void take_op_end(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;
	size_t before = spans->open_count;

	end_range(spans, FAMILY_OP + (uint16_t)VALUE(1), thread_of(spans, stream), VALUE(0), batch->times[i]);
	if (spans->open_count == before)
		end_range(spans, FAMILY_OP + (uint16_t)VALUE(1), 0, VALUE(0), batch->times[i]);
}

static void take_mark(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;

	tell(spans, (struct span){.kind = SPAN_INSTANT,
				  .on = SPAN_THREAD,
				  .track = thread_of(spans, stream),
				  .category = "range",
				  .start_ns = ns(spans, batch->times[i]),
				  .name = text_of(spans, &spans->strings, VALUE(0))});
}

/* Steps and windows. */

static void tell_step(struct spans *spans, uint64_t end, int is_open)
{
	int64_t start = ns(spans, spans->step.start), until = ns(spans, end);
	struct span_argument number = {.name = "step", .number = spans->step.number};

	if (spans->step.is_known)
		tell(spans, (struct span){.kind = SPAN_WHOLE,
					  .on = SPAN_PROCESS,
					  .start_ns = start,
					  .category = "step",
					  .name = "step",
					  .duration_ns = until > start ? (uint64_t)(until - start) : 0,
					  .is_open = is_open,
					  .arguments = &number,
					  .argument_count = 1});
	spans->step.is_known = 0;
}

static void take_step(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;

	(void)stream;
	tell_step(spans, batch->times[i], 0);
	spans->step.start = batch->times[i];
	spans->step.number = VALUE(0);
	spans->step.is_known = 1;
}

static void take_step_end(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;

	(void)stream;
	if (VALUE(0) == spans->step.number)
		tell_step(spans, batch->times[i], 0);
}

static void take_window(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;

	(void)stream;
	tell(spans, (struct span){.kind = SPAN_INSTANT,
				  .on = SPAN_PROCESS,
				  .category = "window",
				  .start_ns = ns(spans, batch->times[i]),
				  .name = VALUE(0) ? "window opened" : "window closed"});
}

static void take_any(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;

	(void)stream, (void)fields;
	if (batch->times[i] > spans->last)
		spans->last = batch->times[i];
}

/* GPU. */

static const struct gpu_function *function_of(const struct spans *spans, uint64_t number)
{
	uint32_t place = number_map_find(&spans->functions, 0, number);

	return place == NUMBER_MAP_NONE ? NULL : &spans->scan->process->gpu->functions[place];
}

static void take_call(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;
	const struct gpu_function *function = function_of(spans, VALUE(2));
	uint64_t end = batch->times[i], duration = VALUE(0);
	int64_t start = ns(spans, duration > end ? 0 : end - duration);
	struct span_argument arguments[] = {{.name = "correlation", .number = VALUE(1)},
					    {.name = "result", .number = VALUE(3)},
					    {.name = "library", .text = function == NULL ? "" : function->library}};

	tell(spans, (struct span){.kind = SPAN_WHOLE,
				  .on = SPAN_THREAD,
				  .track = thread_of(spans, stream),
				  .start_ns = start,
				  .duration_ns = (uint64_t)(ns(spans, end) - start),
				  .category = "call",
				  .flow = VALUE(1),
				  .is_flow_start = 1,
				  .name = function == NULL ? "[function not recorded]" : function->name,
				  .arguments = arguments,
				  .argument_count = 3});
}

/*
 * The first lane of a queue that is free at that moment; the last one where none is. Converting device times rounds, so that
 * work which follows at once may seem to begin ROUNDING_NS before what it follows has ended: it is drawn that much later.
 */
static void choose_lane(struct spans *spans, struct span *span)
{
	int64_t *ends = spans->lane_ends[span->track];
	uint32_t lane = 0;

	while (lane + 1 < SPAN_LANES && ends[lane] > span->start_ns + ROUNDING_NS)
		lane++;
	if (ends[lane] > span->start_ns && ends[lane] <= span->start_ns + ROUNDING_NS)
		span->start_ns = ends[lane];
	ends[lane] = span->start_ns + (int64_t)span->duration_ns;
	span->lane = lane;
}

/* Device work without a possible time cannot be drawn; kernel_stats counts it. */
static void tell_work(struct spans *spans, uint64_t device_start, uint64_t queue, struct span span)
{
	uint32_t place = number_map_find(&spans->queues, 0, queue);

	if (place == NUMBER_MAP_NONE || device_start == 0 || (int64_t)span.duration_ns < 0)
		return;
	span.kind = SPAN_WHOLE;
	span.on = SPAN_QUEUE;
	span.track = place;
	span.start_ns = gpu_run_ns(spans->scan->process->gpu, device_start);
	choose_lane(spans, &span);
	tell(spans, span);
}

static const struct gpu_shape *shape_of(const struct spans *spans, uint64_t id)
{
	uint32_t place = number_map_find(&spans->shapes, 0, id);

	return place == NUMBER_MAP_NONE ? NULL : &spans->scan->process->gpu->shapes[place];
}

static void take_kernel(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;
	const struct gpu *gpu = spans->scan->process->gpu;
	const struct gpu_shape *shape = shape_of(spans, VALUE(3));
	struct span_argument arguments[7] = {{.name = "correlation", .number = VALUE(2)}};
	size_t count = 1;

	(void)stream;
	if (shape != NULL) {
		arguments[count++] = (struct span_argument){.name = "blocks",
							    .number = (uint64_t)shape->grid[0] * shape->grid[1] * shape->grid[2]};
		arguments[count++] = (struct span_argument){
			.name = "threads per block", .number = (uint64_t)shape->block[0] * shape->block[1] * shape->block[2]};
		arguments[count++] = (struct span_argument){.name = "registers per thread", .number = shape->registers};
		arguments[count++] = (struct span_argument){.name = "shared bytes",
							    .number = (uint64_t)shape->static_shared + shape->dynamic_shared};
	}
	tell_work(spans, VALUE(0), VALUE(4),
		  (struct span){.duration_ns = VALUE(1),
				.category = "kernel",
				.flow = VALUE(2),
				.arguments = arguments,
				.argument_count = count,
				.name = shape == NULL || shape->kernel >= gpu->name_count ? "[kernel not recorded]"
											  : gpu->names[shape->kernel]});
}

static void take_copy(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
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
	struct span_argument arguments[] = {{.name = "correlation", .number = VALUE(2)}, {.name = "bytes", .number = VALUE(4)}};
	uint64_t kind = VALUE(5);

	(void)stream;
	tell_work(state, VALUE(0), VALUE(3),
		  (struct span){.duration_ns = VALUE(1),
				.category = "copy",
				.flow = VALUE(2),
				.arguments = arguments,
				.argument_count = 2,
				.name = kinds[kind < sizeof kinds / sizeof *kinds ? kind : 0]});
}

static void take_set(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct span_argument arguments[] = {{.name = "correlation", .number = VALUE(2)}, {.name = "bytes", .number = VALUE(4)}};

	(void)stream;
	tell_work(state, VALUE(0), VALUE(3),
		  (struct span){.duration_ns = VALUE(1),
				.category = "set",
				.name = "memset",
				.flow = VALUE(2),
				.arguments = arguments,
				.argument_count = 2});
}

static void take_graph(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct span_argument arguments[] = {{.name = "correlation", .number = VALUE(2)}, {.name = "graph", .number = VALUE(4)}};

	(void)stream;
	tell_work(state, VALUE(0), VALUE(3),
		  (struct span){.duration_ns = VALUE(1),
				.category = "graph",
				.name = "graph",
				.flow = VALUE(2),
				.arguments = arguments,
				.argument_count = 2});
}

static const struct scan_record records[] = {
	{"range_push", take_push, 0, {"name", "domain", "source"}},
	{"range_pop", take_pop, 0, {"domain", "source"}},
	{"range_start", take_start, 0, {"id", "name"}},
	{"range_end", take_end, 0, {"id"}},
	{"op_begin", take_op_begin, 0, {"name", "key", "source"}},
	{"op_end", take_op_end, 0, {"key", "source"}},
	{"mark", take_mark, 0, {"name"}},
	{"step", take_step, 0, {"number"}},
	{"step_end", take_step_end, 0, {"number"}},
	{"window", take_window, 0, {"is_open"}},
	{"clock", take_any, 0, {NULL}},
	{"gpu_call", take_call, 0, {"duration", "correlation", "function", "result"}},
	{"kernel", take_kernel, 0, {"start", "duration", "correlation", "shape", "queue"}},
	{"device_copy", take_copy, 0, {"start", "duration", "correlation", "queue", "bytes", "kind"}},
	{"device_set", take_set, 0, {"start", "duration", "correlation", "queue", "bytes"}},
	{"graph_run", take_graph, 0, {"start", "duration", "correlation", "queue", "graph"}},
};

static const struct scan_fact facts[] = {
	{"string", take_string, {"hash", "text"}},
	{"op_name", take_word, {"id", "text"}},
};

/* Hardware channels of one stream are drawn as one. */
static uint32_t first_of_stream(const struct gpu *gpu, size_t place)
{
	const struct gpu_queue *queue = &gpu->queues[place];
	size_t first = 0;

	while (gpu->queues[first].device != queue->device || gpu->queues[first].context != queue->context ||
	       gpu->queues[first].stream != queue->stream)
		first++;
	return (uint32_t)first;
}

/* Returns -1 without memory. */
static int index_gpu(struct spans *spans, const struct gpu *gpu)
{
	int failed = 0;

	for (size_t i = 0; gpu != NULL && i < gpu->function_count; i++)
		failed |= number_map_set(&spans->functions, 0, gpu->functions[i].number, (uint32_t)i);
	for (size_t i = 0; gpu != NULL && i < gpu->shape_count; i++)
		failed |= number_map_set(&spans->shapes, 0, gpu->shapes[i].id, (uint32_t)i);
	for (size_t i = 0; gpu != NULL && i < gpu->queue_count; i++)
		failed |= number_map_set(&spans->queues, 0, gpu->queues[i].id, first_of_stream(gpu, i));
	spans->lane_ends = calloc(gpu == NULL ? 1 : gpu->queue_count + 1, sizeof *spans->lane_ends);
	return spans->lane_ends == NULL ? -1 : failed;
}

static void end(void *state)
{
	struct spans *spans = state;

	number_map_free(&spans->strings);
	number_map_free(&spans->words);
	number_map_free(&spans->functions);
	number_map_free(&spans->shapes);
	number_map_free(&spans->queues);
	pool_free(&spans->pool);
	free(spans->texts);
	free(spans->lane_ends);
	free(spans->open);
	free(spans);
}

static void *begin(struct scan *scan)
{
	const struct wanted *wanted = scan->context;
	struct spans *spans = calloc(1, sizeof *spans);

	if (spans == NULL)
		return NULL;
	spans->scan = scan;
	spans->process = wanted->process;
	spans->visit = wanted->visit;
	spans->context = wanted->context;
	if (index_gpu(spans, scan->process->gpu) != 0) {
		end(spans);
		return NULL;
	}
	return spans;
}

/* The live memory of each allocator, as the first pass has drawn it. */
static void tell_memory(struct spans *spans, const struct account *account)
{
	struct text_name {
		char text[64];
	} name;

	if (account->allocator == NULL)
		return;
	snprintf(name.text, sizeof name.text, "live memory: %s", account->allocator);
	for (size_t i = 0; i < account->timeline.count; i++) {
		const struct timeline_point *point = &account->timeline.points[i];
		if (point->max != point->live)
			tell(spans, (struct span){.kind = SPAN_COUNTER,
						  .on = SPAN_PROCESS,
						  .category = "memory",
						  .name = name.text,
						  .start_ns = point->max_time_ns,
						  .value = (double)point->max});
		tell(spans, (struct span){.kind = SPAN_COUNTER,
					  .on = SPAN_PROCESS,
					  .category = "memory",
					  .name = name.text,
					  .start_ns = point->time_ns,
					  .value = (double)point->live});
	}
}

static int finish(void *state)
{
	struct spans *spans = state;
	const struct process *process = spans->scan->process;
	uint64_t end = process->end_ticks > spans->last ? process->end_ticks : spans->last;

	tell_step(spans, end, 1);
	while (spans->open_count > 0)
		tell_range(spans, &spans->open[--spans->open_count], end, 1);
	tell_memory(spans, &process->heap);
	tell_memory(spans, &process->mmap);
	for (size_t i = 0; i < process->account_count; i++)
		tell_memory(spans, &process->accounts[i]);
	((struct wanted *)spans->scan->context)->result = spans->result;
	return 0;
}

static const struct scan_subject subject = {
	.records = records,
	.record_count = sizeof records / sizeof *records,
	.facts = facts,
	.fact_count = sizeof facts / sizeof *facts,
	.begin = begin,
	.finish = finish,
	.free = end,
};

int spans_stream(struct run *run, size_t process, span_visit *visit, void *context)
{
	struct wanted wanted = {.run = run, .process = process, .visit = visit, .context = context};

	if (process_scan_again(run, &run->processes[process], &subject, &wanted) != 0)
		return -1;
	return wanted.result;
}

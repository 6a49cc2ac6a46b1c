/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of one process: the pass, names, steps, windows and memory; see reducer/model/spans.h.
 *
 * Rule: one function a kind of record; ranges are in spans_ranges.c, traces in spans_traces.c, devices in spans_gpu.c.
 */
#include "reducer/model/spans_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wanted {
	size_t process;
	const struct span_options *options;
	int result;
};

const char *span_what_name(enum span_what what)
{
	static const char *const names[SPAN_WHATS] = {
		[SPAN_RANGE] = "range",	  [SPAN_OP] = "op",	      [SPAN_TRACE] = "trace",	    [SPAN_MARK] = "range",
		[SPAN_CALL] = "call",	  [SPAN_KERNEL] = "kernel",   [SPAN_COPY] = "copy",	    [SPAN_SET] = "set",
		[SPAN_GRAPH] = "graph",	  [SPAN_COMPILE] = "compile", [SPAN_OVERHEAD] = "overhead", [SPAN_STEP] = "step",
		[SPAN_WINDOW] = "window", [SPAN_READ] = "io",	      [SPAN_MEMORY] = "memory",
		[SPAN_BLOCK] = "block",	  [SPAN_USE] = "use",	      [SPAN_FLOPS] = "flops",	    [SPAN_HOST_COPY] = "copy"};

	return names[what];
}

void spans_tell(struct spans *spans, struct span *span)
{
	if (spans->result != 0 || !(spans->options->wants & SPAN_BIT(span->what)))
		return;
	spans_tell_waiting(spans);
	if (spans->result != 0)
		return;
	span->process = spans->process;
	span->category = span_what_name(span->what);
	if (span->start_ns > 0 && span->duration_ns > (uint64_t)(INT64_MAX - span->start_ns)) /* a damaged time may be anything */
		span->duration_ns = (uint64_t)(INT64_MAX - span->start_ns);
	if (span->name == NULL)
		span->name = "[name not recorded]";
	if (span->domain == NULL)
		span->domain = "";
	spans->result = spans->options->visit(spans->options->context, span);
}

void spans_tell_waiting(struct spans *spans)
{
	size_t count = spans->waiting_count;

	spans->waiting_count = 0;
	if (count != 0 && spans->result == 0)
		spans->result = spans->options->visit_again(spans->options->context, spans->waiting, count);
}

void span_again_fill(const struct span_again *again, struct span *span)
{
	*span = *again->like;
	span->start_ns = again->start_ns;
	span->duration_ns = again->duration_ns;
	span->flow = again->flow;
	span->called_ns = again->called_ns;
	span->lane = again->lane;
}

uint32_t spans_serial(const struct spans *spans, size_t stream)
{
	return spans->scan->process->log->streams[stream].thread;
}

const char *spans_text(const struct spans *spans, uint32_t place)
{
	return place == SPANS_NO_TEXT ? NULL : spans->texts[place];
}

uint32_t spans_place_of(const struct number_map *map, uint64_t key)
{
	uint32_t place = number_map_find(map, 0, key);

	return place == NUMBER_MAP_NONE ? SPANS_NO_TEXT : place;
}

uint8_t spans_phase(struct spans *spans, uint32_t text, uint8_t source, uint8_t scope)
{
	uint64_t key = (uint64_t)source << 8 | scope;
	struct span_phase *last;
	uint32_t phase;

	if (spans->phase_of_text == NULL) /* facts come before all records: there are no more texts */
		spans->phase_of_text = calloc(spans->text_count, sizeof *spans->phase_of_text);
	last = spans->phase_of_text == NULL ? NULL : &spans->phase_of_text[text];
	if (last != NULL && last->is_known && last->of == key)
		return last->phase;
	phase = number_map_find(&spans->phases, key, text);
	if (phase == NUMBER_MAP_NONE) {
		phase = spans->options->phase_of(spans->options->context, spans->texts[text], source, scope);
		number_map_set(&spans->phases, key, text, phase);
	}
	if (last != NULL)
		*last = (struct span_phase){(uint16_t)key, (uint8_t)phase, 1};
	return (uint8_t)phase;
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

/* After the op_name fact of the same id. */
static void take_place(void *state, const struct fact *fact, const int *fields)
{
	struct spans *spans = state;
	uint32_t text = spans_place_of(&spans->words, fact_number(fact, fields[0]));
	char name[PLACE_ROOM];

	if (text == SPANS_NO_TEXT)
		return;
	places_name(&spans->places, spans->scan, (uint32_t)fact_number(fact, fields[1]), spans->texts[text], name, sizeof name);
	spans->texts[text] = pool_text(&spans->pool, name, strlen(name));
}

static void take_domain(void *state, const struct fact *fact, const int *fields)
{
	struct spans *spans = state;

	keep_text(spans, &spans->domains, fact_number(fact, fields[0]), fact_text(fact, fields[1]));
}

/* Steps and windows. */

static void tell_step(struct spans *spans, int64_t end_ns, int is_open)
{
	struct span_argument number = {.name = "step", .number = spans->step.number};

	if (spans->step.is_known)
		spans_tell(spans,
			   &(struct span){.kind = SPAN_WHOLE,
					  .what = SPAN_STEP,
					  .on = SPAN_PROCESS,
					  .start_ns = spans->step.start_ns,
					  .name = "step",
					  .number = spans->step.number,
					  .duration_ns =
						  end_ns > spans->step.start_ns ? (uint64_t)(end_ns - spans->step.start_ns) : 0,
					  .is_open = is_open,
					  .arguments = &number,
					  .argument_count = 1});
	spans->step.is_known = 0;
}

static void take_step(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;

	(void)stream;
	tell_step(spans, spans_ns(spans, batch->times[i]), 0);
	spans->step.start_ns = spans_ns(spans, batch->times[i]);
	spans->step.number = SPANS_VALUE(0);
	spans->step.is_known = 1;
}

static void take_step_end(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;

	(void)stream;
	if (SPANS_VALUE(0) == spans->step.number)
		tell_step(spans, spans_ns(spans, batch->times[i]), 0);
}

static void take_window(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;

	(void)stream;
	/* Ends between two windows are in no log: what is still open when one opens was cut when the last one closed. */
	if (SPANS_VALUE(0) == 0)
		spans->closed_ns = spans_ns(spans, batch->times[i]);
	else if (spans->closed_ns != TIME_UNKNOWN)
		spans_ranges_finish(spans, spans->closed_ns);
	spans_tell(spans, &(struct span){.kind = SPAN_INSTANT,
					 .what = SPAN_WINDOW,
					 .on = SPAN_PROCESS,
					 .number = SPANS_VALUE(0) != 0,
					 .start_ns = spans_ns(spans, batch->times[i]),
					 .name = SPANS_VALUE(0) ? "window opened" : "window closed"});
}

static const struct scan_record thread_records[] = {
	{"range_push", spans_take_push, NULL, {"name", "domain", "source"}},
	{"range_pop", spans_take_pop, NULL, {"domain", "source"}},
	{"range_start", spans_take_start, NULL, {"id", "name", "domain", "source"}},
	{"range_end", spans_take_end, NULL, {"id"}},
	{"op_begin", spans_take_op_begin, NULL, {"name", "key", "source", "scope"}},
	{"op_end", spans_take_op_end, NULL, {"key", "source"}},
	{"mark", spans_take_mark, NULL, {"name", "domain", "source"}},
	{"trace", spans_take_trace, NULL, {"name", "start", "duration", "arguments", "source", "kind"}},
	{"trace_number", spans_take_trace_number, NULL, {"name", "value"}},
	{"io", spans_take_read, NULL, {"duration", "span", "file", "bytes", "calls", "function"}},
	{"step", take_step, NULL, {"number"}},
	{"step_end", take_step_end, NULL, {"number"}},
	{"window", take_window, NULL, {"is_open"}},
	{"clock", spans_take_clock, NULL, {"ticks", "realtime"}},
};

static const struct scan_record block_records[] = {
	{"block", spans_take_block, NULL, {"address", "bytes", "total", "reserved", "allocator", "operation"}},
	{"block_detail", spans_take_block_detail, NULL, {"requested", "step", "op", "region", "shape", "type"}},
	{"block_room", spans_take_block_room, NULL, {"free", "stack", "peak", "fragmentation"}},
};

static const struct scan_record gpu_records[] = {
	{"gpu_call", spans_take_call, NULL, {"duration", "correlation", "function", "result"}, spans_take_calls},
	{"kernel", spans_take_kernel, NULL, {"start", "duration", "correlation", "shape", "queue", "graph", "node"}, spans_take_kernels},
	{"device_copy", spans_take_copy, NULL, {"start", "duration", "correlation", "queue", "bytes", "kind", "graph", "node", "source",
					       "destination", "flags"}},
	{"device_set", spans_take_set, NULL, {"start", "duration", "correlation", "queue", "bytes", "graph", "node", "memory", "flags"}},
	{"graph_run", spans_take_graph, NULL, {"start", "duration", "correlation", "queue", "graph"}},
	{"device_op", spans_take_device_op, NULL, {"op", "shapes"}},
	{"device_step", spans_take_device_step, NULL, {"number"}},
	{"graph_node", spans_take_node, NULL, {"node", "original"}},
	{"jit", spans_take_jit, NULL, {"start", "duration", "correlation", "entry"}},
	{"gpu_overhead", spans_take_overhead, NULL, {"start", "duration", "correlation", "kind"}},
};

static const struct scan_record input_records[] = {
	{"op_inputs", spans_take_inputs, NULL, {"shapes"}},
};

static const struct scan_record link_records[] = {
	{"op_link", spans_take_link, NULL, {"forward_thread"}},
};

static const struct scan_record flops_records[] = {
	{"library_call", spans_take_library, NULL, {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}},
};

static const struct scan_fact facts[] = {
	{"string", take_string, {"hash", "text"}},
	{"op_name", take_word, {"id", "text"}},
	{"op_place", take_place, {"id", "stack"}},
	{"range_domain", take_domain, {"id", "name"}},
};

static void end(void *state)
{
	struct spans *spans = state;
	struct number_map *const maps[] = {&spans->strings, &spans->words,  &spans->domains, &spans->functions,
					   &spans->shapes,  &spans->queues, &spans->phases,  &spans->nodes};

	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		number_map_free(maps[i]);
	for (size_t i = 0; i < spans->thread_count; i++)
		free(spans->threads[i].open), free(spans->threads[i].ended);
	free(spans->threads);
	free(spans->wide.open);
	free(spans->thread_of);
	free(spans->pending);
	free(spans->phase_of_text);
	spans_flops_free(spans);
	nests_free(&spans->nests);
	open_keys_free(&spans->open_ops);
	awaited_free(&spans->awaited);
	alikes_free(&spans->alikes);
	free(spans->node_places);
	pool_free(&spans->pool);
	free(spans->texts);
	free(spans->lane_ends);
	places_free(&spans->places);
	free(spans);
}

/* The thread of each stream: both lanes of a thread share one. */
static int find_threads(struct spans *spans)
{
	const struct log *log = spans->scan->process->log;

	spans->threads = calloc(log->stream_count + 1, sizeof *spans->threads);
	spans->thread_of = calloc(log->stream_count + 1, sizeof *spans->thread_of);
	spans->pending = calloc(log->stream_count + 1, sizeof *spans->pending);
	if (spans->threads == NULL || spans->thread_of == NULL || spans->pending == NULL)
		return -1;
	for (size_t s = 0; s < log->stream_count; s++) { /* streams are sorted by thread */
		if (spans->thread_count == 0 || spans->threads[spans->thread_count - 1].serial != log->streams[s].thread)
			spans->threads[spans->thread_count++].serial = log->streams[s].thread;
		spans->thread_of[s] = spans->thread_count - 1;
	}
	return 0;
}

static void *begin(struct scan *scan)
{
	const struct wanted *wanted = scan->context;
	struct spans *spans = calloc(1, sizeof *spans);

	if (spans == NULL)
		return NULL;
	spans->scan = scan;
	spans->process = wanted->process;
	spans->options = wanted->options;
	spans->realtime_offset = (int64_t)(0 - (uint64_t)scan->run->realtime_ns); /* of a damaged log it may be anything */
	spans->closed_ns = TIME_UNKNOWN;
	open_keys_begin(&spans->open_ops);
	if (find_threads(spans) != 0 || nests_begin(&spans->nests) != 0 || spans_gpu_begin(spans) != 0 || spans_flops_begin(spans) != 0) {
		end(spans);
		return NULL;
	}
	return spans;
}

/* The live memory of each allocator, as the first pass has drawn it. */
static void tell_memory(struct spans *spans, const struct account *account)
{
	char name[64];

	if (account->allocator == NULL || !(spans->options->wants & SPAN_BIT(SPAN_MEMORY)))
		return;
	snprintf(name, sizeof name, "live memory: %s", account->allocator);
	for (size_t i = 0; i < account->timeline.count; i++) {
		const struct timeline_point *point = &account->timeline.points[i];
		struct span span = {.kind = SPAN_COUNTER,
				    .what = SPAN_MEMORY,
				    .on = SPAN_PROCESS,
				    .name = name,
				    .start_ns = point->max_time_ns,
				    .value = (double)point->max};
		if (point->max != point->live)
			spans_tell(spans, &span);
		span.start_ns = point->time_ns;
		span.value = (double)point->live;
		spans_tell(spans, &span);
	}
}

static int finish(void *state)
{
	struct spans *spans = state;
	const struct process *process = spans->scan->process;
	int64_t end_ns = spans_ns(spans, process->end_ticks > spans->last ? process->end_ticks : spans->last);

	tell_step(spans, end_ns, 1);
	spans_traces_flush(spans);
	spans_gpu_finish(spans);
	spans_ranges_finish(spans, end_ns);
	tell_memory(spans, &process->heap);
	tell_memory(spans, &process->mmap);
	for (size_t i = 0; i < process->account_count; i++)
		tell_memory(spans, &process->accounts[i]);
	spans_use(spans);
	spans_tell_waiting(spans);
	((struct wanted *)spans->scan->context)->result = spans->result;
	return 0;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define INPUT_WHATS (SPAN_BIT(SPAN_OP) | SPAN_BIT(SPAN_FLOPS))
#define GPU_WHATS \
	(SPAN_BIT(SPAN_CALL) | SPAN_BIT(SPAN_KERNEL) | SPAN_BIT(SPAN_COPY) | SPAN_BIT(SPAN_SET) | SPAN_BIT(SPAN_GRAPH) | \
	 SPAN_BIT(SPAN_COMPILE) | SPAN_BIT(SPAN_OVERHEAD) | SPAN_BIT(SPAN_HOST_COPY))

static size_t append(struct scan_record *to, const struct scan_record *records, size_t count)
{
	memcpy(to, records, count * sizeof *to);
	return count;
}

/* Only records that lead to something wanted are read; what a thread was in, and what a device did, depend on all of their group. */
int spans_stream(struct run *run, size_t process, const struct span_options *options)
{
	struct wanted wanted = {.process = process, .options = options};
	struct scan_record records[COUNT(thread_records) + COUNT(block_records) + COUNT(gpu_records) + COUNT(input_records) +
				   COUNT(link_records) + COUNT(flops_records)];
	struct scan_subject subject = {
		.records = records, .facts = facts, .fact_count = COUNT(facts), .begin = begin, .finish = finish, .free = end};

	subject.record_count = append(records, thread_records, COUNT(thread_records));
	if (options->wants & SPAN_BIT(SPAN_BLOCK))
		subject.record_count += append(records + subject.record_count, block_records, COUNT(block_records));
	if (options->wants & INPUT_WHATS)
		subject.record_count += append(records + subject.record_count, input_records, COUNT(input_records));
	if (options->phase_of != NULL)
		subject.record_count += append(records + subject.record_count, link_records, COUNT(link_records));
	if (options->wants & SPAN_BIT(SPAN_FLOPS))
		subject.record_count += append(records + subject.record_count, flops_records, COUNT(flops_records));
	if (options->wants & (GPU_WHATS | SPAN_BIT(SPAN_FLOPS)))
		subject.record_count += append(records + subject.record_count, gpu_records, COUNT(gpu_records));
	if (process_scan_again(run, &run->processes[process], &subject, &wanted) != 0)
		return -1;
	return wanted.result;
}

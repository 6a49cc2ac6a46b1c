/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic of ops and library calls, told as they end; see spans.h, flops.h.
 *
 * Rule: nothing is counted twice. The outermost op whose inputs tell its work counts for all that is in it, library calls, too; a
 * call outside of such ops counts, of calls inside one another the innermost. Each op with the same inputs, and each call with the
 * same arguments, is worked out once.
 */
#include "reducer/model/spans_internal.h"

#include <stdlib.h>
#include <string.h>

/* Of a stream: the arguments of the call that comes next, and the last call that was counted. */
struct stream_calls {
	uint64_t values[GPU_LIBRARY_ARGUMENTS];
	int64_t counted_ns;
	int is_there, has_counted;
};

struct spans_flops {
	struct number_map of_op, of_call, of_trace; /* place in figures */
	struct flops *figures;
	size_t count, room;
	struct stream_calls *streams;
};

int spans_flops_begin(struct spans *spans)
{
	if (!(spans->options->wants & SPAN_BIT(SPAN_FLOPS)))
		return 0;
	spans->flops = calloc(1, sizeof *spans->flops);
	if (spans->flops == NULL)
		return -1;
	spans->flops->streams = calloc(spans->scan->process->log->stream_count + 1, sizeof *spans->flops->streams);
	return spans->flops->streams == NULL ? -1 : 0;
}

void spans_flops_free(struct spans *spans)
{
	if (spans->flops == NULL)
		return;
	number_map_free(&spans->flops->of_op);
	number_map_free(&spans->flops->of_call);
	number_map_free(&spans->flops->of_trace);
	free(spans->flops->figures);
	free(spans->flops->streams);
	free(spans->flops);
}

/* Where there is no memory it is worked out again. */
static void keep(struct spans_flops *flops, struct number_map *map, uint64_t high, uint64_t low, struct flops figure)
{
	if (flops->count == flops->room) {
		size_t room = flops->room ? flops->room * 2 : 64;
		struct flops *larger = realloc(flops->figures, room * sizeof *larger);
		if (larger == NULL)
			return;
		flops->figures = larger;
		flops->room = room;
	}
	flops->figures[flops->count] = figure;
	if (number_map_set(map, high, low, (uint32_t)flops->count) == 0)
		flops->count++;
}

static void tell(struct spans *spans, const struct span *like, const struct span_flops *flops)
{
	struct span span = *like;

	span.what = SPAN_FLOPS;
	span.flops = flops;
	span.arguments = NULL;
	span.argument_count = 0;
	spans_tell(spans, &span);
}

/* The op that began last on the thread is given these. */
void spans_take_inputs(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;
	struct span_thread *thread = &spans->threads[spans->thread_of[stream]];
	struct span_open *open = thread->count == 0 ? NULL : &thread->open[thread->count - 1];
	uint32_t inputs = spans_place_of(&spans->words, SPANS_VALUE(0)), found;

	if (open == NULL || !open->is_op || open->name == SPANS_NO_TEXT || inputs == SPANS_NO_TEXT)
		return;
	open->inputs = inputs;
	if (spans->flops == NULL)
		return;
	found = number_map_find(&spans->flops->of_op, open->name, inputs);
	if (found != NUMBER_MAP_NONE) {
		open->flops = spans->flops->figures[found];
	} else {
		open->flops = flops_of_op(spans_text(spans, open->name), spans_text(spans, inputs));
		keep(spans->flops, &spans->flops->of_op, open->name, inputs, open->flops);
	}
	if (open->flops.is_known && !open->is_covered)
		open->is_covered = 2; /* by itself */
}

static int has_same_name(const struct span_thread *thread, const struct span_open *open)
{
	for (size_t at = thread->count; at-- > 0;)
		if (thread->open[at].name == open->name && thread->open[at].family == open->family)
			return 1;
	return 0;
}

void spans_flops_close(struct spans *spans, const struct span_thread *thread, const struct span_open *open, struct span_open *below,
		       const struct span *span)
{
	struct span_flops flops = {.flops = open->flops, .origin = FLOPS_BY_OP};

	if (!open->flops.is_known && !open->holds_flops)
		return;
	flops.is_counted = open->is_covered == 2 && open->flops.is_known;
	flops.is_innermost = open->flops.is_known && !open->holds_own;
	if (!open->flops.is_known)
		flops.flops = (struct flops){.count = open->inside_flops, .is_known = 1};
	if (below != NULL) {
		below->inside_flops = flops_plus(below->inside_flops, flops.flops.count);
		below->holds_flops = 1;
		below->holds_own |= open->flops.is_known || open->holds_own;
	}
	if (!open->is_op)
		return;
	flops.is_inner = has_same_name(thread, open);
	tell(spans, span, &flops);
}

void spans_take_library(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;
	struct stream_calls *calls = &spans->flops->streams[stream];

	for (int k = 0; k < GPU_LIBRARY_ARGUMENTS; k++)
		calls->values[k] = SPANS_VALUE(k);
	calls->is_there = 1;
}

/* Arguments that hash to the same 128 bits are taken for equal. */
static struct flops of_call(struct spans_flops *flops, const struct gpu_function *function, const uint64_t *values)
{
	uint64_t high = function->number + UINT64_C(0x9e3779b97f4a7c15), low = function->number;
	uint32_t found;
	struct flops figure;

	for (int k = 0; k < GPU_LIBRARY_ARGUMENTS; k++) {
		high = (high ^ values[k]) * UINT64_C(0xff51afd7ed558ccd) + (high >> 29);
		low = (low + values[k]) * UINT64_C(0xc4ceb9fe1a85ec53) ^ (low >> 31);
	}
	found = number_map_find(&flops->of_call, high | 1, low);
	if (found != NUMBER_MAP_NONE)
		return flops->figures[found];
	figure = flops_of_call(function->name, function->arguments, values, GPU_LIBRARY_ARGUMENTS);
	keep(flops, &flops->of_call, high | 1, low, figure);
	return figure;
}

/* What the spans of a call have in common. */
static struct span span_of(const struct span_call *call, const struct gpu_function *function)
{
	return (struct span){.kind = SPAN_WHOLE,
			     .on = SPAN_THREAD,
			     .track = call->thread,
			     .thread = call->thread,
			     .start_ns = call->begin_ns,
			     .depth = call->place.depth,
			     .phase = call->place.phase,
			     .source = SPAN_NO_SOURCE,
			     .call = function->kind,
			     .name = function->name};
}

void spans_flops_call(struct spans *spans, size_t stream, const struct gpu_function *function, uint32_t result,
		      const struct span_call *call, int64_t end_ns)
{
	struct span_thread *thread = &spans->threads[spans->thread_of[stream]];
	struct span_open *top = thread->count == 0 ? NULL : &thread->open[thread->count - 1];
	struct stream_calls *calls = &spans->flops->streams[stream];
	struct span_flops flops = {.origin = FLOPS_BY_CALL};
	struct span span = span_of(call, function);
	int holds = calls->has_counted && calls->counted_ns >= call->begin_ns;

	if (function->kind == GPU_GRAPH) {
		flops.is_replay = 1;
		if (result == 0)
			tell(spans, &span, &flops);
		return;
	}
	if (calls->is_there && result == 0)
		flops.flops = of_call(spans->flops, function, calls->values);
	calls->is_there = 0;
	if (!flops.flops.is_known || holds)
		return;
	calls->has_counted = 1;
	calls->counted_ns = call->begin_ns;
	flops.is_counted = top == NULL || !top->is_covered;
	flops.is_innermost = top == NULL || !top->flops.is_known;
	if (top != NULL && flops.is_counted) {
		top->inside_flops = flops_plus(top->inside_flops, flops.flops.count);
		top->holds_flops = 1;
	}
	span.duration_ns = end_ns > call->begin_ns ? (uint64_t)(end_ns - call->begin_ns) : 0;
	span.op = spans_text(spans, call->place.op);
	span.op_source = call->place.op_source;
	tell(spans, &span, &flops);
}

void spans_flops_trace(struct spans *spans, const struct span *span)
{
	const char *arguments = NULL;
	struct span_flops flops = {.origin = FLOPS_BY_TRACE, .is_counted = 1, .is_innermost = 1};
	uint32_t found;

	for (size_t i = 0; i < span->argument_count && arguments == NULL; i++)
		if (span->arguments[i].text != NULL && strcmp(span->arguments[i].name, "arguments") == 0)
			arguments = span->arguments[i].text;
	if (arguments == NULL)
		return;
	/* Both texts stay where they are as long as the pass lasts. */
	found = number_map_find(&spans->flops->of_trace, (uint64_t)(uintptr_t)span->name, (uint64_t)(uintptr_t)arguments);
	if (found != NUMBER_MAP_NONE) {
		flops.flops = spans->flops->figures[found];
	} else {
		flops.flops = flops_of_trace(span->name, arguments);
		keep(spans->flops, &spans->flops->of_trace, (uint64_t)(uintptr_t)span->name, (uint64_t)(uintptr_t)arguments,
		     flops.flops);
	}
	if (flops.flops.is_known)
		tell(spans, span, &flops);
}

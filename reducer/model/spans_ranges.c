/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of ranges, ops and files read; see spans.h.
 *
 * Rule: a range waits on the stack of its thread until its end comes by; an end that nothing waits for is passed over. What a
 * range lies in is what was open below it when it began, whatever ends first.
 */
#include "reducer/model/ops_stacks.h"
#include "reducer/model/round.h"
#include "reducer/model/spans_internal.h"

#include <stdlib.h>
#include <string.h>

#define OPEN_MOST (1u << 14) /* ranges open at once on a thread; further ones are drawn as marks: a search costs as much */
#define OPEN_FIRST 4u /* threads may be many, and most have few */

/* What is innermost up to a place on the stack. */
static void find_innermost(struct span_thread *thread, size_t at)
{
	struct span_open *open = &thread->open[at];
	const struct span_open *below = at == 0 ? NULL : open - 1;

	open->op = below == NULL ? 0 : below->op;
	open->range = below == NULL ? 0 : below->range;
	if (open->is_op && (open->name != SPANS_NO_TEXT || open->op == 0))
		open->op = (uint32_t)at + 1;
	else if (!open->is_op && open->name != SPANS_NO_TEXT)
		open->range = (uint32_t)at + 1;
}

/* Returns -1 where it does not fit. */
static int make_room(struct span_thread *thread)
{
	size_t room = thread->room ? thread->room * 2 : OPEN_FIRST;
	struct span_open *larger;

	if (thread->count < thread->room)
		return 0;
	larger = room > OPEN_MOST ? NULL : realloc(thread->open, room * sizeof *larger);
	if (larger == NULL)
		return -1;
	thread->open = larger;
	thread->room = room;
	return 0;
}

/* What ends by a pop that names no range. */
static int is_stacked(const struct span_open *open)
{
	return open->family >= FAMILY_STACK && open->family < FAMILY_TRACE;
}

/* An op, or a range of the user's that a framework tells as one. */
static int is_framework_op(const struct span_open *open)
{
	return open->family >= FAMILY_OP && open->family < FAMILY_STACK;
}

struct span_open *spans_push(struct spans *spans, struct span_thread *thread, struct span_open open)
{
	if ((thread->too_deep != 0 && is_stacked(&open)) || make_room(thread) != 0) {
		thread->too_deep += is_stacked(&open) != 0;
		spans_tell(spans, &(struct span){.kind = SPAN_INSTANT,
						 .what = SPAN_MARK,
						 .on = SPAN_THREAD,
						 .track = thread->serial,
						 .thread = thread->serial,
						 .start_ns = open.start_ns,
						 .source = open.source,
						 .name = spans_text(spans, open.name),
						 .is_open = 1});
		return NULL;
	}
	if (is_framework_op(&open))
		open_keys_change(&spans->open_ops, open.source, open.key, 1);
	open.inputs = SPANS_NO_TEXT;
	thread->open[thread->count] = open;
	find_innermost(thread, thread->count);
	return &thread->open[thread->count++];
}

static enum span_what what_of(const struct span_open *open)
{
	if (open->family >= FAMILY_TRACE)
		return SPAN_TRACE;
	return open->is_op ? SPAN_OP : SPAN_RANGE;
}

size_t spans_find(const struct span_thread *thread, uint32_t family, uint64_t key)
{
	for (size_t at = thread->count; at-- > 0;)
		if (thread->open[at].family == family && thread->open[at].key == key)
			return at;
	return SIZE_MAX;
}

/* All ranges around what begins next. */
static uint32_t nest_of(const struct span_thread *thread)
{
	return thread->count == 0 ? NESTS_NONE : thread->open[thread->count - 1].nest;
}

/* Of something on the stack: that of what it lies in, and itself if it is a range. */
static uint32_t nest_inside(struct spans *spans, uint32_t outer, const struct span_open *open)
{
	const struct nest_range range = {.name = open->name, .domain = open->domain, .source = open->source};

	return open->is_op ? outer
			   : nests_inside(&spans->nests, outer, &range, spans_text(spans, open->name), spans_text(spans, open->domain));
}

/* One below these has ended before them. */
static void nest_again(struct spans *spans, struct span_thread *thread, size_t from)
{
	uint32_t outer = from == 0 ? NESTS_NONE : thread->open[from - 1].nest;

	for (size_t at = from; at < thread->count; at++) {
		outer = thread->open[at].nest = nest_inside(spans, outer, &thread->open[at]);
		find_innermost(thread, at);
	}
}

void spans_close(struct spans *spans, struct span_thread *thread, size_t at, int64_t end_ns, int is_open)
{
	struct span_open open = thread->open[at];
	const struct span_argument inputs = {.name = "inputs", .text = spans_text(spans, open.inputs)};
	struct span span;
	uint64_t duration = end_ns > open.start_ns ? (uint64_t)(end_ns - open.start_ns) : 0;
	const char *domain = spans_text(spans, open.domain);

	/* One that ends under a later one took no time of the range below it that the later one does not take too. */
	if (at > 0 && at + 1 == thread->count && thread != &spans->wide) {
		thread->open[at - 1].inside_ns += duration;
		closures_close(&thread->open[at - 1], &open, end_ns);
	}
	if (is_framework_op(&open))
		open_keys_change(&spans->open_ops, open.source, open.key, -1);
	memmove(&thread->open[at], &thread->open[at + 1], (--thread->count - at) * sizeof open);
	if (thread != &spans->wide)
		nest_again(spans, thread, at);
	span = (struct span){.kind = SPAN_WHOLE,
			     .what = what_of(&open),
			     .on = thread == &spans->wide ? SPAN_PROCESS : SPAN_THREAD,
			     .track = thread->serial,
			     .thread = thread->serial,
			     .began = open.began,
			     .start_ns = open.start_ns,
			     .duration_ns = duration,
			     .self_ns = duration > open.inside_ns ? duration - open.inside_ns : 0,
			     .depth = thread == &spans->wide ? SPAN_NO_DEPTH : (uint32_t)at,
			     .source = open.source,
			     .scope = open.scope,
			     .key = open.family < FAMILY_TRACE && open.family >= FAMILY_STACK ? 0 : open.key,
			     .phase = open.phase,
			     .closure_ns = open.closure_ns > open.start_ns ? (uint64_t)(open.closure_ns - open.start_ns) : 0,
			     .domain = domain == NULL ? "" : domain,
			     .is_open = is_open,
			     .inputs = inputs.text,
			     .arguments = &inputs,
			     .argument_count = inputs.text != NULL && !spans->options->is_without_arguments,
			     .name = spans_text(spans, open.name)};
	if (spans->flops != NULL && thread != &spans->wide)
		spans_flops_close(spans, thread, &open, at > 0 ? &thread->open[at - 1] : NULL, &span);
	spans_tell(spans, &span);
}

/* What the caller makes of a name, else the phase of what it lies in. */
static uint8_t phase_of(struct spans *spans, const struct span_thread *thread, const struct span_open *open)
{
	uint8_t below = thread->count > 0 ? thread->open[thread->count - 1].phase : 0;
	uint8_t phase;

	if (spans->options->phase_of == NULL || open->name == SPANS_NO_TEXT)
		return below;
	phase = spans_phase(spans, open->name, open->source, open->scope);
	return phase != 0 ? phase : below;
}

struct span_place spans_where(const struct spans *spans, size_t stream)
{
	const struct span_thread *thread = &spans->threads[spans->thread_of[stream]];
	struct span_place place = {.op = SPANS_NO_TEXT, .inputs = SPANS_NO_TEXT, .range = SPANS_NO_TEXT, .depth = (uint32_t)thread->count,
				   .nest = nest_of(thread)};

	if (thread->count == 0)
		return place;
	const struct span_open *top = &thread->open[thread->count - 1];
	place.phase = top->phase;
	if (top->op != 0) {
		const struct span_open *op = &thread->open[top->op - 1];
		place.op = op->name;
		place.inputs = op->inputs;
		place.op_source = op->source;
	}
	if (top->range != 0)
		place.range = thread->open[top->range - 1].name;
	return place;
}

static void begin(struct spans *spans, struct span_thread *thread, struct span_open open)
{
	open.phase = phase_of(spans, thread, &open);
	closures_begin(spans, thread, &open);
	open.is_covered = thread->count > 0 && thread->open[thread->count - 1].is_covered;
	if (thread != &spans->wide)
		open.nest = nest_inside(spans, nest_of(thread), &open);
	spans_push(spans, thread, open);
}

void spans_take_push(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;

	begin(spans, &spans->threads[spans->thread_of[stream]],
	      (struct span_open){.family = FAMILY_STACK + (uint16_t)SPANS_VALUE(2),
				 .key = SPANS_VALUE(1),
				 .source = (uint8_t)SPANS_VALUE(2),
				 .domain = spans_place_of(&spans->domains, SPANS_VALUE(1)),
				 .name = spans_place_of(&spans->strings, SPANS_VALUE(0)),
				 .start_ns = spans_ns(spans, batch->times[i])});
}

void spans_take_pop(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;
	struct span_thread *thread = &spans->threads[spans->thread_of[stream]];
	size_t at;

	if (thread->too_deep != 0) { /* the ends of those come first, as in ranges.c */
		thread->too_deep--;
		return;
	}
	at = spans_find(thread, FAMILY_STACK + (uint16_t)SPANS_VALUE(1), SPANS_VALUE(0));
	if (at != SIZE_MAX)
		spans_close(spans, thread, at, spans_ns(spans, batch->times[i]), 0);
}

void spans_take_start(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;

	begin(spans, &spans->wide,
	      (struct span_open){.family = FAMILY_PROCESS,
				 .key = SPANS_VALUE(0),
				 .began = spans_serial(spans, stream),
				 .source = (uint8_t)SPANS_VALUE(3),
				 .domain = spans_place_of(&spans->domains, SPANS_VALUE(2)),
				 .name = spans_place_of(&spans->strings, SPANS_VALUE(1)),
				 .start_ns = spans_ns(spans, batch->times[i])});
}

void spans_take_end(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;
	size_t at = spans_find(&spans->wide, FAMILY_PROCESS, SPANS_VALUE(0));

	if (at == SIZE_MAX)
		return;
	if (spans->wide.open[at].began != spans_serial(spans, stream))
		spans->wide.open[at].began = 0;
	spans_close(spans, &spans->wide, at, spans_ns(spans, batch->times[i]), 0);
}

/* What PyTorch calls the user's scope is a range, as in ops_stacks.c. */
static int is_user_scope(uint64_t scope)
{
	return scope == 7 || scope == 23;
}

void spans_take_op_begin(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;

	begin(spans, &spans->threads[spans->thread_of[stream]],
	      (struct span_open){.family = FAMILY_OP + (uint16_t)SPANS_VALUE(2),
				 .key = SPANS_VALUE(1),
				 .source = (uint8_t)SPANS_VALUE(2),
				 .scope = (uint8_t)SPANS_VALUE(3),
				 .domain = SPANS_NO_TEXT,
				 .name = spans_place_of(&spans->words, SPANS_VALUE(0)),
				 .start_ns = spans_ns(spans, batch->times[i]),
				 .is_op = !is_user_scope(SPANS_VALUE(3))});
}

/* Key 0: the innermost of its source. Usually on the thread that began it; else on any. */
void spans_take_op_end(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;
	struct span_thread *thread = &spans->threads[spans->thread_of[stream]];
	uint32_t family = FAMILY_OP + (uint16_t)SPANS_VALUE(1);
	uint64_t key = SPANS_VALUE(0);
	size_t at = SIZE_MAX;

	if (!open_keys_may(&spans->open_ops, (uint8_t)SPANS_VALUE(1), key))
		return;
	if (key == 0) {
		for (at = thread->count; at-- > 0 && thread->open[at].family != family;)
			;
	} else {
		at = spans_find(thread, family, key);
	}
	for (size_t t = 0, looks = 0; at == SIZE_MAX && key != 0 && t < spans->thread_count && looks < OPS_ELSEWHERE_LOOKS; t++) {
		thread = &spans->threads[t];
		looks += 1 + thread->count;
		at = spans_find(thread, family, key);
	}
	if (at != SIZE_MAX)
		spans_close(spans, thread, at, spans_ns(spans, batch->times[i]), 0);
}

void spans_take_mark(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;
	const char *domain = spans_text(spans, spans_place_of(&spans->domains, SPANS_VALUE(1)));

	spans_tell(spans, &(struct span){.kind = SPAN_INSTANT,
					 .what = SPAN_MARK,
					 .on = SPAN_THREAD,
					 .track = spans_serial(spans, stream),
					 .thread = spans_serial(spans, stream),
					 .source = (uint8_t)SPANS_VALUE(2),
					 .domain = domain == NULL ? "" : domain,
					 .start_ns = spans_ns(spans, batch->times[i]),
					 .name = spans_text(spans, spans_place_of(&spans->strings, SPANS_VALUE(0)))});
}

/* Calls on a file or socket. */
void spans_take_read(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;
	uint64_t end = batch->times[i], length = SPANS_VALUE(1);
	int64_t start = spans_ns(spans, length > end ? 0 : end - length), until = spans_ns(spans, end);
	struct span_argument arguments[] = {{.name = "bytes", .number = SPANS_VALUE(3)},
					    {.name = "calls", .number = SPANS_VALUE(4)}};
	struct span_place place = spans_where(spans, stream);
	uint32_t name = spans_place_of(&spans->strings, SPANS_VALUE(2));
	uint64_t whole = until > start ? (uint64_t)(until - start) : 0;

	spans_tell(spans,
		   &(struct span){.kind = SPAN_WHOLE,
				  .what = SPAN_READ,
				  .on = SPAN_THREAD,
				  .track = spans_serial(spans, stream),
				  .thread = spans_serial(spans, stream),
				  .depth = place.depth,
				  .phase = place.phase,
				  .start_ns = start,
				  .duration_ns = whole,
				  .self_ns = length == 0 ? whole
							 : round_u64((double)whole * ((double)SPANS_VALUE(0) / (double)length)),
				  .bytes = SPANS_VALUE(3),
				  .number = SPANS_VALUE(5),
				  .source = SPAN_NO_SOURCE,
				  .op = spans_text(spans, place.op),
				  .range = spans_text(spans, place.range),
				  .name = name == SPANS_NO_TEXT ? "(file not known)" : spans_text(spans, name),
				  .arguments = arguments,
				  .argument_count = 2});
}

void spans_ranges_finish(struct spans *spans, int64_t end_ns)
{
	for (size_t t = 0; t < spans->thread_count; t++) {
		while (spans->threads[t].count > 0)
			spans_close(spans, &spans->threads[t], spans->threads[t].count - 1, end_ns, 1);
		spans->threads[t].too_deep = 0;
	}
	while (spans->wide.count > 0)
		spans_close(spans, &spans->wide, spans->wide.count - 1, end_ns, 1);
}

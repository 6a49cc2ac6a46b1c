/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans that a framework tells of when they are over (TraceMe); see spans.h.
 *
 * Rule: a trace waits for the numbers that follow it in its stream, until the next one there or the next reading of the clock.
 * Its times are CLOCK_REALTIME and are put into place by the last such reading.
 */
#include "reducer/model/spans_internal.h"

#include <stdlib.h>
#include <string.h>

#define ENDED_MOST 8192u /* traces of a thread that may still prove to lie in a longer one; then the older half is outermost */

/* The time of what ended on a thread directly inside something that began then; it is forgotten. */
static uint64_t ended_inside(struct span_thread *thread, int64_t start_ns, uint64_t duration_ns)
{
	uint64_t inside = 0;

	while (thread->ended_count > 0 && thread->ended[thread->ended_count - 1].start_ns >= start_ns)
		inside += thread->ended[--thread->ended_count].duration_ns;
	if (thread->ended_count == ENDED_MOST) {
		thread->ended_count /= 2;
		memmove(thread->ended, thread->ended + thread->ended_count, thread->ended_count * sizeof *thread->ended);
	}
	if (thread->ended_count == thread->ended_room) {
		size_t room = thread->ended_room ? thread->ended_room * 2 : 64;
		struct span_ended *larger = realloc(thread->ended, room * sizeof *larger);
		if (larger == NULL)
			return inside;
		thread->ended = larger;
		thread->ended_room = room;
	}
	thread->ended[thread->ended_count++] = (struct span_ended){start_ns, duration_ns};
	return inside;
}

/* An op of TensorFlow that other processes take part in has returned, and goes on. */
static void tell_collective(struct spans *spans, const struct span *span)
{
	struct span whole = *span;
	int64_t to;

	if (!collectives_take(&spans->collectives, span, &whole.start_ns, &to))
		return;
	whole.duration_ns = whole.self_ns = (uint64_t)(to - whole.start_ns);
	whole.on = SPAN_PROCESS;
	whole.thread = whole.track = 0;
	whole.name = COLLECTIVE_NAME;
	whole.arguments = NULL;
	whole.argument_count = 0;
	if (spans->options->phase_of != NULL)
		whole.phase = spans->options->phase_of(spans->options->context, whole.name, whole.source, 0);
	spans_tell(spans, &whole);
}

static void flush(struct spans *spans, struct span_pending *pending)
{
	if (!pending->is_there)
		return;
	pending->is_there = 0;
	pending->span.arguments = pending->arguments;
	if (spans->flops != NULL)
		spans_flops_trace(spans, &pending->span);
	tell_collective(spans, &pending->span);
	spans_tell(spans, &pending->span);
}

void spans_traces_flush(struct spans *spans)
{
	for (size_t s = 0; s < spans->scan->process->log->stream_count; s++)
		flush(spans, &spans->pending[s]);
}

static void hold(struct spans *spans, size_t stream, struct span span, uint32_t text)
{
	struct span_pending *pending = &spans->pending[stream];

	flush(spans, pending);
	span.kind = SPAN_WHOLE;
	span.what = SPAN_TRACE;
	span.on = SPAN_THREAD;
	span.track = span.thread;
	span.depth = SPAN_NO_DEPTH;
	span.domain = "";
	if (text != SPANS_NO_TEXT)
		pending->arguments[span.argument_count++] =
			(struct span_argument){.name = "arguments", .text = spans_text(spans, text)};
	pending->span = span;
	pending->is_there = 1;
}

/* Kinds 1 and 2: the beginning and end of an activity, perhaps on another thread; `duration` is its id. */
static void take_edge(struct spans *spans, const struct batch *batch, size_t i, const int *fields, int64_t time)
{
	uint32_t family = FAMILY_TRACE + (uint16_t)SPANS_VALUE(4);
	uint64_t key = SPANS_VALUE(2);
	size_t at;

	if (SPANS_VALUE(5) == 1) {
		spans_push(spans, &spans->wide,
			   (struct span_open){.family = family,
					      .key = key,
					      .source = (uint8_t)SPANS_VALUE(4),
					      .domain = SPANS_NO_TEXT,
					      .name = spans_place_of(&spans->words, SPANS_VALUE(0)),
					      .start_ns = time});
		return;
	}
	at = spans_find(&spans->wide, family, key);
	if (at != SIZE_MAX)
		spans_close(spans, &spans->wide, at, time, 0);
}

void spans_take_trace(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;
	int64_t start = (int64_t)(SPANS_VALUE(1) + (uint64_t)spans->realtime_offset); /* a damaged one may be anything */
	uint64_t duration = SPANS_VALUE(2), inside;
	uint32_t place = spans_place_of(&spans->words, SPANS_VALUE(0));
	const char *name = spans_text(spans, place);
	uint64_t text = SPANS_VALUE(3);

	if (SPANS_VALUE(5) != 0) {
		take_edge(spans, batch, i, fields, start);
		return;
	}
	inside = ended_inside(&spans->threads[spans->thread_of[stream]], start, duration);
	struct span span = {.start_ns = start,
			    .duration_ns = duration,
			    .self_ns = duration > inside ? duration - inside : 0,
			    .name = name == NULL ? "[name not recorded]" : name,
			    .source = (uint8_t)SPANS_VALUE(4),
			    .thread = spans_serial(spans, stream)};
	if (spans->options->phase_of != NULL)
		span.phase = place == SPANS_NO_TEXT ? spans->options->phase_of(spans->options->context, span.name, span.source, 0)
						    : spans_phase(spans, place, span.source, 0);
	hold(spans, stream, span, text == 0 ? SPANS_NO_TEXT : spans_place_of(&spans->words, text));
}

void spans_take_trace_number(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;
	struct span_pending *pending = &spans->pending[stream];
	const char *name = spans_text(spans, spans_place_of(&spans->words, SPANS_VALUE(0)));

	if (pending->is_there && name != NULL && pending->span.argument_count < SPAN_ARGUMENTS)
		pending->arguments[pending->span.argument_count++] =
			(struct span_argument){.name = name, .number = SPANS_VALUE(1)};
}

void spans_take_clock(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;
	uint64_t origin = spans->scan->process->log->header.origin.ticks, ticks = SPANS_VALUE(0), realtime = SPANS_VALUE(1);

	(void)stream;
	if (batch->times[i] > spans->last)
		spans->last = batch->times[i];
	spans_traces_flush(spans);
	if (ticks >= origin && realtime != 0)
		spans->realtime_offset = (int64_t)((uint64_t)spans_ns(spans, ticks - origin) - realtime);
}

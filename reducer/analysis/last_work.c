/* SPDX-License-Identifier: Apache-2.0 */
/* What each thread did last; see reducer/analysis/last_work.h. */
#include "reducer/analysis/last_work.h"

#include "reducer/model/number_map.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct last_work_pass {
	uint64_t log_id;
	uint32_t recent, recent_place; /* the serial asked for last, 0 = none; its place */
	struct number_map places; /* by serial: place in threads */
};

static void *begin(const struct analysis_input *input)
{
	struct last_work *work = base_alloc(1, sizeof(*work));

	if (!input)
		return work;
	work->pass = base_alloc(1, sizeof(*work->pass));
	work->pass->log_id = input->process->log_id;
	return work;
}

static struct last_thread *thread_of(struct last_work *work, uint32_t serial)
{
	struct last_work_pass *pass = work->pass;
	uint32_t place;

	if (pass->recent == serial)
		return &work->threads[pass->recent_place];
	place = number_map_find(&pass->places, 1, serial);
	if (place == NUMBER_MAP_NONE) {
		place = (uint32_t)work->count;
		work->threads = base_grow(work->threads, &work->room, work->count + 1, sizeof(*work->threads));
		work->threads[work->count++] =
			(struct last_thread){.log_id = pass->log_id, .thread = serial, .end_ns = TIME_UNKNOWN};
		if (number_map_set(&pass->places, 1, serial, place) != 0)
			base_die("out of memory for the last work of threads");
	}
	pass->recent = serial;
	pass->recent_place = place;
	return &work->threads[place];
}

static void note_end(struct last_work *work, struct last_thread *thread, int64_t end_ns, const char *text)
{
	if (thread->end_ns != TIME_UNKNOWN && end_ns < thread->end_ns)
		return;
	thread->end_ns = end_ns;
	if (thread->text == text)
		return;
	thread->text = text;
	thread->name = words_lasting(&work->words, text);
}

static void again(void *result, const struct span_again *spans, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (spans[i].like->what == SPAN_CALL && spans[i].like->thread)
			note_end(result, thread_of(result, spans[i].like->thread),
				 spans[i].start_ns + (int64_t)spans[i].duration_ns, spans[i].like->name);
}

static void take(void *result, const struct span *span)
{
	struct last_work *work = result;
	struct last_thread *thread;

	if (span->kind != SPAN_WHOLE || !span->thread)
		return;
	thread = thread_of(work, span->thread);
	if (span->is_open) {
		thread->open = base_grow(thread->open, &thread->open_room, thread->open_count + 1, sizeof(*thread->open));
		thread->open[thread->open_count++] =
			(struct last_open){.start_ns = span->start_ns, .name = words_lasting(&work->words, span->name)};
	} else {
		note_end(work, thread, span->start_ns + (int64_t)span->duration_ns, span->name);
	}
}

static int by_start(const void *a, const void *b)
{
	int64_t one = ((const struct last_open *)a)->start_ns, other = ((const struct last_open *)b)->start_ns;

	return one < other ? -1 : one > other;
}

static int by_serial(const void *a, const void *b)
{
	uint32_t one = ((const struct last_thread *)a)->thread, other = ((const struct last_thread *)b)->thread;

	return one < other ? -1 : one > other;
}

static void end(void *result)
{
	struct last_work *work = result;

	for (size_t i = 0; i < work->count; i++) {
		struct last_thread *thread = &work->threads[i];
		if (thread->open_count)
			qsort(thread->open, thread->open_count, sizeof(*thread->open), by_start);
		thread->text = NULL;
	}
	if (work->count)
		qsort(work->threads, work->count, sizeof(*work->threads), by_serial);
	number_map_free(&work->pass->places);
	free(work->pass);
	work->pass = NULL;
}

static void merge(void *into, const void *from)
{
	struct last_work *work = into;
	const struct last_work *more = from;

	for (size_t i = 0; i < more->count; i++) {
		struct last_thread *thread;
		work->threads = base_grow(work->threads, &work->room, work->count + 1, sizeof(*work->threads));
		thread = &work->threads[work->count++];
		*thread = more->threads[i];
		thread->name = thread->end_ns == TIME_UNKNOWN ? 0 : words_number(&work->words, more->words.items[thread->name]);
		thread->open_room = thread->open_count;
		thread->open = base_alloc(thread->open_count + 1, sizeof(*thread->open));
		for (size_t k = 0; k < thread->open_count; k++) {
			thread->open[k].start_ns = more->threads[i].open[k].start_ns;
			thread->open[k].name = words_number(&work->words, more->words.items[more->threads[i].open[k].name]);
		}
	}
}

const struct last_thread *last_work_thread(const struct last_work *work, uint32_t serial)
{
	const struct last_thread key = {.thread = serial};

	return work && work->count ? bsearch(&key, work->threads, work->count, sizeof(key), by_serial) : NULL;
}

static void print(const void *result, struct text *text)
{
	const struct last_work *work = result;
	char **lines = base_alloc(work->count + 1, sizeof(*lines));

	for (size_t i = 0; i < work->count; i++) {
		const struct last_thread *thread = &work->threads[i];
		struct text line = {0};
		text_format(&line, "%" PRIx64 " %" PRIu32 ": %" PRId64 " %s;", thread->log_id, thread->thread, thread->end_ns,
			    thread->end_ns == TIME_UNKNOWN ? "" : work->words.items[thread->name]);
		for (size_t k = 0; k < thread->open_count; k++)
			text_format(&line, " %s %" PRId64, work->words.items[thread->open[k].name], thread->open[k].start_ns);
		text_char(&line, '\n');
		lines[i] = line.bytes;
	}
	text_sorted_lines(text, lines, work->count);
}

static void drop(void *result)
{
	struct last_work *work = result;

	for (size_t i = 0; i < work->count; i++)
		free(work->threads[i].open);
	free(work->threads);
	words_free(&work->words);
	if (work->pass)
		number_map_free(&work->pass->places);
	free(work->pass);
	free(work);
}

const struct analysis_kind analysis_last_work = {
	.name = "last_work",
	.wants = SPAN_BIT(SPAN_RANGE) | SPAN_BIT(SPAN_OP) | SPAN_BIT(SPAN_TRACE) | SPAN_BIT(SPAN_CALL),
	.is_of_all_times = true,
	.is_of_all_places = true,
	.begin = begin,
	.span = take,
	.again = again,
	.end = end,
	.merge = merge,
	.print = print,
	.free = drop,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of a stream, made in two halves: one is read while the other is filled. See feed.h.
 *
 * Rule: a half is filled by one thread and read by another, never both at once. Damage that the filling finds is kept with the
 * item it belongs to, and told when that is given out.
 */
#include "reducer/read/feed.h"

#include "reducer/read/events.h"

#include <stdlib.h>

#define AHEAD_ITEMS 8 /* batches of a half with a crew: 4096 records, some 0.1 ms of decoding, 0.5 MB */

/* Parts: of a shorter stream (2 MiB at most) another thread's memory and its wake-ups cost more than what it would take over. */
#define AHEAD_LEAST 8

struct item {
	enum feed_word word;
	size_t diags; /* of the half, that come before it */
};

struct half {
	struct crew_task task; /* first: tasks are halves */
	struct feed *feed;
	struct batch *batches;
	struct item items[AHEAD_ITEMS];
	size_t count, next, told; /* items; the next to read; diags told */
	struct diag_list diags;
};

struct feed {
	struct log view; /* the log, but for its diags */
	struct diag_list *diags;
	const struct log_stream *stream;
	struct crew *crew;
	const struct feed_wanted *wanted;
	struct feed_kinds seen;
	size_t part, room; /* next part to open; items of a half */
	struct events *events;
	uint64_t skipped;
	struct half halves[2];
	size_t reading; /* which half */
	int is_ahead;	/* the other half was put */
};

static void end_events(struct feed *feed)
{
	if (feed->events != NULL) {
		feed->skipped += events_skipped(feed->events)->columns;
		events_kinds(feed->events, feed->seen.bits);
	}
	events_close(feed->events);
	feed->events = NULL;
	feed->part++;
}

/* A bit for each kind, some share one: kinds that have none in common with the wanted ones are surely not wanted. Never 0. */
static uint64_t fold(const struct feed_kinds *kinds)
{
	uint64_t folded = kinds->bits[0];

	for (unsigned i = 1; i < 4; i++) /* turned, so that kinds 64 apart, of which few logs have both, share none */
		folded |= kinds->bits[i] << 17 * i | kinds->bits[i] >> (64 - 17 * i);
	return folded != 0 ? folded : UINT64_MAX;
}

/* An earlier pass has seen that nothing of the part is wanted: it is not even read. Chunks may have been filled anew since. */
static int is_known_unwanted(const struct feed *feed, const struct log_part *part)
{
	return feed->wanted != NULL && feed->wanted->is_of_parts && part->kinds != 0 && !(part->kinds & fold(&feed->wanted->kinds));
}

/* Opens the next part, if anything of it is wanted. */
static void begin_part(struct feed *feed)
{
	struct log_part *part = &feed->stream->parts[feed->part];
	struct feed_kinds kinds = {{0}};

	if (is_known_unwanted(feed, part))
		return;
	feed->events = events_open(&feed->view, part);
	if (feed->events == NULL)
		return;
	if (!LOG_PART_IS_CHUNK(part)) {
		events_kinds(feed->events, kinds.bits);
		part->kinds = fold(&kinds);
	}
	if (feed->wanted != NULL && feed->wanted->is_of_parts && !events_meet(feed->events, feed->wanted->kinds.bits)) {
		events_close(feed->events);
		feed->events = NULL;
	} else if (feed->wanted != NULL) {
		events_want(feed->events, feed->wanted->fields);
	}
}

static enum feed_word fill_one(struct feed *feed, struct batch *batch, int *is_open)
{
	int got;

	if (!*is_open)
		begin_part(feed);
	*is_open = 1;
	got = feed->events == NULL ? 0 : events_next(feed->events, batch);
	if (got > 0)
		return FEED_BATCH;
	if (got < 0)
		return FEED_NO_MEMORY;
	end_events(feed);
	*is_open = 0;
	return FEED_PART_END;
}

/* A half ends early where the stream does, or without memory. */
static void fill(struct crew_task *task)
{
	struct half *half = (struct half *)task;
	struct feed *feed = half->feed;
	int is_open = feed->events != NULL;

	feed->view.diags = &half->diags;
	half->count = half->next = half->told = 0;
	while (half->count < feed->room && feed->part < feed->stream->count) {
		struct item *item = &half->items[half->count];

		item->word = fill_one(feed, &half->batches[half->count], &is_open);
		item->diags = half->diags.count;
		half->count++;
		if (item->word == FEED_NO_MEMORY)
			break;
	}
}

struct feed *feed_open(const struct log *log, size_t stream, struct crew *crew, const struct feed_wanted *wanted)
{
	struct feed *feed = calloc(1, sizeof *feed);

	if (feed == NULL)
		return NULL;
	feed->view = *log;
	feed->diags = log->diags;
	feed->stream = &log->streams[stream];
	feed->crew = feed->stream->count < AHEAD_LEAST ? NULL : crew;
	feed->wanted = wanted;
	feed->room = feed->crew != NULL ? AHEAD_ITEMS : 1;
	for (size_t i = 0; i < 2; i++) {
		feed->halves[i].task.run = fill;
		feed->halves[i].feed = feed;
		feed->halves[i].batches = calloc(feed->room, sizeof *feed->halves[i].batches);
	}
	if (feed->halves[0].batches == NULL || feed->halves[1].batches == NULL) {
		feed_close(feed, &feed->seen);
		return NULL;
	}
	return feed;
}

static void tell_diags(struct feed *feed, struct half *half, size_t until)
{
	for (; half->told < until; half->told++) {
		const struct diag *diag = &half->diags.items[half->told];

		diag_add(feed->diags, diag->level, diag->file, diag->offset, diag->remedy, "%s", diag->reason);
	}
}

/* A half has too few items for its list to overflow: only what found no memory is missing there. */
static void end_half(struct feed *feed, struct half *half)
{
	feed->diags->omitted += half->diags.omitted;
	diag_free(&half->diags);
}

/* The other half becomes the one that is read, and this one is filled anew. Without a crew one half is enough. */
static struct half *turn(struct feed *feed)
{
	struct half *old = &feed->halves[feed->reading];

	end_half(feed, old);
	if (feed->crew == NULL) {
		fill(&old->task);
		return old;
	}
	feed->reading ^= 1;
	struct half *half = &feed->halves[feed->reading];
	crew_await(feed->crew, &half->task);
	feed->is_ahead = feed->part < feed->stream->count;
	if (feed->is_ahead)
		crew_put(feed->crew, &old->task);
	return half;
}

enum feed_word feed_next(struct feed *feed, const struct batch **batch)
{
	struct half *half = &feed->halves[feed->reading];
	const struct item *item;

	if (half->next == half->count)
		half = turn(feed);
	if (half->count == 0)
		return FEED_PART_END;
	item = &half->items[half->next];
	tell_diags(feed, half, item->diags);
	*batch = &half->batches[half->next];
	half->next++;
	return item->word;
}

uint64_t feed_close(struct feed *feed, struct feed_kinds *seen)
{
	uint64_t skipped;

	if (feed == NULL)
		return 0;
	if (feed->is_ahead)
		crew_forget(feed->crew, &feed->halves[feed->reading ^ 1].task);
	if (feed->events != NULL)
		end_events(feed);
	for (size_t i = 0; i < 4; i++)
		seen->bits[i] |= feed->seen.bits[i];
	skipped = feed->skipped;
	for (size_t i = 0; i < 2; i++) {
		for (size_t k = 0; feed->halves[i].batches != NULL && k < feed->room; k++)
			batch_free(&feed->halves[i].batches[k]);
		free(feed->halves[i].batches);
		end_half(feed, &feed->halves[i]);
	}
	free(feed);
	return skipped;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors, one for each stream, by the time of the next record: few in a line, many in a heap. See merge.h. */
#include "reducer/model/merge.h"

#include <stdlib.h>
#include <string.h>

#define LINE_MOST 12		/* streams that stand in order; more of them form a heap */
#define STREAMS_AHEAD 32		/* with more of them decoding ahead would take too much memory: 1 MB each */
#define BYTES_AHEAD (UINT64_C(1) << 18) /* of log; a smaller one is read before a thread has begun */

/* A stream and where we are in it. A part is opened only when its first record may be next. */
struct cursor {
	uint64_t time; /* of the next record, or a lower bound while no part is open; never runs backwards */
	size_t stream;
	size_t part;		   /* the open one, or the next */
	struct feed *feed;	   /* NULL = not begun, or ended */
	const struct batch *batch; /* NULL = none is open, or all of it was handed out */
	size_t next;		   /* record of the batch, which has it */
};

/* What the heap is ordered by stands in it, so that a step moves little. */
struct slot {
	uint64_t time; /* of the cursor */
	struct cursor *cursor;
};

struct merge {
	const struct log *log;
	struct cursor *cursors;
	struct slot *heap; /* heap[0] is the earliest; at most LINE_MOST are in order */
	size_t count;
	merge_visit *visit;
	void *context;
	const struct merge_way *way;
	struct crew *crew;
	struct merge_totals *totals;
};

static void sift_down(struct merge *merge, size_t at)
{
	struct slot *heap = merge->heap, moved = heap[at];
	size_t count = merge->count;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= count)
			break;
		if (child + 1 < count && heap[child + 1].time < heap[child].time)
			child++;
		if (heap[child].time >= moved.time)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

/* The first has got a later time: where there are few, those in between move up one by one. */
static void sift_first(struct merge *merge)
{
	struct slot *heap = merge->heap, moved = heap[0];
	size_t at = 0;

	if (merge->count > LINE_MOST) {
		sift_down(merge, 0);
		return;
	}
	for (; at + 1 < merge->count && heap[at + 1].time < moved.time; at++)
		heap[at] = heap[at + 1];
	heap[at] = moved;
}

/* Puts few in order. */
static void order_line(struct merge *merge)
{
	for (size_t i = 1; i < merge->count; i++) {
		struct slot moved = merge->heap[i];
		size_t at = i;

		for (; at > 0 && merge->heap[at - 1].time > moved.time; at--)
			merge->heap[at] = merge->heap[at - 1];
		merge->heap[at] = moved;
	}
}

/* The first has ended. */
static void drop_first(struct merge *merge)
{
	struct slot *heap = merge->heap;

	merge->count--;
	if (merge->count < LINE_MOST) {
		memmove(heap, heap + 1, merge->count * sizeof *heap);
		return;
	}
	heap[0] = heap[merge->count];
	sift_down(merge, 0);
	if (merge->count == LINE_MOST)
		order_line(merge);
}

static void end_stream(struct merge *merge, struct cursor *cursor)
{
	merge->totals->skipped_columns += feed_close(cursor->feed, &merge->totals->seen);
	cursor->feed = NULL;
	cursor->batch = NULL;
}

static void note_time(struct cursor *cursor, uint64_t time)
{
	if (time > cursor->time)
		cursor->time = time;
}

static void end_part(struct merge *merge, struct cursor *cursor)
{
	const struct log_stream *stream = &merge->log->streams[cursor->stream];

	cursor->batch = NULL;
	if (++cursor->part < stream->count) {
		note_time(cursor, log_part_time(merge->log, &stream->parts[cursor->part]));
		if (merge->way->progress != NULL && cursor->part % 16 == 0)
			merge->way->progress(merge->way->progress_context, LOG_PART_OFFSET(&stream->parts[cursor->part]));
	}
}

/* Makes the cursor's next record known, or ends its part. Returns 0, -1 without memory. */
static int load(struct merge *merge, struct cursor *cursor)
{
	enum feed_word word;

	if (cursor->feed == NULL)
		cursor->feed = feed_open(merge->log, cursor->stream, merge->crew, merge->way->wanted);
	if (cursor->feed == NULL)
		return -1;
	word = feed_next(cursor->feed, &cursor->batch);
	if (word == FEED_NO_MEMORY)
		return -1;
	if (word == FEED_PART_END) {
		end_part(merge, cursor);
		return 0;
	}
	cursor->next = 0;
	note_time(cursor, cursor->batch->times[0]);
	return 0;
}

/* Hands out the cursor's records up to and including time `limit`. */
static int hand_out(struct merge *merge, struct cursor *cursor, uint64_t limit)
{
	const struct batch *batch = cursor->batch;
	size_t from = cursor->next, to = from + 1; /* the cursor is the earliest: its record goes whatever its stamp is */

	while (to < batch->count && batch->times[to] <= limit)
		to++;
	cursor->next = to;
	merge->totals->records += to - from;
	if (to < batch->count)
		note_time(cursor, batch->times[to]);
	else
		cursor->batch = NULL;
	return merge->visit(merge->context, cursor->stream, batch, from, to);
}

static uint64_t second_time(const struct merge *merge)
{
	uint64_t time = UINT64_MAX;

	if (merge->count <= LINE_MOST)
		return merge->count > 1 ? merge->heap[1].time : time;
	for (size_t child = 1; child <= 2 && child < merge->count; child++)
		if (merge->heap[child].time < time)
			time = merge->heap[child].time;
	return time;
}

/* One step of the earliest cursor. Returns 0, or what ended the merge. */
static int step(struct merge *merge)
{
	struct cursor *first = merge->heap[0].cursor;
	int result = first->batch != NULL ? hand_out(merge, first, second_time(merge)) : load(merge, first);

	if (result != 0)
		return result;
	if (first->batch == NULL && first->part >= merge->log->streams[first->stream].count) {
		end_stream(merge, first);
		drop_first(merge);
	} else {
		merge->heap[0].time = first->time;
		sift_first(merge);
	}
	return 0;
}

int merge_log(const struct log *log, const struct merge_way *way, merge_visit *visit, void *context, struct merge_totals *totals)
{
	struct merge merge = {.log = log, .visit = visit, .context = context, .way = way, .totals = totals};
	int result = 0;

	if (log->stream_count <= STREAMS_AHEAD && log->bytes >= BYTES_AHEAD)
		merge.crew = way->crew;
	merge.heap = calloc(log->stream_count + 1, sizeof *merge.heap);
	merge.cursors = calloc(log->stream_count + 1, sizeof *merge.cursors);
	if (merge.heap == NULL || merge.cursors == NULL) {
		free(merge.heap);
		free(merge.cursors);
		return -1;
	}
	for (size_t i = 0; i < log->stream_count; i++)
		if (log->streams[i].count > 0) {
			merge.cursors[i] = (struct cursor){.time = log_part_time(log, &log->streams[i].parts[0]), .stream = i};
			merge.heap[merge.count++] = (struct slot){merge.cursors[i].time, &merge.cursors[i]};
		}
	for (size_t at = merge.count / 2; at-- > 0;)
		sift_down(&merge, at);
	if (merge.count <= LINE_MOST)
		order_line(&merge);
	while (merge.count > 0 && result == 0)
		result = step(&merge);
	for (size_t i = 0; i < merge.count; i++)
		end_stream(&merge, merge.heap[i].cursor);
	free(merge.heap);
	free(merge.cursors);
	return result;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All records of one log in time order. Private to the model.
 *
 * Rule: each stream is in order by itself; between streams the stamps decide, and where two are equal anything may come
 * first. Only the blocks that overlap the current moment are in memory.
 */
#ifndef REDUCER_MODEL_MERGE_H
#define REDUCER_MODEL_MERGE_H

#include "reducer/read/batch.h"
#include "reducer/read/feed.h"
#include "reducer/read/log.h"

struct merge_totals {
	uint64_t records;
	uint64_t skipped_columns; /* see struct events_skipped */
	uint64_t done_bytes;	  /* of the log, for progress */
	struct feed_kinds seen;	  /* kinds of the records that were read */
};

/* Gets records from .. to - 1 of a batch of stream number `stream` (index in log->streams). Non-zero ends the merge. */
typedef int merge_visit(void *context, size_t stream, const struct batch *batch, size_t from, size_t to);

/* Called after each block with the bytes of log it took. NULL = never. */
typedef void merge_progress(void *context, uint64_t bytes);

/* How the records are read; all zero will do. */
struct merge_way {
	struct crew *crew;		 /* decodes ahead; NULL = nobody does */
	const struct feed_wanted *wanted; /* NULL = all is read */
	merge_progress *progress;
	void *progress_context;
};

/* Returns 0, what `visit` returned, or -1 without memory. */
int merge_log(const struct log *log, const struct merge_way *way, merge_visit *visit, void *context, struct merge_totals *totals);

#endif

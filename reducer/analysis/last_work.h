/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each thread did last: the ops, ranges and traces that had not ended when the log did, and what ended last before.
 *
 * Rule: of the whole log, whatever part was asked for. Memory follows threads, distinct names and what is open at the end.
 */
#ifndef REDUCER_ANALYSIS_LAST_WORK_H
#define REDUCER_ANALYSIS_LAST_WORK_H

#include "reducer/analysis/analysis.h"
#include "reducer/analysis/words.h"

struct last_open {
	int64_t start_ns;
	uint32_t name; /* in words */
};

struct last_thread {
	uint64_t log_id;
	uint32_t thread;	/* serial */
	const char *text;	/* of what ended last, during the pass only; */
	uint32_t name;		/* in words */
	int64_t end_ns;		/* then; TIME_UNKNOWN = nothing has */
	struct last_open *open; /* once the pass is over by start: outermost first */
	size_t open_count, open_room;
};

struct last_work {
	struct words words;
	struct last_thread *threads; /* of a process by serial */
	size_t count, room;
	struct last_work_pass *pass; /* during the pass only */
};

/* Of the result of one process: that thread; NULL = nothing is recorded of it. */
const struct last_thread *last_work_thread(const struct last_work *work, uint32_t serial);

#endif

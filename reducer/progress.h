/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line on the terminal for work that takes longer than two seconds.
 *
 * Rule: on stderr, only where that is a terminal, and gone when the work is done.
 */
#ifndef REDUCER_PROGRESS_H
#define REDUCER_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *work;  /* "reading" */
	int64_t start_ns, shown_ns; /* CLOCK_MONOTONIC; start 0 = stderr is no terminal */
	bool is_shown;
	atomic_flag is_busy; /* several threads may tell of their work */
};

/* From now on; says nothing on no terminal, nor of short work. `work` is kept, not copied. */
void progress_start(struct progress *progress, const char *work);
/* `context` is a struct progress; fits run_options.progress. `all` may be 0. */
void progress_step(void *context, uint64_t done, uint64_t all);
void progress_end(struct progress *progress);

#endif

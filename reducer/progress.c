/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line on the terminal for work that takes longer than two seconds.
 *
 * Rule: on stderr, and gone when the work is done.
 */
#include "reducer/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS INT64_C(2000000000) /* what a person waits without a word */
#define PERIOD_NS INT64_C(200000000)

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void progress_start(struct progress *progress, const char *work)
{
	*progress = (struct progress){.work = work, .is_busy = ATOMIC_FLAG_INIT};
	if (isatty(STDERR_FILENO))
		progress->start_ns = now_ns();
}

static void show(struct progress *progress, uint64_t done, uint64_t all)
{
	int64_t now = now_ns();

	if (now - progress->start_ns < PATIENCE_NS || now - progress->shown_ns < PERIOD_NS)
		return;
	progress->shown_ns = now;
	progress->is_shown = true;
	if (all)
		fprintf(stderr, "\r%s: %2.0f %% of %.0f MiB ", progress->work, 100.0 * (double)done / (double)all,
			(double)all / 1048576);
	else
		fprintf(stderr, "\r%s ... ", progress->work);
}

void progress_step(void *context, uint64_t done, uint64_t all)
{
	struct progress *progress = context;

	if (!progress->start_ns || atomic_flag_test_and_set(&progress->is_busy))
		return;
	show(progress, done, all);
	atomic_flag_clear(&progress->is_busy);
}

void progress_end(struct progress *progress)
{
	if (progress->is_shown)
		fputs("\r\033[K", stderr);
	progress->is_shown = false;
}

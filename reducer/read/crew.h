/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that do small pieces of work ahead of the one that needs them.
 *
 * Rule: a result never depends on who did a piece, or when: whoever needs it waits for it, or does it itself if nobody has
 * begun. So a crew of none (NULL) gives the same answers.
 */
#ifndef REDUCER_READ_CREW_H
#define REDUCER_READ_CREW_H

struct crew; /* private */

/* A piece of work; the owner embeds it and sets `run` before the first crew_put. */
struct crew_task {
	void (*run)(struct crew_task *task);
	struct crew_task *next, *before; /* private from here on */
	int state;
};

/* NULL where `threads` is 0 or no thread can be made. Threads take no signals. */
struct crew *crew_make(unsigned threads);

/* Waits for the pieces that were begun; those that were not stay undone. */
void crew_free(struct crew *crew);

/* Offers a piece that nobody does now. Returns at once; without a crew nothing happens until crew_await. */
void crew_put(struct crew *crew, struct crew_task *task);

/* Comes back when the piece is done: by another, or here and now. A piece that was not put is done here. */
void crew_await(struct crew *crew, struct crew_task *task);

/* Takes a piece back that is no longer needed: it is done, or will not be. */
void crew_forget(struct crew *crew, struct crew_task *task);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls of JAX into XLA run a compiled function, by the lines of scripts that make them: what a loop's steps are counted
 * by.
 *
 * A line compiles its function and runs it by another road (frame __call__, of jax/_src/interpreters/pxla.py) than every later
 * call. The place in the library that the later ones go through is the one that most lines come to only behind their first run.
 * Rule: known by the names of places.h alone; inferred. Ticks. Nothing here knows of steps or logs.
 */
#ifndef REDUCER_MODEL_XLA_RUNS_H
#define REDUCER_MODEL_XLA_RUNS_H

#include <stddef.h>
#include <stdint.h>

#define XLA_RUNS_JOINED 64u /* ids of one loop's calls; more are not joined */

struct xla_runs;

/* A place from which a call took less than that ran nothing there: it frees, say. NULL = no memory. */
struct xla_runs *xla_runs_make(uint64_t least_ticks);
void xla_runs_free(struct xla_runs *runs);

/* The id of an op_name fact was not seen before; `name` is asked for only then. */
int xla_runs_is_new(const struct xla_runs *runs, uint64_t id);
void xla_runs_name(struct xla_runs *runs, uint64_t id, const char *name);

/* Is it within a batch that Keras trains with, whatever it does? */
int xla_runs_is_training(const struct xla_runs *runs, uint64_t id);

/* A call of that name began on a thread, by serial; one ended and took so long. */
void xla_runs_begin(struct xla_runs *runs, uint64_t id, uint64_t time, uint32_t thread);
void xla_runs_end(struct xla_runs *runs, uint64_t id, uint64_t ticks);

/* A call of that name lasted from `begin` to `end`. Ends must rise. */
void xla_runs_lasted(struct xla_runs *runs, uint64_t id, uint64_t begin, uint64_t end);

/*
 * The longest call that began from then on, and compiled nothing, unless the script may have run another function before it. 0 = there was
 * none; else how long it took.
 */
uint64_t xla_runs_awaited(const struct xla_runs *runs, uint64_t from, uint64_t *begin);

/* The calls of a loop: those of one line, the first ones by the other road among them. */
struct xla_loop {
	uint32_t ids[XLA_RUNS_JOINED];
	size_t count;	/* of ids; 0 = there is no such loop */
	uint64_t firsts; /* bit i = calls of ids[i] went by the other road, and compiled */
	uint64_t begin; /* of the line's first call, which compiled; 0 = that is not known */
	int is_trained; /* Keras says so, by the functions of its own that called: fit, train_on_batch */
	int compiles_again; /* its line went by the other road again and again: for each shape of a batch, say */
};

/*
 * The loop whose line took the most time, had each call taken as long as the shortest. `steps`: how many it has, more or less, as
 * its period says; 0 = there is no period.
 */
void xla_runs_find(const struct xla_runs *runs, size_t steps, struct xla_loop *loop);

/* Does a call of that name compile for the loop's line? */
int xla_runs_compiles(const struct xla_runs *runs, const struct xla_loop *loop, uint64_t id);

/*
 * Are calls of that name runs of another function of the script's, at least as long as those of the loop, but fewer? If they come
 * once after several of those each time, they may be what ends a step (what learns, after acting), or what a loop does now and then.
 */
int xla_runs_may_end_step(const struct xla_runs *runs, const struct xla_loop *loop, uint64_t id);

/*
 * When the step before the first one of a period began whose steps, so many, begin with calls of that name, the first at `time`; 0 = none.
 */
uint64_t xla_runs_before(const struct xla_runs *runs, uint64_t id, size_t steps, uint64_t time);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of a stream (periods.h) that were not said within a call which is a word itself: what a compiled function of XLA launches on
 * a GPU, its loop round by round, is part of the one call, as it is on the CPU, where it announces nothing.
 *
 * Rule: a stream of its own; the other one stays as it is.
 */
#ifndef REDUCER_MODEL_PERIODS_OUTER_H
#define REDUCER_MODEL_PERIODS_OUTER_H

#include "reducer/model/periods.h"

/* Has the stream inner words, and others? */
int periods_outer_differs(const struct periods *periods);

/* Returns -1 without memory; periods_free(outer) in either case. */
int periods_outer(const struct periods *periods, struct periods *outer);

/* Takes the words from one time to another out, as if they had not been said. */
void periods_leave(struct periods *periods, uint64_t from, uint64_t to);

#endif

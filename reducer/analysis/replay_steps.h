/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which steps of a process are replayed: some that follow each other, were recorded whole, are wanted, and are of the usual length.
 * Private to replay.c.
 */
#ifndef REDUCER_ANALYSIS_REPLAY_STEPS_H
#define REDUCER_ANALYSIS_REPLAY_STEPS_H

#include "reducer/analysis/units.h"

/* How many, at most REPLAY_STEPS_MOST, and the first of them in `units`, which are steps; 0, NULL = there are none. */
size_t replay_choose(const struct units *units, const struct analysis_input *input, const struct unit **first);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that nobody marked, from all that is known of a process: which of its streams of words (periods.h) has them, and whether what
 * repeats there is a step at all.
 *
 * Rule: step_guess.c finds the period of one stream; this file says which one counts.
 */
#ifndef REDUCER_MODEL_STEP_GUESSES_H
#define REDUCER_MODEL_STEP_GUESSES_H

#include "reducer/model/call_places.h"
#include "reducer/model/requests.h"
#include "reducer/model/step_guess.h"

/* known.periods: ranges, ops and GPU calls; words are taken out of it. Returns -1 without memory. Times of steps are ticks. */
int step_guesses(struct process *process, struct step_guess known, struct call_places *places, const struct requests *requests);

#endif

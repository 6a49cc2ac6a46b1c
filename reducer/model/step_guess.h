/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that nobody marked, from what repeats in a process: its period, and for JAX the calls of the line that runs its loop.
 *
 * Rule: inferred, and said so (source `period`); a step that is one call alone has half the confidence. Adds nothing where steps
 * are marked.
 */
#ifndef REDUCER_MODEL_STEP_GUESS_H
#define REDUCER_MODEL_STEP_GUESS_H

#include "reducer/model/last_ends.h"
#include "reducer/model/periods.h"
#include "reducer/model/run.h"
#include "reducer/model/xla_runs.h"

#define STEP_GUESS_OP (UINT64_C(1) << 62) /* in the key of a word: the rest is the id of an op's name */
#define STEP_GUESS_FUNCTION (UINT64_C(1) << 61) /* with it: the op is a call of a function of TensorFlow's */
/* In the key of a GPU call's function, which repeats as ranges do: keeps it apart from hashes that are small by chance. */
#define STEP_GUESS_CALL (UINT64_C(1) << 63)

#define STEP_GUESS_PLACES (UINT64_C(1) << 29) /* places are told apart by as many numbers */

/* The same with the place that it is called from, below STEP_GUESS_FUNCTION. */
static inline uint64_t step_guess_place(uint64_t function, uint32_t place)
{
	return STEP_GUESS_CALL | (uint64_t)place << 32 | function;
}

struct step_guess {
	struct periods *periods;
	const struct last_ends *ends;
	const struct xla_runs *xla_runs;		 /* NULL = JAX was not met */
	const char *(*text)(void *state, uint64_t hash); /* of a word that is no op */
	const char *(*op_text)(void *state, uint64_t id);
	void *state;
};

/*
 * Whether so far nothing marked a step: what PyTorch begins with its first batch and no optimizer of its own ever ends (an
 * optimizer of Keras, batches that are only predicted) is none.
 */
int step_guess_is_due(const struct process *process);

/* Returns -1 without memory. Times of steps are ticks. */
int step_guess(struct process *process, const struct step_guess *known);

#endif

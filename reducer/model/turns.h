/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimizers of PyTorch that take turns: several ends of Optimizer.step that are one step. See evaluation.c, which tells the periods.
 *
 * Rule: what is joined follows from backward passes and batches alone, never from times. Nothing here knows of records.
 */
#ifndef REDUCER_MODEL_TURNS_H
#define REDUCER_MODEL_TURNS_H

#include "reducer/model/learning.h"
#include "reducer/model/run.h"

#include <stddef.h>
#include <stdint.h>

#define NO_STEP SIZE_MAX

/* From one end of Optimizer.step to the next, on one thread. */
struct period {
	size_t step; /* index in process->steps of the one that began with it; NO_STEP = none */
	size_t stream;
	uint32_t thread;
	struct learning_found found;
	int is_after; /* forward work alone came before it */
};

/* One more end of Optimizer.step is of `first`, which lasts as long as `more`, no step of its own. */
void turns_add(struct step *first, struct step *more, enum step_union as);

/* Those that are left are counted again, from the number of the first: a child of a process that trained goes on with its. */
void turns_count_again(struct process *process);

/* The step that counts before step i on its thread; NULL = none. */
struct step *turns_step_before(struct process *process, size_t i);

/*
 * Joins the steps of optimizers that take turns, where all periods of a training are of one thread. In time order. `begins`: of
 * trainings_find; NULL = all are one training. One that goes on with the optimizers of the one before is judged with it.
 */
void turns_join(struct process *process, const struct period *periods, size_t count, const uint8_t *begins);

#endif

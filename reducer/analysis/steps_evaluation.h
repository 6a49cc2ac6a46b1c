/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which steps of TensorFlow only evaluate, by the functions that they call.
 *
 * Rule: Keras evaluates by a function of the same name, but of another number; whoever marks steps himself means each of them.
 */
#ifndef REDUCER_ANALYSIS_STEPS_EVALUATION_H
#define REDUCER_ANALYSIS_STEPS_EVALUATION_H

#include "reducer/analysis/steps.h"

/* Whether whoever marked the step said so. */
bool steps_is_scored(const struct unit *unit, const struct process *process);

/* Sets is_evaluation of the rows, all settled, whose function had no backward pass where another had. `functions`: by row, 0 = none. */
void steps_find_evaluation(struct steps *steps, const uint64_t *functions);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of a process's steps count: those of the source that is trusted most; and what lies between them.
 *
 * Rule: a step that found no data is none, it ends the one before; a long pause after a call that says when it ends is in no step.
 */
#ifndef REDUCER_MODEL_STEP_CHOICE_H
#define REDUCER_MODEL_STEP_CHOICE_H

#include "reducer/model/run.h"

/* Sets is_chosen and rest_ns. Times of steps are still ticks. */
void step_choice(struct process *process);

/*
 * The step whose end a record of `thread` tells; NULL = none. Numbers are the process's: where threads train beside each other with PyTorch
 * the step that began last may be another thread's, and what ended is the last one of its own. It is not looked for among all that ever
 * began: an end that comes some hundred steps late stays unknown.
 */
struct step *step_choice_ended(struct process *process, uint64_t number, uint32_t thread);

/* Adds a step behind all others, and numbers it; without memory it is left out. */
void step_choice_add(struct process *process, struct step step);

/* Forgets all steps: those that were found by their period know less than what is added from now on. */
void step_choice_drop(struct process *process);

#endif

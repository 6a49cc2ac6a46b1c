/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trainings that follow each other in one process: a teacher's and then its student's, a pretraining and what is tuned afterwards.
 *
 * Rule: from backward passes alone. Another training begins where a backward pass that many steps had never comes again, and one that
 * many steps have comes for the first time: losses that take turns, and nets whose passes all differ, are one training.
 */
#ifndef REDUCER_MODEL_TRAININGS_H
#define REDUCER_MODEL_TRAININGS_H

#include "reducer/model/turns.h"

#include <stddef.h>
#include <stdint.h>

/* By period: 1 = another training begins with it. NULL = no memory; else to be freed. */
uint8_t *trainings_find(const struct period *periods, size_t count);

#endif

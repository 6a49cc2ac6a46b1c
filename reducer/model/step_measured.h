/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps found by their period that are rounds of a measurement: an autotuner runs each kernel some thousand times, which repeats more
 * regularly than any training.
 *
 * Rule: only what looks at Python saw; where nobody looked, nothing is said. Ticks.
 */
#ifndef REDUCER_MODEL_STEP_MEASURED_H
#define REDUCER_MODEL_STEP_MEASURED_H

#include "reducer/model/run.h"

/* Did most looks at the steps' thread, from the first step on to the last, find it measuring kernels? Sets that time if so. */
int step_measured(const struct process *process, uint64_t *from, uint64_t *to);

#endif

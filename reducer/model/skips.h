/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of PyTorch that ended without a record: a GradScaler left out their Optimizer.step, or it did not count yet.
 *
 * Rule: of the step that such a batch was part of it is the front, and what is left begins behind it.
 */
#ifndef REDUCER_MODEL_SKIPS_H
#define REDUCER_MODEL_SKIPS_H

#include "reducer/model/run.h"
#include "reducer/model/trainings.h"

#include <stddef.h>
#include <stdint.h>

/* A step ended at that time that nobody recorded. */
struct skip {
	uint64_t time; /* ticks */
	uint32_t thread;
};

/* Each makes two of the step of its thread that goes on then; periods keep theirs. Steps and skips lie in order. */
void skips_split(struct process *process, const struct skip *skips, size_t count, struct period *periods, size_t period_count);

#endif

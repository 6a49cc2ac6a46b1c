/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop of the program's own whose function trains, beside steps that TensorFlow marked (Keras' fit, a function called train_step). It
 * makes none: marked steps are numbered while the program runs, where functions are known by their names alone. So it is told of.
 *
 * Rule: a call counts that lies in no step, nor between one and the next where no pause is: that is part of the step.
 */
#include "reducer/base/base.h"
#include "reducer/model/functions_internal.h"

#include <string.h>

#define CALLS_LEAST 2u
#define PART_LEAST 10u /* a call for so many steps, or this part of their time: less is not worth a note */

struct calls_aside {
	uint64_t count, took;
	bool is_before, is_behind; /* some of them: the first step; another one */
	bool is_between; /* of these, some before another one */
};

static bool is_step_before(const void *steps, size_t i, uint64_t time)
{
	return ((const struct step *)steps)[i].time_ns < (int64_t)time;
}

static void take_call(struct calls_aside *aside, const struct process *process, const struct call *call)
{
	size_t behind = base_count_before(process->steps, process->step_count, call->end, is_step_before), before = behind;

	while (before > 0 && !process->steps[before - 1].is_chosen)
		before--;
	while (behind < process->step_count && !process->steps[behind].is_chosen)
		behind++;
	if (before > 0) {
		const struct step *step = &process->steps[before - 1];
		int64_t until = step->rest_ns != 0 ? step->rest_ns : behind == process->step_count ? step->end_ns : TIME_UNKNOWN;
		if (until == TIME_UNKNOWN || (int64_t)call->begin < until)
			return;
	}
	aside->count++;
	aside->took += call->end - call->begin;
	aside->is_before |= before == 0;
	aside->is_behind |= before > 0;
	aside->is_between |= before > 0 && behind < process->step_count;
}

/* That TensorFlow marked, and that count; 0 where others do: the program says what it means. */
static size_t steps_marked(const struct process *process, uint64_t *took)
{
	size_t count = 0;

	*took = 0;
	for (size_t i = 0; i < process->step_count; i++) {
		const struct step *step = &process->steps[i];
		if (step->source != SOURCE_eager)
			return 0;
		if (!step->is_chosen)
			continue;
		count++;
		*took += step->end_ns == TIME_UNKNOWN ? 0 : (uint64_t)(step->end_ns - step->time_ns);
	}
	return count;
}

void functions_find_aside(const struct functions *taken)
{
	struct process *process = taken->scan->process;
	struct calls_aside aside[MODEL_FUNCTIONS_MAX] = {{0}};
	uint64_t steps_took;
	size_t steps = steps_marked(process, &steps_took), best = 0;

	for (size_t i = 0; steps > 0 && i < taken->count; i++) {
		const struct group *group = &taken->groups[taken->calls[i].group];
		if (group->trains && !group->is_step)
			take_call(&aside[taken->calls[i].group], process, &taken->calls[i]);
	}
	for (size_t g = 1; g < taken->group_count; g++)
		best = aside[g].count > aside[best].count ? g : best;
	if (aside[best].count < CALLS_LEAST || (aside[best].count * PART_LEAST < steps && aside[best].took * PART_LEAST < steps_took))
		return;
	process->aside.function = taken->groups[best].name;
	process->aside.calls = aside[best].count;
	process->aside.where = aside[best].is_between || (aside[best].is_before && aside[best].is_behind) ? LOOP_AROUND
			       : aside[best].is_before						    ? LOOP_BEFORE
													    : LOOP_BEHIND;
}

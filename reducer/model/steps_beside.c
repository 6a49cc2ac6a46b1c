/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that only predict beside a training; see steps_beside.h. */
#include "reducer/model/steps_beside.h"

#include "reducer/model/heap.h"

#include <stdlib.h>
#include <string.h>

/* From the first to the last step that was chosen; from > to = there is none. */
struct stretch {
	int64_t from_ns, to_ns;
};

bool process_only_predicts(const struct process *process)
{
	bool has_ops = false;

	for (size_t i = 0; i < process->ops.count; i++) {
		const char *name = process->ops.items[i].name;
		if (strstr(name, "Backward") != NULL || strncmp(name, "Optimizer.", 10) == 0)
			return false;
		has_ops |= strncmp(name, "aten::", 6) == 0;
	}
	return has_ops;
}

bool process_loads_data(const struct run *run, const struct process *process)
{
	for (size_t at = process->parent; at != PROCESS_NONE; at = run->processes[at].parent) {
		const struct process *above = &run->processes[at]; /* scanned before those below it */
		if (above->step_count > 0)
			return true;
		for (size_t i = 0; i < above->ops.count; i++)
			if (strncmp(above->ops.items[i].name, "enumerate(DataLoader)#_MultiProcessing", 38) == 0)
				return true;
	}
	return false;
}

/* Of the steps of that source. */
static struct stretch stretch_of(const struct process *process, unsigned source)
{
	struct stretch stretch = {INT64_MAX, INT64_MIN};

	for (size_t i = 0; i < process->step_count; i++) {
		const struct step *step = &process->steps[i];
		if (!step->is_chosen || step->source != source)
			continue;
		stretch.from_ns = step->time_ns < stretch.from_ns ? step->time_ns : stretch.from_ns;
		stretch.to_ns = step->time_ns > stretch.to_ns ? step->time_ns : stretch.to_ns;
	}
	return stretch;
}

/* `trainings`: of each process. */
static bool trains_meanwhile(const struct stretch *trainings, size_t count, size_t besides, const struct stretch *stretch)
{
	for (size_t i = 0; i < count; i++)
		if (i != besides && trainings[i].from_ns <= stretch->to_ns && stretch->from_ns <= trainings[i].to_ns)
			return true;
	return false;
}

void steps_beside(struct run *run)
{
	size_t count = run->process_count;
	struct stretch *trainings = calloc(count + 1, sizeof *trainings); /* without memory all steps stay */

	for (size_t i = 0; trainings != NULL && i < count; i++)
		trainings[i] = stretch_of(&run->processes[i], SOURCE_record_function);
	for (size_t i = 0; trainings != NULL && i < count; i++) {
		struct process *process = &run->processes[i];
		struct stretch stretch = stretch_of(process, STEP_BY_PERIOD);

		if (stretch.from_ns > stretch.to_ns || !process_only_predicts(process) || !trains_meanwhile(trainings, count, i, &stretch))
			continue;
		for (size_t k = 0; k < process->step_count; k++)
			if (process->steps[k].is_chosen && process->steps[k].source == STEP_BY_PERIOD) {
				process->steps[k].is_chosen = 0;
				process->beside_count++;
			}
	}
	free(trainings);
}

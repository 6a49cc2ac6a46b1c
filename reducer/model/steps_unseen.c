/* SPDX-License-Identifier: Apache-2.0 */
/* Found steps whose end no window holds; see reducer/model/steps_unseen.h. */
#include "reducer/model/steps_unseen.h"

#include "reducer/base/base.h"
#include "reducer/model/number_map.h"
#include "reducer/model/windows.h"

#include <stdlib.h>

static bool is_found(const struct step *step)
{
	return step->is_chosen && (step->source == STEP_BY_PERIOD || step->is_call || step->is_batch || step->is_update);
}

/* As for marked steps: an edge of a window stands some us before the step that made it, and a hundredth outside is none. */
static bool is_recorded(const struct process *process, int64_t from_ns, int64_t to_ns)
{
	int64_t ns = to_ns - from_ns;

	return windows_recorded_ns(process, from_ns, to_ns) >= ns - ns / 100;
}

/* `to_ns`: where the next one on its thread begins, or the records end. Returns whether the log has its end. */
static bool end_step(const struct process *process, struct step *step, int64_t to_ns)
{
	if (is_recorded(process, step->time_ns, step->rest_ns ? step->rest_ns : to_ns))
		return true;
	if (step->rest_ns || step->end_ns == TIME_UNKNOWN || step->end_ns >= to_ns ||
	    !is_recorded(process, step->time_ns, step->end_ns))
		return false;
	step->rest_ns = step->end_ns;
	return true;
}

/* Of each thread the chosen steps that go on from one another. */
struct chains {
	struct process *process;
	struct number_map last; /* (1, thread) -> its last one */
	uint32_t *before;	/* of a step: the one before it + 1, 0 = none */
};

/* Ends a step where the next one begins. Returns which is the last of its thread now, + 1. */
static uint32_t settle(struct chains *chains, uint32_t i, int64_t next_ns)
{
	struct process *process = chains->process;
	struct step *step = &process->steps[i], *before;
	uint32_t place = chains->before[i];

	if (!is_found(step) || end_step(process, step, next_ns))
		return i + 1;
	step->is_chosen = 0;
	process->unseen_count++;
	if (!place)
		return 0;
	before = &process->steps[place - 1];
	before->rest_ns = before->rest_ns ? before->rest_ns : step->time_ns;
	return place;
}

void steps_unseen(struct process *process)
{
	struct chains chains = {.process = process};

	if (process->window_count == 0)
		return;
	chains.before = base_alloc(process->step_count + 1, sizeof(*chains.before));
	for (size_t i = 0; i < process->step_count; i++) {
		const struct step *step = &process->steps[i];
		uint32_t last = step->is_chosen ? number_map_find(&chains.last, 1, step->thread) : NUMBER_MAP_NONE;
		if (last != NUMBER_MAP_NONE)
			chains.before[i] = settle(&chains, last, step->time_ns);
		if (step->is_chosen)
			number_map_set(&chains.last, 1, step->thread, (uint32_t)i);
	}
	for (size_t i = 0; i < process->step_count; i++)
		if (process->steps[i].is_chosen && number_map_find(&chains.last, 1, process->steps[i].thread) == i)
			settle(&chains, (uint32_t)i, process->end_ns);
	number_map_free(&chains.last);
	free(chains.before);
}

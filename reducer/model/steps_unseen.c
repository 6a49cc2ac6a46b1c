/* SPDX-License-Identifier: Apache-2.0 */
/* Found steps whose end no window holds; see reducer/model/steps_unseen.h. */
#include "reducer/model/steps_unseen.h"

#include "reducer/model/windows.h"

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

static struct step *next_of_thread(const struct process *process, size_t i)
{
	for (size_t n = i + 1; n < process->step_count; n++)
		if (process->steps[n].is_chosen && process->steps[n].thread == process->steps[i].thread)
			return &process->steps[n];
	return NULL;
}

static void end_before(struct process *process, size_t i)
{
	for (size_t b = i; b-- > 0;) {
		struct step *before = &process->steps[b];
		if (!before->is_chosen || before->thread != process->steps[i].thread)
			continue;
		before->rest_ns = before->rest_ns ? before->rest_ns : process->steps[i].time_ns;
		return;
	}
}

void steps_unseen(struct process *process)
{
	if (process->window_count == 0)
		return;
	for (size_t i = 0; i < process->step_count; i++) {
		struct step *step = &process->steps[i], *next = is_found(step) ? next_of_thread(process, i) : NULL;
		if (!is_found(step) || end_step(process, step, next != NULL ? next->time_ns : process->end_ns))
			continue;
		end_before(process, i);
		step->is_chosen = 0;
		process->unseen_count++;
	}
}

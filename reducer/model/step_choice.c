/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps count, and where they end; see reducer/model/step_choice.h. */
#include "reducer/model/step_choice.h"

#include "reducer/model/heap.h"

#include <stdint.h>
#include <stdlib.h>

#define PAUSE 20      /* median steps */
#define PAUSE_FROM 10 /* steps: of fewer the median says little */

/* Higher counts more; the step column of range_sources.def. */
static unsigned trust_in(unsigned source)
{
	static const unsigned char trusts[] = {
#define TFP_RANGE_SOURCE(number, name, trust, help) [number] = trust,
#include "collectors/tables/range_sources.def"
#undef TFP_RANGE_SOURCE
	};

	return source < sizeof trusts ? trusts[source] : 0;
}

/* The data ran out at step `empty`: the one before it on its thread lasts until then. */
static void end_before(struct process *process, size_t empty)
{
	for (size_t i = empty; i > 0; i--) {
		struct step *step = &process->steps[i - 1];
		if (step->thread != process->steps[empty].thread || step->source != process->steps[empty].source)
			continue;
		if (step->is_chosen)
			step->rest_ns = process->steps[empty].time_ns;
		return;
	}
}

struct step *step_choice_ended(struct process *process, uint64_t number, uint32_t thread)
{
	const struct step *told = NULL;

	for (size_t s = process->step_count; s > 0; s--) {
		struct step *step = &process->steps[s - 1];
		told = told == NULL && step->number == number ? step : told;
		if (told != NULL && (told->source != SOURCE_record_function || (step->source == told->source && step->thread == thread)))
			return step;
	}
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

/* The next chosen step of the thread of step `i`; NULL = none, or one of another thread comes first. */
static const struct step *next_step(const struct process *process, size_t i)
{
	for (size_t k = i + 1; k < process->step_count; k++)
		if (process->steps[k].is_chosen)
			return process->steps[k].thread == process->steps[i].thread ? &process->steps[k] : NULL;
	return NULL;
}

/*
 * Calls of TensorFlow that train say when they end. Where the next one comes as late as PAUSE median steps, an epoch ended, something
 * was evaluated, saved or traced: that is in no step.
 */
static void find_pauses(struct process *process)
{
	uint64_t *periods = malloc((process->step_count + 1) * sizeof *periods), usual;
	size_t count = 0;

	for (size_t i = 0; periods != NULL && i < process->step_count; i++) {
		const struct step *step = &process->steps[i], *next = next_step(process, i);
		if (step->is_chosen && step->source == SOURCE_eager && next != NULL)
			periods[count++] = (uint64_t)next->time_ns - (uint64_t)step->time_ns;
	}
	if (count < PAUSE_FROM) {
		free(periods);
		return;
	}
	qsort(periods, count, sizeof *periods, by_size);
	usual = periods[count / 2];
	free(periods);
	for (size_t i = 0; i < process->step_count; i++) {
		struct step *step = &process->steps[i];
		const struct step *next = next_step(process, i);
		if (step->is_chosen && step->source == SOURCE_eager && next != NULL && step->rest_ns == 0 &&
		    step->end_ns != TIME_UNKNOWN && (uint64_t)(next->time_ns - step->end_ns) > PAUSE * usual)
			step->rest_ns = step->end_ns;
	}
}

void step_choice(struct process *process)
{
	unsigned best = 0;

	for (size_t i = 0; i < process->step_count; i++)
		if (trust_in(process->steps[i].source) > best)
			best = trust_in(process->steps[i].source);
	for (size_t i = 0; i < process->step_count; i++)
		process->steps[i].is_chosen = trust_in(process->steps[i].source) == best && !process->steps[i].is_empty;
	for (size_t i = 0; i < process->step_count; i++)
		if (process->steps[i].is_empty)
			end_before(process, i);
	find_pauses(process);
}

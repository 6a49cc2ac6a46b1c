/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps count, and where they end; see reducer/model/step_choice.h. */
#include "reducer/model/step_choice.h"

#include "reducer/model/heap.h"
#include "reducer/model/internal.h"
#include "reducer/model/number_map.h"
#include "reducer/model/windows.h"

#include <stdint.h>
#include <stdlib.h>

#define PAUSE 20      /* median steps */
#define PAUSE_FROM 10 /* steps: of fewer the median says little */
#define MUCH_LONGER 4 /* times */
#define ENDS_WITHIN 256u /* steps that began since: no program we know ends one later, and each end may take as many looks */

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

/* Where the data ran out at a step, the one before it on its thread lasts until then. */
static void end_before_empty(struct process *process)
{
	struct number_map last = {0}; /* of a source and thread: the place of its step before */

	for (size_t i = 0; i < process->step_count; i++) {
		const struct step *step = &process->steps[i];
		uint32_t before = number_map_find(&last, step->source, step->thread);

		if (step->is_empty && before != NUMBER_MAP_NONE && process->steps[before].is_chosen)
			process->steps[before].rest_ns = step->time_ns;
		if (number_map_set(&last, step->source, step->thread, (uint32_t)i) != 0)
			break; /* no memory: those behind last until the next one */
	}
	number_map_free(&last);
}

struct step *step_choice_ended(struct process *process, uint64_t number, uint32_t thread)
{
	const struct step *told = NULL;

	for (size_t s = process->step_count; s > 0 && process->step_count - s < ENDS_WITHIN; s--) {
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

/*
 * Goes from the last step to the first: the chosen one that follows a step which says when it ended, where that is of the same thread; else
 * NULL. `next`: the chosen one behind, kept from call to call.
 */
static const struct step *follower(const struct step *step, const struct step **next)
{
	const struct step *behind = *next;

	if (!step->is_chosen)
		return NULL;
	*next = step;
	return step->source == SOURCE_eager && behind != NULL && behind->thread == step->thread ? behind : NULL;
}

/*
 * Calls of TensorFlow that train say when they end. Where the next one comes as late as PAUSE median steps, an epoch ended, something
 * was evaluated, saved or traced: that is in no step.
 */
static void find_pauses(struct process *process)
{
	uint64_t *periods = malloc((process->step_count + 1) * sizeof *periods), usual;
	const struct step *behind = NULL, *next;
	size_t count = 0;

	for (size_t i = process->step_count; periods != NULL && i-- > 0;)
		if ((next = follower(&process->steps[i], &behind)) != NULL)
			periods[count++] = (uint64_t)next->time_ns - (uint64_t)process->steps[i].time_ns;
	if (count < PAUSE_FROM) {
		free(periods);
		return;
	}
	qsort(periods, count, sizeof *periods, by_size);
	usual = periods[count / 2];
	free(periods);
	behind = NULL;
	for (size_t i = process->step_count; i-- > 0;) {
		struct step *step = &process->steps[i];
		next = follower(step, &behind);
		if (next != NULL && step->rest_ns == 0 && step->end_ns != TIME_UNKNOWN &&
		    (uint64_t)(next->time_ns - step->end_ns) > PAUSE * usual)
			step->rest_ns = step->end_ns;
	}
}

/* From the first to the last of steps that were counted on without a jump; `end`: behind the last one. Returns where they begin. */
static size_t counted_on(const struct process *process, size_t end, uint64_t *lasted_ns)
{
	const struct step *last = NULL, *later = NULL;
	size_t begin = end;

	for (size_t i = end; i-- > 0;) {
		const struct step *step = &process->steps[i];
		if (!step->is_chosen || step->source != SOURCE_repeats)
			continue;
		if (later != NULL && step->number + 1 != later->number)
			break;
		last = last != NULL ? last : step;
		later = step;
		begin = i;
	}
	*lasted_ns = last != NULL && last->time_ns > later->time_ns ? (uint64_t)last->time_ns - (uint64_t)later->time_ns : 0;
	return begin;
}

/* Was a window open while steps [begin, end) were taken? It opens a little before the first one that is counted. */
static bool has_window(const struct process *process, size_t begin, size_t end)
{
	size_t edge = windows_edge_at(process, process->steps[begin].time_ns);

	if (edge > 0 && process->windows[edge - 1].is_open)
		return true;
	while (edge < process->window_count && !process->windows[edge].is_open)
		edge++;
	return edge < process->window_count && process->windows[edge].time_ns <= process->steps[end - 1].time_ns;
}

/*
 * Of steps found while the program ran the last that were counted on without a jump: before, something else was taken for them. But where
 * others were counted for much longer it is the last that are something else, as of an evaluation at the end; and where a window opened
 * for others alone these are the ones that were asked for, unless the last were counted for much longer. When the last one ended nobody
 * knows: the first rounds of what came behind it are not in the log.
 */
static void leave_out_guesses(struct process *process)
{
	uint64_t lasted_ns, longest_ns = 0;
	size_t from = 0, to = 0;
	bool is_seen = false; /* the chosen ones have a window */

	for (size_t end = process->step_count, begin; end > 0; end = begin) {
		begin = counted_on(process, end, &lasted_ns);
		if (begin == end)
			break;
		bool is_asked_for = !is_seen && has_window(process, begin, end);
		if (to == 0 || lasted_ns / MUCH_LONGER > longest_ns || (is_asked_for && longest_ns / MUCH_LONGER <= lasted_ns)) {
			from = begin;
			to = end;
			longest_ns = lasted_ns;
			is_seen |= is_asked_for;
		}
	}
	for (size_t i = 0; i < process->step_count; i++)
		if ((i < from || i >= to) && process->steps[i].source == SOURCE_repeats)
			process->steps[i].is_chosen = false;
}

void step_choice(struct process *process)
{
	unsigned best = 0;

	for (size_t i = 0; i < process->step_count; i++)
		if (trust_in(process->steps[i].source) > best)
			best = trust_in(process->steps[i].source);
	for (size_t i = 0; i < process->step_count; i++)
		process->steps[i].is_chosen = trust_in(process->steps[i].source) == best && !process->steps[i].is_empty;
	leave_out_guesses(process);
	end_before_empty(process);
	find_pauses(process);
}

void step_choice_add(struct process *process, struct step step)
{
	struct step *steps = model_room(process->steps, process->step_count, sizeof *steps);

	if (steps == NULL) {
		process->steps_beyond++;
		return;
	}
	process->steps = steps;
	step.number = ++process->step_count;
	steps[process->step_count - 1] = step;
}

void step_choice_drop(struct process *process)
{
	free(process->steps);
	process->steps = NULL;
	process->step_count = 0;
}

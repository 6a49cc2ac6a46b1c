/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that ended without a record; see reducer/model/skips.h. */
#include "reducer/model/skips.h"

#include "reducer/model/internal.h"
#include "reducer/model/number_map.h"

#include <stdlib.h>

/* Which steps of a thread began one before the other: those of others are many. */
struct begun {
	const struct process *process;
	size_t count;		/* steps that were looked at */
	struct number_map last; /* (1, thread) -> the last one */
	uint32_t *before;	/* of a step: the one before it; NUMBER_MAP_NONE */
};

static void begin_until(struct begun *begun, uint64_t time)
{
	const struct step *steps = begun->process->steps;

	for (size_t i; (i = begun->count) < begun->process->step_count && steps[i].time_ns < (int64_t)time; begun->count++) {
		if (steps[i].source != SOURCE_record_function || !steps[i].is_chosen)
			continue;
		begun->before[i] = number_map_find(&begun->last, 1, steps[i].thread);
		number_map_set(&begun->last, 1, steps[i].thread, (uint32_t)i);
	}
}

/* The step that the skip is part of; SIZE_MAX = it was before the first. */
static size_t step_of(struct begun *begun, const struct skip *skip)
{
	uint32_t place;

	begin_until(begun, skip->time);
	place = number_map_find(&begun->last, 1, skip->thread);
	while (place != NUMBER_MAP_NONE && begun->process->steps[place].time_ns >= (int64_t)skip->time)
		place = begun->before[place]; /* the skip before it was a little later */
	return place == NUMBER_MAP_NONE ? SIZE_MAX : place;
}

/* Room for one more step of each of them that is part of one, and which those are. Returns how many have room. */
static size_t make_room(struct process *process, const struct skip *skips, size_t count, size_t *of)
{
	struct begun begun = {.process = process, .before = malloc((process->step_count + 1) * sizeof *begun.before)};
	size_t found = 0;

	for (size_t k = 0; begun.before != NULL && k < count; k++) {
		size_t step = step_of(&begun, &skips[k]);
		struct step *steps = step == SIZE_MAX ? NULL : model_room(process->steps, process->step_count + found, sizeof *steps);
		process->steps_beyond += step != SIZE_MAX && steps == NULL;
		of[k] = steps == NULL ? SIZE_MAX : step;
		process->steps = steps == NULL ? process->steps : steps;
		found += steps != NULL;
	}
	number_map_free(&begun.last);
	free(begun.before);
	return found;
}

/* places: of each step where it goes, in the order of steps; then where the next skip of it goes. */
static void move_steps(struct process *process, const struct skip *skips, size_t count, const size_t *of, size_t *places)
{
	struct step *steps = process->steps;

	for (size_t i = process->step_count; i-- > 0;)
		steps[places[i]] = steps[i];
	for (size_t k = 0; k < count; k++) {
		if (of[k] == SIZE_MAX)
			continue;
		struct step *step = &steps[++places[of[k]]];
		*step = step[-1];
		step->time_ns = step[-1].end_ns = (int64_t)skips[k].time;
		step[-1].turns = 0;
	}
}

void skips_split(struct process *process, const struct skip *skips, size_t count, struct period *periods, size_t period_count)
{
	size_t *of = calloc(count + 1, sizeof *of), *places = calloc(process->step_count + 1, sizeof *places), before = 0;
	size_t found = of == NULL || places == NULL ? 0 : make_room(process, skips, count, of);

	for (size_t k = 0; found > 0 && k < count; k++)
		if (of[k] != SIZE_MAX)
			places[of[k]]++;
	for (size_t i = 0; found > 0 && i < process->step_count; i++) {
		size_t own = places[i];
		places[i] = i + before;
		before += own;
	}
	for (size_t p = 0; found > 0 && p < period_count; p++)
		if (periods[p].step < process->step_count)
			periods[p].step = places[periods[p].step];
	if (found > 0)
		move_steps(process, skips, count, of, places);
	process->step_count += found;
	free(of);
	free(places);
}

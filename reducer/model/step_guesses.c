/* SPDX-License-Identifier: Apache-2.0 */
/* Steps from several streams of words; see reducer/model/step_guesses.h. */
#include "reducer/model/step_guesses.h"

#include "reducer/model/periods_outer.h"
#include "reducer/model/step_choice.h"
#include "reducer/model/step_measured.h"

#include <stdbool.h>
#include <stdlib.h>

#define MEASURED_MOST 8u /* kernels that are tuned one after the other; behind more nothing is looked for */
#define HELD_LEAST 0.5   /* of the time from the first step to the last, what lies in them: of less they are parts of something */

/* A loop inside of one compiled function is no step where what calls that repeats. */
static int guess_outer_steps(struct process *process, struct step_guess known)
{
	struct periods outer;
	int result = periods_outer(known.periods, &outer);

	known.periods = &outer;
	result = result == 0 ? step_guess(process, &known) : result;
	periods_free(&outer);
	return result;
}

/* From the first step to the last, and how much of that lies in steps: the rest of a step is in none. Ticks. */
struct extent {
	double all, held;
};

static struct extent extent_of(const struct process *process)
{
	struct extent extent = {.all = 0};

	for (size_t i = 0; i + 1 < process->step_count; i++) {
		const struct step *step = &process->steps[i];
		extent.all += (double)(step[1].time_ns - step->time_ns);
		extent.held += (double)((step->rest_ns != 0 ? step->rest_ns : step[1].time_ns) - step->time_ns);
	}
	return extent;
}

/*
 * A loop that calls each function several times has no word that begins it but by the place that calls: programs without a framework.
 * By functions alone some part of it may repeat, then, and leave most of the time in none: what holds more is it.
 */
static int guess_by_places(struct process *process, struct step_guess known, struct call_places *places)
{
	struct extent by_functions = extent_of(process), by_places;
	struct step *steps = process->steps;
	size_t count = process->step_count;

	if (count > 0 && (process->steps[0].source != STEP_BY_PERIOD || by_functions.held >= HELD_LEAST * by_functions.all))
		return 0;
	known.periods = call_places_stream(places);
	if (known.periods == NULL)
		return 0;
	process->steps = NULL;
	process->step_count = 0;
	int result = step_guess(process, &known);
	by_places = extent_of(process);
	if (count > 0 && (by_places.held < HELD_LEAST * by_places.all || by_places.held <= by_functions.held)) {
		step_choice_drop(process);
		process->steps = steps;
		process->step_count = count;
	} else {
		free(steps);
	}
	return result;
}

static bool are_requests(const struct process *process, const struct requests *requests)
{
	return process->step_count > 0 && process->steps[0].source == STEP_BY_PERIOD && process->steps[0].thread == 0 &&
	       requests_are_named(requests);
}

int step_guesses(struct process *process, struct step_guess known, struct call_places *places, const struct requests *requests)
{
	uint64_t from, to;

	if (known.xla_runs != NULL && periods_outer_differs(known.periods) && guess_outer_steps(process, known) != 0)
		return -1;
	if (step_guess(process, &known) != 0)
		return -1;
	for (unsigned tries = 0; step_measured(process, &from, &to); tries++) {
		process->step_count = 0;
		process->has_measured = 1;
		periods_leave(known.periods, from, to);
		if (tries < MEASURED_MOST && step_guess(process, &known) != 0)
			return -1;
	}
	if (!process->has_measured && guess_by_places(process, known, places) != 0)
		return -1;
	if (are_requests(process, requests))
		step_choice_drop(process);
	return 0;
}

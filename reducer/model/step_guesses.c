/* SPDX-License-Identifier: Apache-2.0 */
/* Steps from several streams of words; see reducer/model/step_guesses.h. */
#include "reducer/model/step_guesses.h"

#include "reducer/model/periods_outer.h"
#include "reducer/model/step_choice.h"
#include "reducer/model/step_measured.h"

#include <stdbool.h>

#define MEASURED_MOST 8u /* kernels that are tuned one after the other; behind more nothing is looked for */

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

static bool are_requests(const struct process *process, const struct requests *requests)
{
	return process->step_count > 0 && process->steps[0].source == STEP_BY_PERIOD && process->steps[0].thread == 0 &&
	       requests_are_named(requests);
}

/* A loop that calls each function several times has no word that begins it but by the place that calls: programs without a framework. */
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
	if (are_requests(process, requests)) {
		step_choice_drop(process);
		return 0;
	}
	known.periods = process->step_count > 0 || process->has_measured ? NULL : call_places_stream(places);
	return known.periods == NULL ? 0 : step_guess(process, &known);
}

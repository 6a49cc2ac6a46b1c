/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps only evaluate; see reducer/analysis/steps_evaluation.h. */
#include "reducer/analysis/steps_evaluation.h"

bool steps_is_scored(const struct unit *unit, const struct process *process)
{
	return unit->step != SIZE_MAX && process->steps[unit->step].is_scored;
}

#define FUNCTIONS_MOST 64

/* Whether that function had a backward pass in any of its steps: compiled ones name no ops but while they are compiled. */
static bool has_learnt(const struct steps *steps, const uint64_t *functions, uint64_t function)
{
	for (size_t i = 0; i < steps->count; i++)
		if (functions[i] == function && steps->rows[i].phase_ns[PHASE_BACKWARD])
			return true;
	return false;
}

void steps_find_evaluation(struct steps *steps, const uint64_t *functions)
{
	uint64_t seen[FUNCTIONS_MOST];
	bool learns[FUNCTIONS_MOST], any = false;
	size_t count = 0;

	for (size_t i = 0; i < steps->count; i++) {
		uint64_t function = functions[i];
		size_t at = 0;
		while (at < count && seen[at] != function)
			at++;
		if (!function || at < count || count == FUNCTIONS_MOST)
			continue;
		seen[count] = function;
		learns[count] = has_learnt(steps, functions, function);
		any |= learns[count++];
	}
	for (size_t i = 0; i < steps->count && any; i++)
		for (size_t at = 0; at < count; at++)
			if (seen[at] == functions[i])
				steps->rows[i].is_evaluation = !learns[at];
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps only evaluate; see reducer/analysis/steps_evaluation.h. */
#include "reducer/analysis/steps_evaluation.h"

#include "reducer/model/number_map.h"

bool steps_is_scored(const struct unit *unit, const struct process *process)
{
	return unit->step != SIZE_MAX && process->steps[unit->step].is_scored;
}

void steps_find_evaluation(struct steps *steps, const uint64_t *functions)
{
	/* (1, function) of those that had a backward pass in any of their steps: compiled ones name no ops but while they are compiled. */
	struct number_map learning = {0};

	for (size_t i = 0; i < steps->count; i++)
		if (functions[i] && steps->rows[i].phase_ns[PHASE_BACKWARD] &&
		    number_map_find(&learning, 1, functions[i]) == NUMBER_MAP_NONE && number_map_set(&learning, 1, functions[i], 0) != 0)
			base_die("out of memory for the functions of steps");
	for (size_t i = 0; i < steps->count && learning.count; i++)
		if (functions[i])
			steps->rows[i].is_evaluation = number_map_find(&learning, 1, functions[i]) == NUMBER_MAP_NONE;
	number_map_free(&learning);
}

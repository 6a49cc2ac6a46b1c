/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of measurements; see reducer/model/step_measured.h. */
#include "reducer/model/step_measured.h"

#define LOOKS_LEAST 3u /* of fewer their share says nothing */

int step_measured(const struct process *process, uint64_t *from, uint64_t *to)
{
	const struct python_rows *python = &process->python;
	const struct step *first = process->steps, *last = process->step_count == 0 ? NULL : &first[process->step_count - 1];
	size_t looks = 0, measured = 0;
	int64_t end;

	if (last == NULL || first->source != STEP_BY_PERIOD || python->measured_count == 0)
		return 0;
	end = last->end_ns == TIME_UNKNOWN ? last->time_ns : last->end_ns;
	for (size_t i = 0; i < python->look_count; i++) {
		const struct python_look *look = &python->looks[i];
		looks += look->thread == first->thread && look->time_ns >= first->time_ns && look->time_ns <= end;
	}
	for (size_t i = 0; i < python->measured_count; i++) {
		const struct python_moment *look = &python->measured[i];
		measured += look->thread == first->thread && look->time >= first->time_ns && look->time <= end;
	}
	*from = (uint64_t)first->time_ns;
	*to = (uint64_t)end;
	return looks >= LOOKS_LEAST && measured * 2 > looks;
}

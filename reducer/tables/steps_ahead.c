/* SPDX-License-Identifier: Apache-2.0 */
/* See reducer/tables/steps_ahead.h. */
#include "reducer/tables/steps_ahead.h"

/* *all: the time of the judged steps. */
static uint64_t ahead_of(const struct step_rows *rows, size_t process, uint64_t *all)
{
	const struct step_row *first = NULL;
	int64_t end_ns = INT64_MIN, done_ns = TIME_UNKNOWN, began_ns;
	size_t end;

	*all = 0;
	for (size_t i = step_rows_of(rows, process, &end); i < end; i++) {
		const struct step_row *row = rows->items[i];
		const struct step_edges *work = &row->edges[EDGES_DEVICE];
		if (!step_rows_judges(rows, i))
			continue;
		*all += row->total_ns;
		if (!first || row->start_ns < first->start_ns)
			first = row;
		end_ns = row->start_ns + (int64_t)row->total_ns > end_ns ? row->start_ns + (int64_t)row->total_ns : end_ns;
		done_ns = work->forward_ns > done_ns ? work->forward_ns : done_ns; /* TIME_UNKNOWN is before all */
		done_ns = work->backward_ns > done_ns ? work->backward_ns : done_ns;
	}
	if (!first || done_ns <= end_ns)
		return 0;
	began_ns = first->edges[EDGES_DEVICE].forward_ns;
	began_ns = began_ns > first->start_ns ? began_ns - first->start_ns : 0;
	return done_ns - end_ns > began_ns ? (uint64_t)(done_ns - end_ns - began_ns) : 0;
}

uint64_t steps_ahead_ns(const struct step_rows *rows, size_t process)
{
	uint64_t all;

	return ahead_of(rows, process, &all);
}

uint64_t steps_ahead_much_ns(const struct step_rows *rows, size_t process)
{
	uint64_t all, ahead = ahead_of(rows, process, &all);

	return (double)ahead >= STEPS_AHEAD_FROM * (double)all ? ahead : 0;
}

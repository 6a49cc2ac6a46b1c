/* SPDX-License-Identifier: Apache-2.0 */
/* Where the program was between steps; see reducer/tables/steps_between.h. */
#include "reducer/tables/steps_between.h"

#include "reducer/model/windows.h"

#include <stdio.h>

/* Of several threads or processes they may be more than the run lasted. */
struct pauses {
	uint64_t ns;
	size_t count, threads;
	const struct step_row *last;
};

static void say_pauses(struct table *table, const struct pauses *all, const char *before, const char *noun, const char *what)
{
	char together[64] = "";

	if (all->threads > 1)
		snprintf(together, sizeof together, ", of %zu threads together,", all->threads);
	if (all->count)
		table_note(table, NOTE_INFERRED, "%.3f s between steps%s belong to none: %s%zu %s%s %s.", (double)all->ns / 1e9, together,
			   before, all->count, noun, all->count == 1 ? "" : "s", what);
}

void steps_between_note(struct table *table, const struct request *request, const struct step_rows *rows)
{
	struct pauses pauses[2] = {{0}}; /* by step.is_evaluated */

	for (size_t i = 0; i + 1 < rows->count; i++) {
		const struct step_row *row = rows->items[i], *next = rows->items[i + 1];
		const struct process *process = &request->run->processes[row->process];
		if (row->unit.step == SIZE_MAX || next->process != row->process || next->unit.thread != row->unit.thread ||
		    !process->steps[row->unit.step].rest_ns || next->unit.start_ns <= row->unit.end_ns)
			continue;
		if (windows_recorded_ns(process, row->unit.end_ns, next->unit.start_ns) < next->unit.start_ns - row->unit.end_ns)
			continue; /* there may have been steps */
		struct pauses *all = &pauses[process->steps[row->unit.step].is_evaluated];
		all->ns += (uint64_t)(next->unit.start_ns - row->unit.end_ns);
		all->count++;
		all->threads += !all->last || all->last->process != row->process || all->last->unit.thread != row->unit.thread;
		all->last = row;
	}
	say_pauses(table, &pauses[0], "", "pause",
		   "where data ran out or were begun anew, another training began, or of 20 usual steps and more (ends of epochs, "
		   "evaluation, checkpoints, tracing)");
	say_pauses(table, &pauses[1], "evaluation, ", "time",
		   "(or acting: forward work that no backward pass came for; what came after the last step is not counted)");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a verdict says of steps besides; see reducer/tables/verdict_steps.h. */
#include "reducer/tables/verdict_steps.h"

#include <math.h>

#define BETWEEN_FROM 0.3 /* of the time from the first step to the last that is in none */

void verdict_say_first(struct text *sentence, const struct step_rows *rows, uint64_t judged)
{
	struct step_first first = step_rows_first(rows);
	uint64_t all = judged + first.ns;

	if (!first.ns || (double)first.ns < VERDICT_FIRST_FROM * (double)all)
		return;
	text_format(sentence, " The first %s%s not in this: %.1f ms, %.1f %% of all", unit_kind_name(rows->kind),
		    first.count == 1 ? " is" : "s are", (double)first.ns / 1e6, 100.0 * (double)first.ns / (double)all);
	if (first.compilation_ns * 2 >= first.ns)
		text_format(sentence, "; %.1f ms of it compile (-t compile_stats): a cache of compiled code that is kept saves that",
			    (double)first.compilation_ns / 1e6);
	text_string(sentence, ".");
}

void verdict_say_between(struct text *sentence, const struct step_rows *rows, const struct request *request)
{
	struct step_outside outside, most = {0};

	for (size_t i = 0, next; i < rows->count; i = next)
		if (step_rows_outside(rows, request, i, &next, &outside) && outside.between > most.between)
			most = outside;
	double part = (double)most.between / fmax((double)(most.life - most.before - most.after), 1);
	if (part >= BETWEEN_FROM)
		text_format(sentence,
			    " %.0f %% of the time from the first %s to the last, %.2f s, lies between them and is in none of this "
			    "(evaluation, acting, checkpoints, tracing).",
			    100 * part, unit_kind_name(rows->kind), (double)most.between / 1e9);
}

void verdict_say_awaited(struct text *sentence, const struct step_rows *rows, const struct request *request)
{
	const struct process *process = &request->run->processes[rows->items[0]->process];
	double took = (double)(process->awaited_to_ns - process->awaited_from_ns) / 1e9;

	if (rows->kind == UNIT_STEP && took > 0)
		text_format(sentence,
			    " But steps took longer than that: work that they only dispatched was waited for behind the last one, "
			    "%.3f s.",
			    took);
}

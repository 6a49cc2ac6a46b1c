/* SPDX-License-Identifier: Apache-2.0 */
/* What steps that nobody marked may be, and what else looks like steps. See notes.h. */
#include "reducer/model/steps_beside.h"
#include "reducer/tables/notes.h"

#include <string.h>

/* Of another loop nothing tells whether it is the one that is meant. */
static void note_aside(struct table *table, const struct request *request, const struct process *process)
{
	static const char *const where[] = {[LOOP_BEHIND] = "behind the last of these steps",
					    [LOOP_BEFORE] = "before the first of these steps",
					    [LOOP_ABREAST] = "on another thread",
					    [LOOP_AROUND] = "before, behind or between these steps"};

	if (process->batches_aside > 0 && request_wants_process(request, process))
		table_note(table, NOTE_INFERRED,
			   "Process %s: it took %zu batches of tf.data in none of these steps (as Keras' predict does). They are not "
			   "counted.",
			   process->called, process->batches_aside);
	if (process->aside.function && request_wants_process(request, process))
		table_note(table, NOTE_INFERRED,
			   "Process %s: %s, a function with ops of a gradient or an optimizer, was called %llu times %s: a training of its "
			   "own. Its calls are not counted; under the name train_step they would be, and tfprof.step() in both loops "
			   "says what is meant.",
			   process->called, process->aside.function, (unsigned long long)process->aside.calls,
			   where[process->aside.where]);
	else if (process->aside.line && request_wants_process(request, process))
		table_note(table, NOTE_INFERRED,
			   "Process %s: %s ran a compiled function at least %llu times, %s: a training of its own, or an evaluation. Its "
			   "calls are not counted; tfprof.step() says what is meant.",
			   process->called, process->aside.line, (unsigned long long)process->aside.calls, where[process->aside.where]);
	else if (process->aside.calls && request_wants_process(request, process))
		table_note(table, NOTE_INFERRED,
			   "Process %s: other work repeated %llu times %s, as another model or an evaluation does. It is not counted; "
			   "tfprof.step() says what is meant.",
			   process->called, (unsigned long long)process->aside.calls, where[process->aside.where]);
}

void notes_aside(struct table *table, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++)
		note_aside(table, request, &request->run->processes[i]);
}

void notes_unit(struct table *table, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		size_t found = 0;
		for (size_t k = 0; k < process->step_count; k++)
			found += process->steps[k].is_chosen && process->steps[k].source == STEP_BY_PERIOD;
		if (found && process_only_predicts(process) && request_wants_process(request, process))
			table_note(table, NOTE_INFERRED,
				   "Nobody marked the steps of process %s: each may be a batch, a request, or a token that a language "
				   "model generates (a range around each request makes requests of them).",
				   process->called);
	}
}

void notes_collectives(struct table *table, const struct request *request)
{
	bool has_any = false;

	for (size_t p = 0; p < request->run->process_count; p++)
		for (size_t i = 0; i < request->run->processes[p].ops.count; i++)
			has_any |= request_wants_process(request, &request->run->processes[p]) &&
				   strcmp(request->run->processes[p].ops.items[i].name, "CollectiveOpV2Kernel::Run") == 0;
	if (has_any)
		table_note(table, NOTE_INFERRED,
			   "Collectives of TensorFlow count as communication from where they start to where it says that they are done, "
			   "while nothing else runs: that they wait there for other processes, or for the network, follows from that.");
}

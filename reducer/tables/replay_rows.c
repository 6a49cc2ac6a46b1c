/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables of replayed steps share; see reducer/tables/replay_rows.h. */
#include "reducer/tables/replay_rows.h"

#include "reducer/tables/gpu_rows.h"

static double apart(double ns, double measured_ns)
{
	return measured_ns > 0 ? (ns > measured_ns ? ns - measured_ns : measured_ns - ns) / measured_ns : 1;
}

double replay_error(const struct replay_process *process)
{
	double usual = apart(process->usual_ns, process->measured_ns), model = apart(process->model_ns, process->measured_ns);

	return usual > model ? usual : model;
}

static void note_none(struct table *table, const struct process *process, const struct replay_process *replayed)
{
	switch (replayed->fault) {
	case REPLAY_NO_STEPS:
		table_note(table, NOTE_MISSING,
			   "Process %s: %s; a step is replayed whole, from its mark to the next one.", process->called,
			   replayed->all_steps ? "no step was recorded from begin to end" : "no steps were found (docs/steps.md)");
		break;
	case REPLAY_NO_WORK:
		table_note(table, NOTE_MISSING,
			   "Process %s: its steps gave no device work that was recorded; of work on processors op_stats, "
			   "python_time and native_time tell.",
			   process->called);
		break;
	case REPLAY_TOO_MUCH:
		table_note(table, NOTE_MISSING, "Process %s: one step has more than %u calls and works, too many to replay.",
			   process->called, REPLAY_NODES_MOST);
		break;
	case REPLAY_MANY_THREADS:
		table_note(table, NOTE_MISSING, "Process %s: more than 64 threads make calls in its steps, too many to follow.",
			   process->called);
		break;
	case REPLAY_FINE:
		table_note(table, NOTE_MISSING,
			   "Process %s: replayed with usual delays its steps take %.0f %% of the measured time: what they "
			   "wait for is not known well enough.",
			   process->called, 100 * replayed->usual_ns / replayed->measured_ns);
		break;
	}
}

static void note_fine(struct table *table, const struct process *process, const struct replay_process *replayed)
{
	table_note(table, NOTE_INFERRED,
		   "Process %s: %llu " BY_COUNT("step", "steps") " of %llu, from number %llu on, %llu calls and works; with usual "
		   "delays in the place of measured ones they take %+.1f %%, which is how far to trust the rest.",
		   process->called, (unsigned long long)replayed->steps, (unsigned long long)replayed->all_steps,
		   (unsigned long long)replayed->first_step, (unsigned long long)(replayed->calls + replayed->works),
		   100 * (replayed->usual_ns / replayed->measured_ns - 1));
	if (replayed->guessed_orders)
		table_note(table, NOTE_INFERRED,
			   "Process %s: %llu " BY_COUNT("work is", "works are") " taken to have waited for another stream's, which "
			   "ended just before.",
			   process->called, (unsigned long long)replayed->guessed_orders);
	if (replayed->guessed_turns)
		table_note(table, NOTE_INFERRED,
			   "Process %s: %llu times a thread is taken to have waited for another one, which made calls meanwhile, as for "
			   "the backward pass of PyTorch.",
			   process->called, (unsigned long long)replayed->guessed_turns);
	if (replayed->guessed_streams)
		table_note(table, NOTE_INFERRED,
			   "Process %s: %llu " BY_COUNT("call that waits is", "calls that wait are") " taken to have waited for the last "
			   "work that ended, though other streams' work ended just before.",
			   process->called, (unsigned long long)replayed->guessed_streams);
	if (replayed->guessed_waits)
		table_note(table, NOTE_INFERRED,
			   "Process %s: no call waits for a device; %llu times a thread that went on just behind the end of all "
			   "work is taken to have waited for it.",
			   process->called, (unsigned long long)replayed->guessed_waits);
	if (replayed->is_device_end)
		table_note(table, NOTE_INFO,
			   "Process %s: the host runs ahead of the device; a step is counted from the end of the device's work of "
			   "one to that of the next.",
			   process->called);
}

/* The steps that were replayed and are explained well enough; else NULL, and a note says why. */
static const struct replay_process *replayed_of(struct table *table, const struct process *process, const struct replay *replay)
{
	const struct replay_process *replayed;

	if (!replay || !replay->count || !process->gpu || !process->gpu->queue_count)
		return NULL;
	replayed = &replay->processes[0];
	if (replayed->fault != REPLAY_FINE || replay_error(replayed) > REPLAY_ERROR_MOST) {
		note_none(table, process, replayed);
		return NULL;
	}
	note_fine(table, process, replayed);
	return replayed;
}

void replay_fill(struct table *table, const struct request *request, replay_put *put, size_t column)
{
	if (!gpu_any(table, request))
		return;
	for (size_t p = 0; p < request->run->process_count; p++) {
		const struct process *process = &request->run->processes[p];
		const struct replay *replay = analyses_process(request->analyses, &analysis_replay, p);
		const struct replay_process *replayed = replayed_of(table, process, replay);
		if (replayed)
			put(table, process, replay, replayed);
	}
	gpu_notes(table, request);
	if (column != SIZE_MAX)
		table_sort(table, column, false);
}

void replay_put_ns(struct table *table, size_t column, double ns)
{
	table_integer(table, column, ns < (double)INT64_MAX ? (int64_t)ns : INT64_MAX);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be said under tables of looks at native code; see reducer/tables/native_looks.h. */
#include "reducer/tables/look_notes.h"
#include "reducer/tables/native_looks.h"
#include "reducer/tables/notes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define UNSEEN_FROM 0.1	/* of the processor time that samples do not stand for that make it worth a remedy */
#define NOWHERE_FROM 0.001 /* of either time without a whole stack that make it worth a note */

/* Processor time by the kernel's count and by samples, of processes that have both. */
struct counted {
	double user_ns, system_ns, sampled_ns;
};

static const struct use_sample *last_reading(const struct process *process)
{
	const struct use_sample *last = NULL;

	for (size_t i = 0; i < process->use.count; i++)
		if (process->use.samples[i].of == USE_OF_PROCESS && process->use.samples[i].has_use)
			last = &process->use.samples[i];
	return last;
}

/* An image that exec started goes on counting where the one before was: nothing is said of it. */
static void count_process(struct counted *counted, const struct process *process)
{
	const struct use_sample *last = last_reading(process);

	if (!last || process->exec_before != PROCESS_NONE)
		return;
	counted->user_ns += (double)last->user_ns;
	counted->system_ns += (double)last->system_ns;
	for (size_t i = 0; i < process->native.look_count; i++)
		if (!process->native.looks[i].is_wait && process->native.looks[i].time_ns <= last->time_ns)
			counted->sampled_ns += (double)process->native.looks[i].amount_ns;
}

/* Whether samples of a thread were given up, or never begun, as its log says. */
static bool was_unsampled(const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		for (size_t k = 0; k < process->loss_count && request_wants_process(request, process); k++)
			if (strcmp(process->losses[k].name, "native_unsampled") == 0)
				return true;
	}
	return false;
}

/* How much of the processor time the samples stand for; of all threads and all the time, or it is not comparable. */
static void note_counted(struct table *table, const struct request *request, const struct native_looks *looks)
{
	struct counted counted = {0};

	if (!looks->has_cpu || request->thread || request->has_steps || request->from_ns != INT64_MIN || request->to_ns != INT64_MAX)
		return;
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request->run->processes[i].native.look_count && request_wants_process(request, &request->run->processes[i]))
			count_process(&counted, &request->run->processes[i]);
	double all = counted.user_ns + counted.system_ns, share = all > 0 ? counted.sampled_ns / all : 0;
	if (all <= 0)
		return;
	table_note(table, share < 1 - UNSEEN_FROM ? NOTE_MISSING : NOTE_INFO,
		   "Samples stand for %.0f %% of the processor time that the kernel counted for these processes, of which %.0f %% was "
		   "spent in the kernel%s%s.",
		   100 * share, 100 * counted.system_ns / all,
		   share < 1 - UNSEEN_FROM ? "; of the rest it is not known where it went: before there was a second thread, threads that "
					     "ran too short to be met running, or were too many to be sampled"
					   : "",
		   share < 1 - UNSEEN_FROM && was_unsampled(request) ? ", threads whose samples were given up for a time (-t losses: "
								       "native_unsampled)"
								     : "");
}

static const char *whose_waiting(const struct request *request, const struct native_looks *looks)
{
	if (request->thread)
		return "the threads asked for";
	return looks->has_steps ? "the threads that mark the steps, in processes without any of the first (--thread=NAME: of others)"
				: "each process's first thread (--thread=NAME: of others)";
}

static double share(uint64_t part, uint64_t all)
{
	return all ? 100 * (double)part / (double)all : 0;
}

/* Time that is in no row, or whose callers are not all known. */
static void note_stacks(struct table *table, const struct native_looks *looks)
{
	const struct native_sums *all = &looks->all, *nowhere = &looks->nowhere, *cut = &looks->cut;

	if (share(nowhere->cpu_ns, all->cpu_ns) >= 100 * NOWHERE_FROM || share(nowhere->wait_ns, all->wait_ns) >= 100 * NOWHERE_FROM)
		table_note(table, NOTE_MISSING,
			   "In no row: %.1f %% of the processor time and %.1f %% of the waiting, for which no call stack could be had.",
			   share(nowhere->cpu_ns, all->cpu_ns), share(nowhere->wait_ns, all->wait_ns));
	if (share(cut->cpu_ns, all->cpu_ns) >= 100 * NOWHERE_FROM || share(cut->wait_ns, all->wait_ns) >= 100 * NOWHERE_FROM)
		table_note(table, NOTE_MISSING,
			   "Of %.1f %% of the processor time and %.1f %% of the waiting the outer callers are not known: the stack ends "
			   "early, and what is told with callees is too little by that.",
			   share(cut->cpu_ns, all->cpu_ns), share(cut->wait_ns, all->wait_ns));
}

static void note_looks(struct table *table, const struct request *request, const struct native_looks *looks)
{
	uint64_t judged = native_looks_judged(looks, &looks->all);
	struct text error = {0};

	if (!looks->all.looks && native_looks_any(request))
		table_note(table, NOTE_MISSING,
			   "No look of what is asked for: none found a thread running, and those that waited are others than %s.",
			   whose_waiting(request, looks));
	if (!looks->all.looks)
		return;
	look_error_points(&error, (double)judged, native_looks_error(looks, &looks->all));
	if (judged)
		table_note(table, NOTE_INFERRED,
			   "Estimates, from %" PRIu64 " samples of running code%s in %" PRIu32 " thread%s: a share of 10 %% is known to "
			   "about %s points (one standard deviation). Processor time is that of all threads, waiting that of %s.",
			   looks->has_steps ? looks->all.step_cpu_looks : looks->all.cpu_looks, looks->has_steps ? " within steps" : "",
			   looks->threads, looks->threads == 1 ? "" : "s", error.bytes, whose_waiting(request, looks));
	else
		table_note(table, NOTE_INFERRED, "Estimates, %s: of %s.",
			   looks->all.cpu_ns ? "without a sample of running code in steps; waiting" : "of waiting alone",
			   whose_waiting(request, looks));
	text_free(&error);
	note_stacks(table, looks);
	if (looks->each_most > 1)
		table_note(table, NOTE_INFO, "Of many looks one in up to %" PRIu32 " was kept, which stands for the time of all.",
			   looks->each_most);
}

/* What stands behind the state; NULL = it is another one. */
static const char *detail_of(const char *fact, const char *state)
{
	size_t length = strlen(state);

	return fact && strncmp(fact, state, length) == 0 && strncmp(fact + length, ": ", 2) == 0 ? fact + length + 2 : NULL;
}

/* What is sampled: once for all that say the same. */
static void note_sampled(struct table *table, const struct request *request)
{
	const char *before = "";

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		const char *detail = detail_of(look_fact(process, "native_time"), "on");
		if (!detail || strcmp(detail, before) == 0 || !request_wants_process(request, process))
			continue;
		table_note(table, NOTE_INFO, "Looked at%s%s: %s.", before[0] ? " in process " : "", before[0] ? process->called : "",
			   detail);
		before = detail;
	}
}

/* It was asked for, and is not known to have been possible: nothing was ever begun. */
static bool was_alone(const struct process *process)
{
	const char *period = process_setting(process, "NATIVE_TIME");

	return !look_fact(process, "native_time") && !process->native.look_count && process->end != END_IMPORTED && period[0] &&
	       strcmp(period, "0") != 0;
}

/* In one line: a job may have a hundred helpers. */
static void note_alone(struct table *table, const struct request *request)
{
	const struct process *first = NULL;
	struct text who = {0};
	size_t count = 0;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process) || !was_alone(process))
			continue;
		first = first ? first : process;
		count++;
	}
	if (!count)
		return;
	if (count == 1)
		text_format(&who, "Process %s was not looked at: it", first->called);
	else
		text_format(&who, "%zu processes were not looked at: they", count);
	table_note(table, NOTE_MISSING,
		   "%s never had a second thread, and tfprof is not the reason for one; or %s ended, or %s windows closed, before.",
		   who.bytes, count == 1 ? "it" : "they", count == 1 ? "its" : "their");
	text_free(&who);
}

/* Why a process was not looked at, or no more from some time on, or not at all that it did. */
static void note_process(struct table *table, const struct process *process)
{
	const char *fact = look_fact(process, "native_time"), *period = process_setting(process, "NATIVE_TIME");

	if (look_absent(fact))
		table_note(table, NOTE_MISSING, "Process %s: %s", process->called, look_absent(fact));
	else if (detail_of(fact, "partly"))
		table_note(table, NOTE_MISSING, "Process %s: %s.", process->called, detail_of(fact, "partly"));
	else if (process->native.look_count || process->end == END_IMPORTED)
		return;
	else if (!period[0])
		table_note(table, NOTE_MISSING, "Process %s was not looked at: its log is of a tfprof that did not look at native code.",
			   process->called);
	else if (strcmp(period, "0") == 0)
		table_note(table, NOTE_MISSING,
			   "Process %s was not looked at: setting NATIVE_TIME=0; TFPROF_NATIVE_TIME=10 looks each 10 ms.", process->called);
	else if (fact)
		table_note(table, NOTE_MISSING, "Process %s ended, or its windows closed, before it was looked at.", process->called);
}

void native_looks_notes(struct table *table, const struct request *request, const struct native_looks *looks)
{
	note_looks(table, request, looks);
	note_counted(table, request, looks);
	note_sampled(table, request);
	note_alone(table, request);
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]))
			note_process(table, &request->run->processes[i]);
	if (!native_looks_any(request) && !notes_not_in_file(table, request))
		table_note(table, NOTE_INFO, "No native code was looked at: the notes say why.");
}

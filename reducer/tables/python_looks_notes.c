/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be said under tables of looks at Python code; see reducer/tables/python_looks.h. */
#include "reducer/tables/look_notes.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/python_looks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ALONE_LEAST_NS INT64_C(1000000000) /* a shorter program asks for no lines */
#define UNSEEN_FROM 0.05 /* of the time not looked at that make it worth a note */

/* Before the reason why there were none for a while. */
#define SEVERAL "several: "

/* That there were several interpreters all the while. NULL: not so. */
static const char *several(const struct process *process)
{
	const char *time = look_fact(process, "python_time");

	return time && !process->python.look_count && strncmp(time, SEVERAL, sizeof SEVERAL - 1) == 0 ? time + sizeof SEVERAL - 1 : NULL;
}

/* What can be done about it: nothing of tfprof's, but a line in the program. */
#define MAKES_SECOND "any does, however idle: threading.Thread(target=threading.Event().wait, daemon=True).start()"

/* Python whose frames could be read, asked for looks, and that never had a thread beside its first. */
static bool was_alone(const struct process *process)
{
	const char *frames = look_fact(process, "python");

	return frames && strncmp(frames, "on", 2) == 0 && !look_fact(process, "python_time") && !process->python.look_count &&
	       strcmp(process_setting(process, "PYTHON_TIME"), "0") != 0;
}

/* Why a process that ran Python was not looked at, or no more from some time on. */
static void note_process(struct table *table, const struct process *process)
{
	const char *frames = look_fact(process, "python"), *time = look_fact(process, "python_time");
	const char *period = process_setting(process, "PYTHON_TIME");

	if (!frames)
		return;
	if (strncmp(frames, "on", 2) != 0)
		table_note(table, NOTE_MISSING, "Process %s: %s", process->called, frames);
	else if (look_absent(time))
		table_note(table, NOTE_MISSING, "Process %s: %s", process->called, look_absent(time));
	else if (process->python.look_count)
		return;
	else if (several(process))
		table_note(table, NOTE_MISSING, "Process %s: %s", process->called, several(process));
	else if (strcmp(period, "0") == 0)
		table_note(table, NOTE_MISSING,
			   "Process %s was not looked at: setting PYTHON_TIME=0; TFPROF_PYTHON_TIME=10 looks each 10 ms.", process->called);
	else if (was_alone(process))
		table_note(table, NOTE_MISSING,
			   "Process %s was not looked at: it never had a second thread, and tfprof is not the reason for one (" MAKES_SECOND
			   ").",
			   process->called);
	else
		table_note(table, NOTE_MISSING, "Process %s ended, or its windows closed, before it was looked at twice.", process->called);
}

static void note_looks(struct table *table, const struct request *request, const struct python_looks *looks)
{
	uint64_t all = python_looks_judged(looks, &looks->all), nowhere = python_looks_judged(looks, &looks->nowhere);
	uint64_t doubtful = python_looks_judged(looks, &looks->doubtful);
	uint64_t count = looks->has_steps ? looks->step_looks : looks->all.looks, whole = python_looks_whole(looks);
	struct text error = {0};

	if (!looks->all.looks)
		return;
	look_error_points(&error, (double)all, python_looks_error(looks, &looks->all));
	table_note(table, NOTE_INFERRED,
		   "Estimates, from %" PRIu64 " looks%s at %" PRIu32 " %s%s: a share of 10 %% is known to about %s points (one standard "
		   "deviation). Wall time is that of %s; processor time is that of all threads that Python knows.",
		   count, looks->has_steps ? " within steps" : "", looks->threads, looks->threads == 1 ? "thread" : "threads",
		   looks->processes > 1 ? " of several processes" : "", error.bytes,
		   request->thread    ? "the threads asked for"
		   : looks->has_steps ? "the threads that mark the steps, in processes without any of the first (--thread=NAME: of others)"
				      : "each process's first thread (--thread=NAME: of others)");
	free(error.bytes);
	if (all && (nowhere || doubtful))
		table_note(table, NOTE_INFO,
			   "In no line: %.1f %% of that time, in which no Python code ran, and %.1f %%, in which a look "
			   "found nothing certain.",
			   100.0 * (double)nowhere / (double)all, 100.0 * (double)doubtful / (double)all);
	if ((double)all < (double)whole * (1 - UNSEEN_FROM))
		table_note(table, NOTE_MISSING,
			   "Looked at were %.1f %% of the time of %s; nothing is known of the rest: before there was a second thread, "
			   "behind a fork that left one alone, while no window was open, with several interpreters, while the "
			   "program was stopped as a whole (SIGSTOP, a frozen control group).",
			   100.0 * (double)all / (double)whole, looks->has_steps ? "the steps" : "these processes");
	if (looks->each_most > 1)
		table_note(table, NOTE_INFO, "Of many looks one in up to %" PRIu32 " was kept, which stands for the time of all.",
			   looks->each_most);
}

void python_looks_note_absent(struct table *table, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]))
			note_process(table, &request->run->processes[i]);
}

void python_looks_note_alone(struct table *table, const struct request *request)
{
	const struct process *main = request->run->process_count ? run_main(request->run) : NULL;
	const char *frames = main ? look_fact(main, "python") : NULL, *time = main ? look_fact(main, "python_time") : NULL;

	if (!main || !request_wants_process(request, main) || main->gone_ns - main->start_ns < ALONE_LEAST_NS)
		return;
	if (look_absent(frames) && strcmp(process_setting(main, "STACKS"), "0") != 0)
		table_note(table, NOTE_MISSING, "Lines of Python: process %s has none. %s", main->called, look_absent(frames));
	else if (several(main))
		table_note(table, NOTE_MISSING, "Lines of Python by time: process %s has none. %s", main->called, several(main));
	else if (frames && look_absent(time))
		table_note(table, NOTE_MISSING, "Lines of Python by time: process %s has none%s. %s", main->called,
			   main->python.look_count ? " from some time on" : "", look_absent(time));
	else if (was_alone(main))
		table_note(table, NOTE_MISSING,
			   "Lines of Python by time: %s%s never had a second thread, and tfprof is not the reason for one "
			   "(" MAKES_SECOND ").",
			   request->run->process_count > 1 ? "process " : "the program",
			   request->run->process_count > 1 ? main->called : "");
}

void python_looks_notes(struct table *table, const struct request *request, const struct python_looks *looks)
{
	note_looks(table, request, looks);
	python_looks_note_absent(table, request);
	if (!python_looks_any(request) && !notes_not_in_file(table, request))
		table_note(table, NOTE_INFO, "No Python code was looked at: no Python from 3.8 to 3.15 ran here, or the notes say why.");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_time: which lines of Python the time goes into.
 *
 * Rule: a row is a line of a function. `own` is where it was the innermost line of the program's own code, with the libraries
 * that it called; `self` where it was the innermost of all; `total` where it was anywhere on the stack. All by looks of tfprof's
 * thread (collectors/python_time.h): estimates, which a note gives the error of.
 */
#include "reducer/tables/notes.h"
#include "reducer/tables/python_looks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	FUNCTION,
	FILE_NAME,
	LINE,
	OWN_PERCENT,
	STEP_OWN,
	OTHER_OWN,
	STEP_SELF,
	STEP_TOTAL,
	TIME_OWN,
	TIME_SELF,
	TIME_TOTAL,
	CPU_OWN,
	CPU_SELF,
	CPU_TOTAL,
	LOOKS,
	PROCESSES,
	COLUMNS
};

static const struct table_column columns[] = {
	[FUNCTION] = {"function", "function", TABLE_TEXT, UNIT_NONE, 0, "qualified name; before Python 3.11 the plain one"},
	[FILE_NAME] = {"file", "file", TABLE_TEXT, UNIT_NONE, 0, "as the code object has it"},
	[LINE] = {"line", "line", TABLE_INTEGER, UNIT_NONE, 0, "that was running; 0 = the interpreter says none"},
	[OWN_PERCENT] = {"own_percent", "%", TABLE_REAL, UNIT_NONE, 0,
			  "of the time in steps (without steps: of all) in which it was the innermost line of the program's own code: in "
			  "it "
			  "and in the libraries that it called"},
	[STEP_OWN] = {"step_own_ns", "in steps", TABLE_INTEGER, UNIT_NS, 0,
		       "wall time within steps, in it and in the libraries that it called; empty = there are no steps"},
	[OTHER_OWN] = {"other_own_ns", "in no op", TABLE_INTEGER, UNIT_NS, 0,
			"of this while nothing else was recorded to go on, no op, call or work of a device: the part 'other' of the "
			"steps"},
	[STEP_SELF] = {"step_self_ns", "itself", TABLE_INTEGER, UNIT_NS, 1, "the same where it was the innermost line of all"},
	[STEP_TOTAL] = {"step_total_ns", "with callees", TABLE_INTEGER, UNIT_NS, 2, "the same, with all that it called"},
	[TIME_OWN] = {"time_own_ns", "in all", TABLE_INTEGER, UNIT_NS, 1,
		       "wall time of the whole run, in it and in the libraries that it called, running or waiting"},
	[TIME_SELF] = {"time_self_ns", "itself", TABLE_INTEGER, UNIT_NS, 2, "the same where it was the innermost line of all"},
	[TIME_TOTAL] = {"time_total_ns", "with callees", TABLE_INTEGER, UNIT_NS, 2, "the same, with all that it called"},
	[CPU_OWN] = {"cpu_own_ns", "processor", TABLE_INTEGER, UNIT_NS, 1,
		      "processor time of all threads that Python knows, in it and in the libraries that it called"},
	[CPU_SELF] = {"cpu_self_ns", "itself", TABLE_INTEGER, UNIT_NS, 3, "the same where it was the innermost line of all"},
	[CPU_TOTAL] = {"cpu_total_ns", "with callees", TABLE_INTEGER, UNIT_NS, 3, "the same, with all that it called"},
	[LOOKS] = {"looks", "looks", TABLE_INTEGER, UNIT_COUNT, 2, "that found it on the stack of a thread whose wall time counts"},
	[PROCESSES] = {"processes", "processes", TABLE_INTEGER, UNIT_COUNT, 3, "how many processes ran it"},
};

static void put_sums(struct table *table, const struct python_looks *looks, const struct look_sums *of, size_t step, size_t time,
		     size_t cpu)
{
	if (looks->has_steps)
		table_integer(table, step, (int64_t)of->step_ns);
	table_integer(table, time, (int64_t)of->time_ns);
	table_integer(table, cpu, (int64_t)of->cpu_ns);
}

static void add_row(struct table *table, const struct python_looks *looks, size_t number)
{
	const struct look_line *line = &looks->list[number];
	uint64_t judged = python_looks_judged(looks, &looks->all);

	table_row(table);
	python_lines_put(&looks->lines, number, table, FUNCTION);
	if (judged)
		table_real(table, OWN_PERCENT, 100.0 * (double)python_looks_judged(looks, &line->own) / (double)judged);
	put_sums(table, looks, &line->own, STEP_OWN, TIME_OWN, CPU_OWN);
	if (looks->has_steps)
		table_integer(table, OTHER_OWN, (int64_t)line->own.other_ns);
	put_sums(table, looks, &line->self, STEP_SELF, TIME_SELF, CPU_SELF);
	put_sums(table, looks, &line->total, STEP_TOTAL, TIME_TOTAL, CPU_TOTAL);
	table_integer(table, LOOKS, (int64_t)line->total.looks);
	table_integer(table, PROCESSES, line->processes);
}

/* By the time of the line itself, then as they came: what the table's own order leaves alike stays so. */
static int compare(const void *a, const void *b, void *context)
{
	const struct python_looks *looks = context;
	size_t one = *(const size_t *)a, other = *(const size_t *)b;
	uint64_t first = python_looks_judged(looks, &looks->list[one].self);
	uint64_t second = python_looks_judged(looks, &looks->list[other].self);

	if (first != second)
		return first > second ? -1 : 1;
	return one < other ? -1 : one > other;
}

static void add_rows(struct table *table, struct python_looks *looks)
{
	size_t *order = base_alloc(looks->lines.count + 1, sizeof(*order));

	for (size_t i = 0; i < looks->lines.count; i++)
		order[i] = i;
	qsort_r(order, looks->lines.count, sizeof(*order), compare, looks);
	for (size_t i = 0; i < looks->lines.count; i++)
		add_row(table, looks, order[i]);
	free(order);
	table_sort(table, OWN_PERCENT, false);
}

static const char *framework(const struct process *process, const char *name)
{
	for (size_t i = 0; i < process->framework_count; i++)
		if (strcmp(process->frameworks[i].name, name) == 0)
			return process->frameworks[i].value;
	return NULL;
}

/* Why a process that ran Python was not looked at. */
static void note_process(struct table *table, const struct process *process)
{
	const char *frames = framework(process, "python"), *time = framework(process, "python_time");
	const char *period = process_setting(process, "PYTHON_TIME");

	if (!frames || process->python.look_count)
		return;
	if (strncmp(frames, "on", 2) != 0)
		table_note(table, NOTE_MISSING, "Process %s: %s", process->called, frames);
	else if (strcmp(period, "0") == 0)
		table_note(table, NOTE_MISSING,
			   "Process %s was not looked at: setting PYTHON_TIME=0; TFPROF_PYTHON_TIME=10 looks each 10 ms.", process->called);
	else if (!time)
		table_note(table, NOTE_MISSING,
			   "Process %s was not looked at: it never had a second thread, and tfprof is not the reason for one.",
			   process->called);
	else if (strncmp(time, "absent: ", 8) == 0)
		table_note(table, NOTE_MISSING, "Process %s: %s", process->called, time + 8);
	else
		table_note(table, NOTE_MISSING, "Process %s ended, or its windows closed, before it was looked at twice.", process->called);
}

static void note_looks(struct table *table, const struct request *request, const struct python_looks *looks)
{
	uint64_t all = python_looks_judged(looks, &looks->all), nowhere = python_looks_judged(looks, &looks->nowhere);
	uint64_t doubtful = python_looks_judged(looks, &looks->doubtful);
	uint64_t count = looks->has_steps ? looks->step_looks : looks->all.looks;

	if (!looks->all.looks)
		return;
	table_note(table, NOTE_INFERRED,
		   "Estimates, from %" PRIu64 " looks%s at %" PRIu32 " %s%s: a share of 10 %% is known to about %.1g points (one standard "
		   "deviation). Wall time is that of %s; processor time is that of all threads that Python knows.",
		   count, looks->has_steps ? " within steps" : "", looks->threads, looks->threads == 1 ? "thread" : "threads",
		   looks->processes > 1 ? " of several processes" : "", 100 * sqrt(0.1 * 0.9 / (double)(count ? count : 1)),
		   request->thread    ? "the threads asked for"
		   : looks->has_steps ? "the threads that mark the steps (--thread=NAME: of others)"
				      : "each process's first thread (--thread=NAME: of others)");
	if (all && (nowhere || doubtful))
		table_note(table, NOTE_INFO,
			   "In no line: %.1f %% of that time, in which no Python code ran, and %.1f %%, in which a look "
			   "found nothing certain.",
			   100.0 * (double)nowhere / (double)all, 100.0 * (double)doubtful / (double)all);
	if (looks->halvings)
		table_note(table, NOTE_INFO, "Of many looks one in %u was kept, which stands for the time of all.", 1u << looks->halvings);
}

static void fill(struct table *table, const struct request *request)
{
	struct python_looks looks;

	python_looks_gather(&looks, request);
	add_rows(table, &looks);
	note_looks(table, request, &looks);
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]))
			note_process(table, &request->run->processes[i]);
	if (!looks.lines.count && !notes_not_in_file(table, request))
		table_note(table, NOTE_INFO, "No Python code was looked at: no Python from 3.8 to 3.14 ran here, or the notes say why.");
	python_looks_free(&looks);
	notes_recording(table, request);
}

static const struct analysis_kind *const needs[] = {&analysis_steps, NULL};
const struct table_kind table_python_time = {
	.id = "python_time",
	.title = "Time by line of Python",
	.help = "Which lines of Python the time goes into, within steps and in all: the program's own lines with the libraries that they "
		"called, and each line by itself and with all that it called.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_THREAD | FILTER_WINDOW | FILTER_STEP,
	.text_rows = 25,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill,
};

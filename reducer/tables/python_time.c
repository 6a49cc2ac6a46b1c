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

#include <stdlib.h>

enum {
	FUNCTION,
	FILE_NAME,
	LINE,
	OWN_PERCENT,
	STEP_OWN,
	OTHER_OWN,
	OWN_ERROR,
	STEP_SELF,
	STEP_TOTAL,
	COLLECTING,
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
	[OWN_ERROR] = {"own_error_ns", "+-", TABLE_INTEGER, UNIT_NS, 1,
		       "standard error of step_own_ns, without steps of time_own_ns: the root of the summed squares of what each look "
		       "stands for"},
	[STEP_SELF] = {"step_self_ns", "itself", TABLE_INTEGER, UNIT_NS, 1, "the same where it was the innermost line of all"},
	[STEP_TOTAL] = {"step_total_ns", "with callees", TABLE_INTEGER, UNIT_NS, 2, "the same, with all that it called"},
	[COLLECTING] = {"collecting_ns", "collecting", TABLE_INTEGER, UNIT_NS, 2,
			 "of step_own_ns, without steps of time_own_ns, while Python's garbage collector ran, in this thread or another "
			 "one meanwhile; empty = the log does not say"},
	[TIME_OWN] = {"time_own_ns", "in all", TABLE_INTEGER, UNIT_NS, 1,
		       "wall time of the whole run as far as it was looked at, in it and in the libraries that it called, running or "
		       "waiting"},
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

static void add_row(struct table *table, const struct python_looks *looks, size_t number, bool knows_collecting)
{
	const struct look_line *line = &looks->list[number];
	uint64_t judged = python_looks_whole(looks);

	table_row(table);
	python_lines_put(&looks->lines, number, table, FUNCTION);
	if (judged)
		table_real(table, OWN_PERCENT, 100.0 * (double)python_looks_judged(looks, &line->own) / (double)judged);
	put_sums(table, looks, &line->own, STEP_OWN, TIME_OWN, CPU_OWN);
	table_integer(table, OWN_ERROR, (int64_t)(python_looks_error(looks, &line->own) + 0.5));
	if (looks->has_steps)
		table_integer(table, OTHER_OWN, (int64_t)line->own.other_ns);
	put_sums(table, looks, &line->self, STEP_SELF, TIME_SELF, CPU_SELF);
	put_sums(table, looks, &line->total, STEP_TOTAL, TIME_TOTAL, CPU_TOTAL);
	if (knows_collecting)
		table_integer(table, COLLECTING, (int64_t)python_looks_judged_collecting(looks, &line->own));
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

static void add_rows(struct table *table, struct python_looks *looks, bool knows_collecting)
{
	size_t *order = base_alloc(looks->lines.count + 1, sizeof(*order));

	for (size_t i = 0; i < looks->lines.count; i++)
		order[i] = i;
	qsort_r(order, looks->lines.count, sizeof(*order), compare, looks);
	for (size_t i = 0; i < looks->lines.count; i++)
		add_row(table, looks, order[i], knows_collecting);
	free(order);
	table_sort(table, OWN_PERCENT, false);
}

static void fill(struct table *table, const struct request *request)
{
	struct python_looks looks;

	python_looks_gather(&looks, request);
	add_rows(table, &looks, python_looks_know_collecting(request));
	python_looks_notes(table, request, &looks);
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

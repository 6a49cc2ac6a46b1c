/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_time: which functions of native code (C, C++, Rust, ...) processor time goes into, and what threads wait in.
 *
 * Rule: a row is a function of a module. `own` is where it was the innermost function outside of the C library and the language's
 * runtime, `self` where it was the innermost of all, `total` where it was anywhere on the stack. All by looks of tfprof's thread:
 * estimates, which a note gives the error of.
 */
#include "reducer/tables/native_looks.h"
#include "reducer/tables/notes.h"

#include <stdlib.h>

enum {
	FUNCTION,
	MODULE,
	FILE_NAME,
	LINE,
	CPU_PERCENT,
	CPU_OWN,
	CPU_ERROR,
	CPU_SELF,
	CPU_TOTAL,
	STEP_CPU_OWN,
	STEP_CPU_SELF,
	STEP_CPU_TOTAL,
	WAIT_OWN,
	WAIT_SELF,
	WAIT_TOTAL,
	STEP_WAIT_OWN,
	STEP_WAIT_TOTAL,
	WAITS_IN,
	LOOKS,
	THREADS,
	PROCESSES,
	COLUMNS
};

#define WAIT_HELP "that threads whose waiting counts waited, or were not given a processor, "
static const struct table_column columns[] = {
	[FUNCTION] = {"function", "function", TABLE_TEXT, UNIT_NONE, 0,
		      "demangled; ~NAME: without a name, behind that one; the others without one are one of each module"},
	[MODULE] = {"module", "module", TABLE_TEXT, UNIT_NONE, 0, "the program or library that holds it"},
	[FILE_NAME] = {"file", "file", TABLE_TEXT, UNIT_NONE, 3, "its source file, from debug information"},
	[LINE] = {"line", "line", TABLE_INTEGER, UNIT_NONE, 3, "in that file: at which most of its time was seen, itself or in a call"},
	[CPU_PERCENT] = {"cpu_percent", "%", TABLE_REAL, UNIT_NONE, 0,
			  "of all processor time seen (within steps; without steps of all), in it and in what it called of the C library "
			  "and the language's runtime"},
	[CPU_OWN] = {"cpu_own_ns", "processor", TABLE_INTEGER, UNIT_NS, 0,
		      "processor time of all threads, in it and in what it called of the C library and the language's runtime"},
	[CPU_ERROR] = {"cpu_error_ns", "+-", TABLE_INTEGER, UNIT_NS, 2,
			"standard error of step_cpu_own_ns, without steps of cpu_own_ns: the root of the summed squares of what each "
			"sample stands for"},
	[CPU_SELF] = {"cpu_self_ns", "itself", TABLE_INTEGER, UNIT_NS, 2, "the same where it was the innermost function of all"},
	[CPU_TOTAL] = {"cpu_total_ns", "with callees", TABLE_INTEGER, UNIT_NS, 1,
			"the same, with all that it called; a recursive function counts once a stack"},
	[STEP_CPU_OWN] = {"step_cpu_own_ns", "in steps", TABLE_INTEGER, UNIT_NS, 2, "cpu_own_ns within steps; empty = there are no steps"},
	[STEP_CPU_SELF] = {"step_cpu_self_ns", "itself", TABLE_INTEGER, UNIT_NS, 3, "cpu_self_ns within steps"},
	[STEP_CPU_TOTAL] = {"step_cpu_total_ns", "with callees", TABLE_INTEGER, UNIT_NS, 3, "cpu_total_ns within steps"},
	[WAIT_OWN] = {"wait_own_ns", "waited", TABLE_INTEGER, UNIT_NS, 0,
		       WAIT_HELP "in it and in what it called of the C library and the language's runtime"},
	[WAIT_SELF] = {"wait_self_ns", "itself", TABLE_INTEGER, UNIT_NS, 3, WAIT_HELP "where it was the innermost function of all"},
	[WAIT_TOTAL] = {"wait_total_ns", "with callees", TABLE_INTEGER, UNIT_NS, 2, WAIT_HELP "with all that it called"},
	[STEP_WAIT_OWN] = {"step_wait_own_ns", "in steps", TABLE_INTEGER, UNIT_NS, 2, "wait_own_ns within steps"},
	[STEP_WAIT_TOTAL] = {"step_wait_total_ns", "with callees", TABLE_INTEGER, UNIT_NS, 3, "wait_total_ns within steps"},
	[WAITS_IN] = {"waits_in", "waits in", TABLE_TEXT, UNIT_NONE, 0,
		       "what most of wait_total_ns was, by the system call: lock (futex), sleep, poll, read, write, recv, send, accept, "
		       "connect, child, sync, ...; page or processor = in none: a page was fetched, or no processor given; other"},
	[LOOKS] = {"looks", "looks", TABLE_INTEGER, UNIT_COUNT, 2, "that found it, of threads that ran or whose waiting counts"},
	[THREADS] = {"threads", "threads", TABLE_INTEGER, UNIT_COUNT, 2, "in which it was found"},
	[PROCESSES] = {"processes", "processes", TABLE_INTEGER, UNIT_COUNT, 3, "how many processes ran it"},
};

static void put_place(struct table *table, const struct native_looks *looks, size_t number)
{
	const struct python_line_name *name = &looks->names.list[number];
	size_t line = looks->list[number].line;

	table_string(table, FUNCTION, name->function);
	table_string(table, MODULE, name->file[0] ? name->file : NULL);
	if (line == SIZE_MAX)
		return;
	table_string(table, FILE_NAME, looks->lines.list[line].file);
	table_integer(table, LINE, looks->lines.list[line].line);
}

static void put_steps(struct table *table, const struct native_function *function)
{
	table_integer(table, STEP_CPU_OWN, (int64_t)function->own.step_cpu_ns);
	table_integer(table, STEP_CPU_SELF, (int64_t)function->self.step_cpu_ns);
	table_integer(table, STEP_CPU_TOTAL, (int64_t)function->total.step_cpu_ns);
	table_integer(table, STEP_WAIT_OWN, (int64_t)function->own.step_wait_ns);
	table_integer(table, STEP_WAIT_TOTAL, (int64_t)function->total.step_wait_ns);
}

static void add_row(struct table *table, const struct native_looks *looks, size_t number)
{
	const struct native_function *function = &looks->list[number];
	uint64_t judged = native_looks_judged(looks, &looks->all);

	table_row(table);
	put_place(table, looks, number);
	if (judged)
		table_real(table, CPU_PERCENT, 100.0 * (double)native_looks_judged(looks, &function->own) / (double)judged);
	if (looks->has_cpu) {
		table_integer(table, CPU_OWN, (int64_t)function->own.cpu_ns);
		table_integer(table, CPU_ERROR, (int64_t)(native_looks_error(looks, &function->own) + 0.5));
		table_integer(table, CPU_SELF, (int64_t)function->self.cpu_ns);
		table_integer(table, CPU_TOTAL, (int64_t)function->total.cpu_ns);
	}
	if (looks->has_steps)
		put_steps(table, function);
	table_integer(table, WAIT_OWN, (int64_t)function->own.wait_ns);
	table_integer(table, WAIT_SELF, (int64_t)function->self.wait_ns);
	table_integer(table, WAIT_TOTAL, (int64_t)function->total.wait_ns);
	table_string(table, WAITS_IN, native_looks_waits_in(function->waits));
	table_integer(table, LOOKS, (int64_t)function->total.looks);
	table_integer(table, THREADS, function->threads);
	table_integer(table, PROCESSES, function->processes);
}

/* What the table's own order leaves alike stays in this one: by own time, waiting, then what was called. */
static int compare(const void *a, const void *b, void *context)
{
	const struct native_looks *looks = context;
	size_t one = *(const size_t *)a, other = *(const size_t *)b;
	const struct native_function *x = &looks->list[one], *y = &looks->list[other];
	const uint64_t keys[][2] = {
		{native_looks_judged(looks, &x->own), native_looks_judged(looks, &y->own)},
		{x->own.wait_ns, y->own.wait_ns},
		{native_looks_judged(looks, &x->total), native_looks_judged(looks, &y->total)},
		{x->total.wait_ns, y->total.wait_ns},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] > keys[i][1] ? -1 : 1;
	return one < other ? -1 : one > other;
}

static void fill(struct table *table, const struct request *request)
{
	struct native_looks looks;
	size_t *order;

	native_looks_gather(&looks, request, false);
	order = base_alloc(looks.names.count + 1, sizeof(*order));
	for (size_t i = 0; i < looks.names.count; i++)
		order[i] = i;
	qsort_r(order, looks.names.count, sizeof(*order), compare, &looks);
	for (size_t i = 0; i < looks.names.count; i++)
		add_row(table, &looks, order[i]);
	free(order);
	native_looks_notes(table, request, &looks);
	native_looks_free(&looks);
	notes_recording(table, request);
}

static const struct analysis_kind *const needs[] = {&analysis_steps, NULL};
const struct table_kind table_native_time = {
	.id = "native_time",
	.title = "Time by native function",
	.help = "Which functions of native code (C, C++, Rust, ...) processor time goes into, and what threads wait for, within steps "
		"and in all: each by itself, with the C library and runtime that it called, and with all that it called.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_THREAD | FILTER_WINDOW | FILTER_STEP,
	.text_rows = 25,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill,
};

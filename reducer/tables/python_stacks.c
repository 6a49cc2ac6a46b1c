/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_stacks: which call stacks of Python the time goes into: what python_time adds up by line, for flame graphs.
 *
 * Rule: the same stack in several processes is one row.
 */
#include "reducer/tables/notes.h"
#include "reducer/tables/python_looks.h"
#include "reducer/tables/stack_rows.h"

#include <stdlib.h>

enum { TIME, STEP, OTHER, CPU, LOOKS, PROCESSES, STACK, COLUMNS };

static const struct table_column columns[] = {
	[TIME] = {"time_ns", "in all", TABLE_INTEGER, UNIT_NS, 0, "wall time of the whole run, running or waiting", "wall"},
	[STEP] = {"step_ns", "in steps", TABLE_INTEGER, UNIT_NS, 0, "wall time within steps; empty = there are no steps", "step"},
	[OTHER] = {"other_ns", "in no op", TABLE_INTEGER, UNIT_NS, 0,
		   "of this while nothing else was recorded to go on, no op, call or work of a device: the part 'other' of the steps",
		   "other"},
	[CPU] = {"cpu_ns", "processor", TABLE_INTEGER, UNIT_NS, 0, "processor time of all threads that Python knows", "cpu"},
	[LOOKS] = {"looks", "looks", TABLE_INTEGER, UNIT_COUNT, 2, "that found it on a thread whose wall time counts", "looks"},
	[PROCESSES] = {"processes", "processes", TABLE_INTEGER, UNIT_COUNT, 3, "in which it was seen"},
	[STACK] = {"stack", "stack", TABLE_STACK, UNIT_NONE, 0,
		   "Python functions, innermost first; in csv joined by ';', outermost first"},
};

struct row {
	uint32_t processes;
	struct look_sums sums;
};

struct rows {
	struct stack_rows stacks;
	struct row *list; /* by number of `stacks` */
	size_t room;
};

static void take_stack(void *context, size_t process, uint32_t stack, const struct look_sums *sums)
{
	struct rows *rows = context;
	size_t before = rows->stacks.count, number = stack_rows_number(&rows->stacks, process, stack);

	rows->list = base_grow(rows->list, &rows->room, rows->stacks.count, sizeof(*rows->list));
	if (number == before)
		rows->list[number] = (struct row){0};
	rows->list[number].processes++;
	python_looks_add(&rows->list[number].sums, sums);
}

static void add_row(struct table *table, const struct row *row, const struct stack_row *stack, bool has_steps)
{
	table_row(table);
	table_integer(table, TIME, (int64_t)row->sums.time_ns);
	if (has_steps) {
		table_integer(table, STEP, (int64_t)row->sums.step_ns);
		table_integer(table, OTHER, (int64_t)row->sums.other_ns);
	}
	table_integer(table, CPU, (int64_t)row->sums.cpu_ns);
	table_integer(table, LOOKS, (int64_t)row->sums.looks);
	table_integer(table, PROCESSES, row->processes);
	table_stack(table, STACK, stack->process, stack->stack);
}

static void fill(struct table *table, const struct request *request)
{
	struct rows rows = {.stacks = {.frames = request->frames}};
	struct python_looks looks = {0};

	python_looks_stacks(&looks, request, take_stack, &rows);
	for (size_t i = 0; i < rows.stacks.count; i++)
		add_row(table, &rows.list[i], &rows.stacks.list[i], looks.has_steps);
	table_sort(table, looks.has_steps ? STEP : TIME, false);
	python_looks_notes(table, request, &looks);
	stack_rows_free(&rows.stacks);
	free(rows.list);
	notes_recording(table, request);
}

static const struct analysis_kind *const needs[] = {&analysis_steps, NULL};
const struct table_kind table_python_stacks = {
	.id = "python_stacks",
	.title = "Time by call stack of Python",
	.help = "Which call stacks of Python the time goes into, within steps and in all: for flame graphs (-f folded --value=step, "
		"-f pprof).",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_THREAD | FILTER_WINDOW | FILTER_STEP,
	.text_rows = 15,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill,
};

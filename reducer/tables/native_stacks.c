/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_stacks: which call stacks of native code processor time goes into and threads wait in: what native_time adds up by function, for
 * flame graphs.
 *
 * Rule: the same stack in several threads and processes is one row.
 */
#include "reducer/tables/native_looks.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/stack_rows.h"

#include "reducer/base/index.h"

#include <stdlib.h>

enum { CPU, STEP_CPU, WAIT, STEP_WAIT, WAITS_IN, LOOKS, THREADS, PROCESSES, STACK, COLUMNS };

static const struct table_column columns[] = {
	[CPU] = {"cpu_ns", "processor", TABLE_INTEGER, UNIT_NS, 0, "processor time of all threads", "cpu"},
	[STEP_CPU] = {"step_cpu_ns", "in steps", TABLE_INTEGER, UNIT_NS, 0, "of this within steps; empty = there are no steps", "step"},
	[WAIT] = {"wait_ns", "waited", TABLE_INTEGER, UNIT_NS, 0,
		   "that threads whose waiting counts waited, or were not given a processor", "wait"},
	[STEP_WAIT] = {"step_wait_ns", "waited in steps", TABLE_INTEGER, UNIT_NS, 0, "of this within steps", "step_wait"},
	[WAITS_IN] = {"waits_in", "waits in", TABLE_TEXT, UNIT_NONE, 0, "what most of wait_ns was: as native_time has it"},
	[LOOKS] = {"looks", "looks", TABLE_INTEGER, UNIT_COUNT, 2, "that found it, of threads that ran or whose waiting counts", "looks"},
	[THREADS] = {"threads", "threads", TABLE_INTEGER, UNIT_COUNT, 2, "in which it was found"},
	[PROCESSES] = {"processes", "processes", TABLE_INTEGER, UNIT_COUNT, 3, "in which it was seen"},
	[STACK] = {"stack", "stack", TABLE_STACK, UNIT_NONE, 0, "functions, innermost first; in csv joined by ';', outermost first"},
};

struct rows {
	struct stack_rows stacks;
	struct native_function *list; /* by number of `stacks`; their sums are `total` */
	size_t room;
};

static struct native_function *row_of(struct rows *rows, size_t process, uint32_t stack)
{
	size_t before = rows->stacks.count, number = stack_rows_number(&rows->stacks, process, stack);

	rows->list = base_grow(rows->list, &rows->room, rows->stacks.count, sizeof(*rows->list));
	if (number == before)
		rows->list[number] = (struct native_function){0};
	return &rows->list[number];
}

static void take_stack(void *context, size_t process, const struct native_seen *seen)
{
	struct rows *rows = context;

	if (!frames_identity(rows->stacks.frames, process, seen->stack))
		return;
	struct native_function *row = row_of(rows, process, seen->stack);
	uint64_t thread = ((uint64_t)process << 32 | seen->thread) + 1;
	native_looks_add(&row->total, &seen->sums);
	if (seen->kind < WAIT_KINDS)
		row->waits[seen->kind] += seen->sums.wait_ns;
	row->processes += row->process != process + 1;
	row->process = process + 1;
	row->threads += row->thread != thread;
	row->thread = thread;
}

static void add_row(struct table *table, const struct native_function *row, const struct stack_row *stack, const struct native_looks *looks)
{
	table_row(table);
	if (looks->has_cpu)
		table_integer(table, CPU, (int64_t)row->total.cpu_ns);
	if (looks->has_steps) {
		table_integer(table, STEP_CPU, (int64_t)row->total.step_cpu_ns);
		table_integer(table, STEP_WAIT, (int64_t)row->total.step_wait_ns);
	}
	table_integer(table, WAIT, (int64_t)row->total.wait_ns);
	table_string(table, WAITS_IN, native_looks_waits_in(row->waits));
	table_integer(table, LOOKS, (int64_t)row->total.looks);
	table_integer(table, THREADS, row->threads);
	table_integer(table, PROCESSES, row->processes);
	table_stack(table, STACK, stack->process, stack->stack);
}

static void fill(struct table *table, const struct request *request)
{
	struct rows rows = {.stacks = {.frames = request->frames}};
	struct native_looks looks = {0};

	native_looks_stacks(&looks, request, take_stack, &rows);
	for (size_t i = 0; i < rows.stacks.count; i++)
		add_row(table, &rows.list[i], &rows.stacks.list[i], &looks);
	table_sort(table, looks.has_steps ? STEP_CPU : looks.has_cpu ? CPU : WAIT, false);
	native_looks_notes(table, request, &looks);
	stack_rows_free(&rows.stacks);
	free(rows.list);
	notes_recording(table, request);
}

static const struct analysis_kind *const needs[] = {&analysis_steps, NULL};
const struct table_kind table_native_stacks = {
	.id = "native_stacks",
	.title = "Time by call stack of native code",
	.help = "Which call stacks of native code processor time goes into, and which threads wait in, within steps and in all: for flame "
		"graphs (-f folded --value=cpu or --value=wait, -f pprof).",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_THREAD | FILTER_WINDOW | FILTER_STEP,
	.text_rows = 15,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_stacks: which call stacks of native code processor time goes into and threads wait in: what native_time adds up by function, for
 * flame graphs.
 *
 * Rule: the same stack in several threads and processes is one row.
 */
#include "reducer/tables/native_looks.h"
#include "reducer/tables/notes.h"

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

struct row {
	uint64_t identity;
	uint32_t process, stack;
	struct native_function seen; /* its sums are `total` */
};

struct rows {
	struct frames *frames;
	struct row *list;
	size_t count, room;
	struct base_index index;
};

static bool row_equal(const void *context, const void *key, uint32_t number)
{
	return ((const struct rows *)context)->list[number].identity == *(const uint64_t *)key;
}

static struct row *row_of(struct rows *rows, size_t process, uint32_t stack)
{
	uint64_t identity = frames_identity(rows->frames, process, stack), hash = base_mix(identity);
	uint32_t number = base_index_find(&rows->index, hash, row_equal, rows, &identity);

	if (number == UINT32_MAX) {
		rows->list = base_grow(rows->list, &rows->room, rows->count + 1, sizeof(*rows->list));
		number = (uint32_t)rows->count++;
		rows->list[number] = (struct row){.identity = identity, .process = (uint32_t)process, .stack = stack};
		base_index_add(&rows->index, hash, number);
	}
	return &rows->list[number];
}

static void take_stack(void *context, size_t process, const struct native_seen *seen)
{
	struct rows *rows = context;

	if (!frames_identity(rows->frames, process, seen->stack))
		return;
	struct native_function *row = &row_of(rows, process, seen->stack)->seen;
	uint64_t thread = ((uint64_t)process << 32 | seen->thread) + 1;
	native_looks_add(&row->total, &seen->sums);
	if (seen->kind < WAIT_KINDS)
		row->waits[seen->kind] += seen->sums.wait_ns;
	row->processes += row->process != process + 1;
	row->process = process + 1;
	row->threads += row->thread != thread;
	row->thread = thread;
}

static void add_row(struct table *table, const struct row *row, const struct native_looks *looks)
{
	table_row(table);
	if (looks->has_cpu)
		table_integer(table, CPU, (int64_t)row->seen.total.cpu_ns);
	if (looks->has_steps) {
		table_integer(table, STEP_CPU, (int64_t)row->seen.total.step_cpu_ns);
		table_integer(table, STEP_WAIT, (int64_t)row->seen.total.step_wait_ns);
	}
	table_integer(table, WAIT, (int64_t)row->seen.total.wait_ns);
	table_string(table, WAITS_IN, native_looks_waits_in(row->seen.waits));
	table_integer(table, LOOKS, (int64_t)row->seen.total.looks);
	table_integer(table, THREADS, row->seen.threads);
	table_integer(table, PROCESSES, row->seen.processes);
	table_stack(table, STACK, row->process, row->stack);
}

static void fill(struct table *table, const struct request *request)
{
	struct rows rows = {.frames = request->frames};
	struct native_looks looks = {0};

	native_looks_stacks(&looks, request, take_stack, &rows);
	for (size_t i = 0; i < rows.count; i++)
		add_row(table, &rows.list[i], &looks);
	table_sort(table, looks.has_steps ? STEP_CPU : looks.has_cpu ? CPU : WAIT, false);
	native_looks_notes(table, request, &looks);
	base_index_free(&rows.index);
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

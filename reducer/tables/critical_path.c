/* SPDX-License-Identifier: Apache-2.0 */
/*
 * critical_path: what a step's length hangs on, from its start to its end: nothing else makes it shorter.
 *
 * Rule: of some usual steps the way back from the end, over what each thing waited for last
 * (reducer/analysis/replay.h). The rows of a process sum to its step.
 */
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/process_cells.h"
#include "reducer/tables/replay_rows.h"

enum { PROCESS, PART, NAME, OP, COUNT, TIME, SHARE, ALL, MACHINE, MEMBER, COLUMNS };

static const struct table_column columns[] = {
	[PROCESS] = {"process", "process", TABLE_INTEGER, UNIT_NONE, 1, "pid"},
	[PART] = {"part", "part", TABLE_TEXT, UNIT_NONE, 0,
		  "kernel, copy, set, graph; host: between two calls, Python or the framework; input wait: of that; call: in one that "
		  "waits for nothing; launch delay: from a call until its work begins on a free device; queue delay: between works of a "
		  "stream; host wakes: from a work's end until the call that waited for it returns; unexplained delay: of work that "
		  "began late"},
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 0, "of the work or call; empty = host or delay between works"},
	[OP] = {"op", "op", TABLE_TEXT, UNIT_NONE, 0,
		"innermost op of the thread (in none: range) when the call was made that this is, that started it or came next"},
	[COUNT] = {"occurrences", "occurs", TABLE_REAL, UNIT_COUNT, 0, "pieces of the way, a step"},
	[TIME] = {"step_ns", "a step", TABLE_INTEGER, UNIT_NS, 0, "inferred: its part of the step's length, a step"},
	[SHARE] = {"share", "share", TABLE_REAL, UNIT_RATIO, 0, "inferred: of the step's length"},
	[ALL] = {"all_ns", "in all", TABLE_INTEGER, UNIT_NS, 0,
		 "what device work of that name and op takes a step, on the way or hidden behind it; empty = no device work"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static void put_row(struct table *table, const struct process *process, const struct replay *replay,
		    const struct replay_process *replayed, const struct replay_step *row)
{
	double steps = (double)replayed->steps;

	table_row(table);
	table_process(table, PROCESS, MACHINE, process);
	table_string(table, PART, replay_part_name(row->part));
	gpu_put_linker_name(table, NAME, replay->words.items[row->name]);
	gpu_put_linker_name(table, OP, replay->words.items[row->op]);
	table_real(table, COUNT, (double)row->count / steps);
	replay_put_ns(table, TIME, row->ns / steps);
	table_real(table, SHARE, row->ns / replayed->model_ns);
	if (row->part >= REPLAY_KERNEL && row->part <= REPLAY_GRAPH)
		replay_put_ns(table, ALL, row->all_ns / steps);
}

static void put_rows(struct table *table, const struct process *process, const struct replay *replay,
		     const struct replay_process *replayed)
{
	for (size_t i = 0; i < replayed->path_count; i++)
		put_row(table, process, replay, replayed, &replayed->path[i]);
}

static void fill(struct table *table, const struct request *request)
{
	replay_fill(table, request, put_rows, TIME);
}

static const struct analysis_kind *const needs[] = {&analysis_replay, NULL};
const struct table_kind table_critical_path = {
	.id = "critical_path",
	.title = "Critical path",
	.help = "What a step's length hangs on: the chain of host code, calls, delays, kernels and copies from its start to its end. What "
		"is not on it is hidden behind it, and makes no step shorter.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_WINDOW | FILTER_PROCESS | FILTER_STEP,
	.text_rows = 20,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * what_if: how long a step would take if one thing took half of its time, or none.
 *
 * Rule: inferred, by replaying some usual steps with that one change (reducer/analysis/replay.h); all else keeps its duration and its
 * order. A gain below what the model misses is none.
 */
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/process_cells.h"
#include "reducer/tables/replay_rows.h"

enum { PROCESS, WHAT, NAME, TAKES, STEP, HALF, HALF_SAVES, NONE, NONE_SAVES, ERROR, MACHINE, MEMBER, COLUMNS };

static const struct table_column columns[] = {
	[PROCESS] = {"process", "process", TABLE_INTEGER, UNIT_NONE, 1, "pid"},
	[WHAT] = {"what", "if", TABLE_TEXT, UNIT_NONE, 0,
		  "what is changed: a kernel, copy, set or graph by its name; op: the device work of that op (in none: of that range); "
		  "device: all work of devices (what is left is the host's part); collectives; host code: Python and the framework between "
		  "two calls, as far as it lies on the critical path, in all or before calls in that op or range; input waits: of the "
		  "steps' thread; calls: those that do not wait (about what a CUDA graph saves); waits: for devices, as if the host ran "
		  "ahead"},
	[NAME] = {"name", "of", TABLE_TEXT, UNIT_NONE, 0, "kernel, copy, op or range; empty = all"},
	[TAKES] = {"takes_ns", "takes", TABLE_INTEGER, UNIT_NS, 0,
		   "a step, on all streams and threads, at the same time or not; host code: on the critical path"},
	[STEP] = {"step_ns", "step", TABLE_INTEGER, UNIT_NS, 1, "how long a step takes as it is"},
	[HALF] = {"half_step_ns", "at half", TABLE_INTEGER, UNIT_NS, 0, "inferred: a step's length if it took half of its time"},
	[HALF_SAVES] = {"half_saves", "half saves", TABLE_REAL, UNIT_RATIO, 0, "inferred: of the step's length"},
	[NONE] = {"none_step_ns", "at none", TABLE_INTEGER, UNIT_NS, 0,
		  "inferred: a step's length if it took no time: the most there is to gain"},
	[NONE_SAVES] = {"none_saves", "none saves", TABLE_REAL, UNIT_RATIO, 0, "inferred: of the step's length"},
	[ERROR] = {"error", "error", TABLE_REAL, UNIT_RATIO, 2, "of the model: by how much usual delays miss the measured steps"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static const char *what_name(const struct replay_change *change)
{
	return change->what == REPLAY_WORK_NAME ? replay_part_name(change->part) : replay_what_name(change->what);
}

static void put_length(struct table *table, size_t column, const struct replay_process *replayed, double ns)
{
	replay_put_ns(table, column, ns / (double)replayed->steps);
	table_real(table, column + 1, 1 - ns / replayed->model_ns);
}

static void put_row(struct table *table, const struct process *process, const struct replay *replay,
		    const struct replay_process *replayed, const struct replay_change *change)
{
	double steps = (double)replayed->steps;

	table_row(table);
	table_process(table, PROCESS, MACHINE, process);
	table_string(table, WHAT, what_name(change));
	gpu_put_linker_name(table, NAME, replay->words.items[change->name]);
	replay_put_ns(table, TAKES, change->all_ns / steps);
	replay_put_ns(table, STEP, replayed->model_ns / steps);
	if (change->what != REPLAY_ALL_WAITS) /* a wait is over when the device is */
		put_length(table, HALF, replayed, change->half_ns);
	put_length(table, NONE, replayed, change->none_ns);
	table_real(table, ERROR, replay_error(replayed));
}

static void put_rows(struct table *table, const struct process *process, const struct replay *replay,
		     const struct replay_process *replayed)
{
	for (size_t i = 0; i < replayed->change_count; i++)
		put_row(table, process, replay, replayed, &replayed->changes[i]);
}

static void fill(struct table *table, const struct request *request)
{
	replay_fill(table, request, put_rows, NONE_SAVES);
}

static const struct analysis_kind *const needs[] = {&analysis_replay, NULL};
const struct table_kind table_what_if = {
	.id = "what_if",
	.title = "What if",
	.help = "How long a step would take if one kernel, op, copy, the host, its calls or its waits took half of their time, or none: "
		"what is worth making faster, and by how much at most.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_WINDOW | FILTER_PROCESS | FILTER_STEP,
	.text_rows = 24,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill,
};

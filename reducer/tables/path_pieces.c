/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_pieces: the critical path piece by piece, in the order in which it was gone: what the page Trace draws.
 *
 * Rule: the times are those that were measured; that one piece had to wait for the one before it is inferred (reducer/analysis/replay.h).
 */
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/process_cells.h"
#include "reducer/tables/replay_rows.h"

enum { PROCESS, START, DURATION, PART, NAME, OP, THREAD, DEVICE, STREAM, MACHINE, MEMBER, COLUMNS };

static const struct table_column columns[] = {
	[PROCESS] = {"process", "process", TABLE_INTEGER, UNIT_NONE, 1, "pid"},
	[START] = {"start_ns", "start", TABLE_INTEGER, UNIT_NS, 0, "from the start of the run"},
	[DURATION] = {"duration_ns", "duration", TABLE_INTEGER, UNIT_NS, 0, "until the next piece begins"},
	[PART] = {"part", "part", TABLE_TEXT, UNIT_NONE, 0, "inferred: as in critical_path"},
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 0, "of the work or call; empty = host or delay between works"},
	[OP] = {"op", "op", TABLE_TEXT, UNIT_NONE, 1, "as in critical_path"},
	[THREAD] = {"thread", "thread", TABLE_INTEGER, UNIT_NONE, 1, "kernel thread id of the host's pieces"},
	[DEVICE] = {"device", "device", TABLE_INTEGER, UNIT_NONE, 1, "CUDA ordinal, of device work and what delays it"},
	[STREAM] = {"stream", "stream", TABLE_INTEGER, UNIT_NONE, 1, "CUPTI's stream id"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static void put_row(struct table *table, const struct process *process, const struct replay *replay, const struct replay_piece *piece)
{
	const struct gpu *gpu = process->gpu;

	table_row(table);
	table_process(table, PROCESS, MACHINE, process);
	table_integer(table, START, piece->start_ns);
	table_integer(table, DURATION, (int64_t)piece->duration_ns);
	table_string(table, PART, replay_part_name(piece->part));
	gpu_put_linker_name(table, NAME, replay->words.items[piece->name]);
	gpu_put_linker_name(table, OP, replay->words.items[piece->op]);
	if (!piece->is_on_queue) {
		gpu_put_thread(table, THREAD, process, piece->track);
	} else if (piece->track < gpu->queue_count) {
		gpu_put_device(table, DEVICE, gpu->queues[piece->track].device);
		table_integer(table, STREAM, gpu->queues[piece->track].stream);
	}
}

static void put_rows(struct table *table, const struct process *process, const struct replay *replay,
		     const struct replay_process *replayed)
{
	for (size_t i = replayed->piece_count; i-- > 0;)
		put_row(table, process, replay, &replayed->pieces[i]);
	if (replayed->piece_count == REPLAY_PIECES_MOST)
		table_note(table, NOTE_INFO, "Process %s: of its steps' way the last %u pieces.", process->called, REPLAY_PIECES_MOST);
}

static void fill(struct table *table, const struct request *request)
{
	replay_fill(table, request, put_rows, SIZE_MAX);
}

static const struct analysis_kind *const needs[] = {&analysis_replay, NULL};
const struct table_kind table_path_pieces = {
	.id = "path_pieces",
	.title = "Critical path, piece by piece",
	.help = "The steps that critical_path sums up, from their start to their end: which kernel, call, delay or stretch of host code "
		"the next one had to wait for. The page Trace of the HTML report draws it.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_WINDOW | FILTER_PROCESS | FILTER_STEP,
	.text_rows = 20,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill,
};

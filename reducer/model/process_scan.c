/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the pass over the records takes of the process itself: clock, windows, threads that ended, losses. See scan.h.
 *
 * Rule: fills in what the other subjects read when they finish, so it stands first in the list.
 */
#include "reducer/model/clock.h"
#include "reducer/model/scan.h"

#include <stdlib.h>

struct taken {
	struct scan *scan;
	struct thread_list ended;
};

static void take_clock(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;

	(void)stream;
	clock_add(taken->scan->process->clock, batch_value(batch, i, fields[0]), batch_value(batch, i, fields[1]));
}

static void take_window(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;
	struct process *process = taken->scan->process;
	struct window *windows = model_room(process->windows, process->window_count, sizeof *windows);

	(void)stream;
	if (windows == NULL)
		return;
	process->windows = windows;
	windows[process->window_count] = (struct window){
		.time_ns = (int64_t)batch->times[i], .is_open = batch_value(batch, i, fields[0]) != 0,
		.cause = (unsigned)batch_value(batch, i, fields[1]), .index = (unsigned)batch_value(batch, i, fields[2]),
		.live_bytes = batch_value(batch, i, fields[3]), .number = batch_value(batch, i, fields[4])};
	process->window_count++;
}

static void take_thread_end(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;
	struct thread_list *ended = &taken->ended;
	struct thread *threads = model_room(ended->threads, ended->thread_count, sizeof *threads);

	(void)stream;
	if (threads == NULL)
		return;
	ended->threads = threads;
	threads[ended->thread_count++] = (struct thread){
		.serial = (uint32_t)batch_value(batch, i, fields[0]), .tid = (uint32_t)batch_value(batch, i, fields[1]), .has_ended = 1,
		.start_ns = (int64_t)batch_value(batch, i, fields[2]), .end_ns = (int64_t)batch_value(batch, i, fields[3]),
		.allocations = batch_value(batch, i, fields[4]), .frees = batch_value(batch, i, fields[5]),
		.requested_bytes = batch_value(batch, i, fields[6]), .allocated_bytes = batch_value(batch, i, fields[7]),
		.freed_bytes = batch_value(batch, i, fields[8]), .maps = batch_value(batch, i, fields[9]),
		.unmaps = batch_value(batch, i, fields[10]), .mapped_bytes = batch_value(batch, i, fields[11]),
		.unmapped_bytes = batch_value(batch, i, fields[12]), .own_allocations = batch_value(batch, i, fields[13]),
		.own_bytes = batch_value(batch, i, fields[14])};
}

static void take_loss(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;
	struct thread_list *ended = &taken->ended;
	struct loss *losses = model_room(ended->losses, ended->loss_count, sizeof *losses);

	(void)stream;
	if (losses == NULL)
		return;
	ended->losses = losses;
	losses[ended->loss_count++] = (struct loss){
		.thread = (uint32_t)batch_value(batch, i, fields[0]), .kind = (uint8_t)batch_value(batch, i, fields[1]),
		.count = batch_value(batch, i, fields[2]), .first_ns = (int64_t)batch_value(batch, i, fields[3]),
		.last_ns = (int64_t)batch_value(batch, i, fields[4])};
}

static void take_nothing(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	(void)state, (void)stream, (void)batch, (void)i, (void)fields;
}

static const struct scan_record records[] = {
	{"clock", take_clock, NULL, {"ticks", "raw"}},
	{"window", take_window, NULL, {"is_open", "cause", "index", "live", "number"}},
	{"thread_end", take_thread_end, 0,
	 {"serial", "tid", "start", "end", "allocations", "frees", "requested", "allocated", "freed", "maps", "unmaps", "mapped",
	  "unmapped", "own_allocations", "own"}},
	{"loss", take_loss, NULL, {"serial", "kind", "count", "first", "last"}},
	{"fork", take_nothing, NULL, {NULL}},
	{"exec", take_nothing, NULL, {NULL}},
	{"spawn", take_nothing, NULL, {NULL}},
};

static void *begin(struct scan *scan)
{
	struct taken *taken = calloc(1, sizeof *taken);

	if (taken == NULL)
		return NULL;
	taken->scan = scan;
	return taken;
}

/* A thread's slot stands in the log before its first record: where it is not there, and zeros are, what the thread counted was lost. */
static void report_unslotted(const struct process *process)
{
	const struct log *log = process->log;
	size_t count = 0;

	if (log->hole_bytes == 0 || log->is_running || log->live.dropped_from != 0)
		return;
	for (size_t i = 0; i < log->stream_count; i++)
		if (log->streams[i].thread != 0 && (i == 0 || log->streams[i].thread != log->streams[i - 1].thread))
			count += process_thread(process, log->streams[i].thread) == NULL;
	if (count != 0)
		diag_add(log->diags, DIAG_DAMAGE, log->path, DIAG_NO_OFFSET, "use another copy of the file",
			 "%zu threads have records, but zeros stand where they counted", count);
}

static int finish(void *state)
{
	struct taken *taken = state;

	threads_build(taken->scan->process, &taken->ended);
	report_unslotted(taken->scan->process);
	return 0;
}

static void drop(void *state)
{
	struct taken *taken = state;

	if (taken == NULL)
		return;
	free(taken->ended.threads);
	free(taken->ended.losses);
	free(taken);
}

const struct scan_subject process_subject = {
	.records = records,
	.record_count = sizeof records / sizeof *records,
	.begin = begin,
	.finish = finish,
	.free = drop,
};

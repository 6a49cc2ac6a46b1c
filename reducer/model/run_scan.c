/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one pass over all events of a run, several processes at a time. See run.h.
 *
 * Rule: what a process's pass finds depends on its own log and on its ancestors alone, so that the answer is the same whoever
 * did it and when: it has readings of the clock and damage of its own, which are joined in the order of the processes.
 */
#include "reducer/model/gpu.h"
#include "reducer/model/losses.h"
#include "reducer/model/scan.h"
#include "reducer/model/steps_beside.h"
#include "reducer/model/steps_unseen.h"
#include "reducer/model/windows.h"

#include <stdlib.h>

/* What the pass over one process leaves to be joined. */
struct piece {
	struct clock_map clock;
	struct diag_list diags;
	int result;
};

struct pieces {
	struct run *run;
	const struct run_options *options;
	struct piece *all; /* by process */
};

/* Events that were given up or cannot be read: what follows from the others is too little. */
static void note_gaps(struct process *process, const struct piece *piece)
{
	int has_gaps = losses_of_events(process) || piece->diags.damage != 0 || diag_is_damaged(process->log->diags, process->log->path);

	for (size_t i = 0; i < process->account_count; i++)
		process->accounts[i].has_gaps |= has_gaps;
}

static void scan_piece(void *context, size_t at)
{
	struct pieces *pieces = context;
	struct piece *piece = &pieces->all[at];
	struct process *process = &pieces->run->processes[at];
	struct clock_map *clock = process->clock;
	struct diag_list *diags = process->log->diags;

	piece->result = clock_begin_own(&piece->clock, clock, &process->log->header);
	if (piece->result != 0)
		return;
	process->clock = &piece->clock;
	process->log->diags = &piece->diags;
	piece->result = process_scan(pieces->run, process, pieces->options);
	process->clock = clock;
	process->log->diags = diags;
	note_gaps(process, piece);
}

/* Processes by generation, for loaders are known by what their ancestors did: those of one are independent of each other. */
static void scan_generations(struct pieces *pieces, size_t *order, size_t *depth)
{
	struct run *run = pieces->run;
	size_t done = 0;

	for (size_t i = 0; i < run->process_count; i++) /* a parent stands before its children */
		depth[i] = run->processes[i].parent == PROCESS_NONE ? 0 : depth[run->processes[i].parent] + 1;
	for (size_t generation = 0; done < run->process_count; generation++) {
		size_t count = 0;

		for (size_t i = 0; i < run->process_count; i++)
			if (depth[i] == generation)
				order[count++] = i;
		run_each_of(run, order, count, scan_piece, pieces);
		done += count;
	}
}

static void join(struct run *run, struct piece *piece, size_t at)
{
	struct process *process = &run->processes[at];

	clock_join(process->clock, &piece->clock);
	clock_free(&piece->clock);
	diag_move(process->log->diags, &piece->diags);
}

static int scan_all(struct run *run, const struct run_options *options)
{
	struct pieces pieces = {.run = run, .options = options, .all = calloc(run->process_count + 1, sizeof *pieces.all)};
	size_t *numbers = calloc(2 * run->process_count + 1, sizeof *numbers);
	int result = pieces.all == NULL || numbers == NULL ? -1 : 0;

	if (result == 0)
		scan_generations(&pieces, numbers, numbers + run->process_count);
	for (size_t i = 0; i < run->process_count && result == 0; i++)
		join(run, &pieces.all[i], i);
	for (size_t i = 0; i < run->process_count && result == 0; i++)
		result = pieces.all[i].result;
	free(pieces.all);
	free(numbers);
	return result;
}

int run_scan(struct run *run, const struct run_options *options)
{
	struct run_storage *storage = run->private;
	int result;

	if (run->is_scanned)
		return 0;
	run->is_scanned = 1;
	storage->jobs = options != NULL ? options->jobs : 0;
	result = scan_all(run, options);
	for (size_t i = 0; i < storage->clock_count; i++)
		clock_settle(&storage->clocks[i]);
	run_set_times(run);
	for (size_t i = 0; i < run->process_count; i++) {
		times_scanned(&run->processes[i]);
		scan_times(&run->processes[i]);
		windows_make_ranges(run, &run->processes[i]);
		steps_unseen(&run->processes[i]);
	}
	steps_beside(run);
	gpu_name_devices(run);
	return result;
}

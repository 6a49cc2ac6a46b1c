/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run gives back: some of its processes, or all that it has. See run.h.
 */
#include "reducer/model/internal.h"
#include "reducer/model/scan.h"
#include "reducer/read/crew.h"

#include <stdlib.h>

static void close_account(struct account *account)
{
	timeline_free(&account->timeline);
	timeline_free(&account->reserved);
	free(account->sites);
	free(account->errors);
	free(account->histogram);
}

static void close_process(struct process *process)
{
	free(process->settings);
	free(process->setting_errors);
	free(process->hosts);
	free(process->environment);
	free(process->notes);
	free(process->frameworks);
	free(process->modules);
	free(process->arguments);
	free(process->threads);
	free(process->losses);
	free(process->windows);
	free(process->child_ends);
	free(process->ranges);
	free(process->steps);
	scan_close(process);
	close_account(&process->heap);
	close_account(&process->mmap);
	for (size_t i = 0; i < process->account_count; i++)
		close_account(&process->accounts[i]);
	free(process->accounts);
	log_close(process->log);
}

/* Where a process moved to; of one that is gone, or of none, none. */
static size_t moved_to(const size_t *places, size_t index)
{
	return index == PROCESS_NONE ? PROCESS_NONE : places[index];
}

void run_keep(struct run *run, bool (*is_wanted)(const void *context, const struct process *process), const void *context)
{
	size_t *places = calloc(run->process_count + 1, sizeof *places), kept = 0;

	if (places == NULL)
		return;
	run->whole_count = run->process_count;
	for (size_t i = 0; i < run->whole_count; i++) {
		struct process *process = &run->processes[i];

		places[i] = is_wanted(context, process) ? kept++ : PROCESS_NONE;
		if (places[i] == PROCESS_NONE) {
			((struct run_storage *)run->private)->all_bytes -= process->log->bytes;
			close_process(process);
			continue;
		}
		process->parent = moved_to(places, process->parent); /* which stands before its children */
		process->exec_before = moved_to(places, process->exec_before);
		run->processes[places[i]] = *process;
	}
	run->process_count = kept;
	run->whole_count = kept == run->whole_count ? 0 : run->whole_count;
	free(places);
	run_set_length(run);
}

void run_close(struct run *run)
{
	struct run_storage *storage;

	if (run == NULL)
		return;
	storage = run->private;
	for (size_t i = 0; i < run->process_count; i++)
		close_process(&run->processes[i]);
	for (size_t i = 0; storage != NULL && i < storage->clock_count; i++)
		clock_free(&storage->clocks[i]);
	if (storage != NULL) {
		crew_free(storage->crew);
		pthread_mutex_destroy(&storage->lock);
		free(storage->clocks);
		pool_free(&storage->pool);
	}
	free(storage);
	free(run->processes);
	free(run->others);
	free(run);
}

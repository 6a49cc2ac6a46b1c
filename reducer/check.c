/* SPDX-License-Identifier: Apache-2.0 */
/* Whether logs are whole, and agree with themselves. See check.h. */
#include "reducer/check.h"

#include "reducer/base/base.h"
#include "reducer/model/losses.h"
#include "reducer/model/windows.h"

#include <inttypes.h>

struct totals {
	uint64_t bytes, events, blocks, stacks;
};

/* The exact counters of the threads and the events were written independently: they must agree where nothing was lost. */
static void compare(const struct process *process, const char *what, uint64_t counted, uint64_t events)
{
	if (counted != events)
		diag_add(process->log->diags, DIAG_DAMAGE, process->path, DIAG_NO_OFFSET, "see -t losses for what was not recorded",
			 "%s: the counters of the threads say %" PRIu64 ", the events %" PRIu64, what, counted, events);
}

/* Events cover the whole life only without windows, without losses, and when the process is not running on. */
static int is_comparable(const struct process *process)
{
	return process->is_full && !process->log->is_running && process->log->live.dropped_from == 0 && windows_hold_all(process);
}

static void check_counters(const struct process *process)
{
	const struct account *heap = &process->heap, *map = &process->mmap;

	if (!is_comparable(process))
		return;
	if (!process_counters_agree(process, map)) {
		compare(process, "maps", map->allocations, map->event_allocations);
		compare(process, "unmaps", map->frees, map->event_frees);
	}
	if (process_counters_agree(process, heap))
		return;
	compare(process, "heap allocations", heap->allocations, heap->event_allocations);
	compare(process, "heap releases", heap->frees, heap->event_frees);
	compare(process, "heap bytes requested", heap->requested_bytes, heap->event_requested_bytes);
	compare(process, "heap bytes allocated", heap->allocated_bytes, heap->event_allocated_bytes);
}

static int is_there(const struct stacks *stacks, uint32_t stack)
{
	return stack == 0 || (stack < stacks->node_count && stacks->nodes[stack] != 0);
}

/* Every stack that a site names is in the log, and both of a pair. */
static void check_stacks(const struct process *process, const struct account *account, const struct stacks *stacks)
{
	uint64_t missing = 0;

	for (size_t i = 0; i < account->site_count; i++) {
		uint32_t native, python;

		python_pair(&process->python, account->sites[i].stack, &native, &python);
		missing += !is_there(stacks, native) || !is_there(stacks, python);
	}
	if (missing != 0)
		diag_add(process->log->diags, DIAG_DAMAGE, process->path, DIAG_NO_OFFSET, "",
			 "%s: %" PRIu64 " call stacks that events name are not in the log", account->allocator, missing);
}

static int check_process(const struct process *process, struct totals *totals)
{
	struct stacks *stacks = stacks_load(process->log);

	log_rest(process->log);
	if (stacks == NULL)
		return -1;
	check_counters(process);
	check_stacks(process, &process->heap, stacks);
	check_stacks(process, &process->mmap, stacks);
	totals->bytes += process->log->bytes;
	totals->events += process->events;
	totals->blocks += process->log->block_count + process->log->events_blocks;
	totals->stacks += stacks->node_count > 0 ? stacks->node_count - 1 : 0;
	stacks_free(stacks);
	return 0;
}

static void print_diags(FILE *out, const struct diag_list *diags)
{
	for (size_t i = 0; i < diags->count; i++) {
		const struct diag *diag = &diags->items[i];

		fputs(diag->level == DIAG_NOTE ? "note: " : "problem: ", out);
		base_print(out, diag->file);
		fputs(": ", out);
		if (diag->offset != DIAG_NO_OFFSET)
			fprintf(out, "at byte %" PRIu64 ": ", diag->offset);
		base_print(out, diag->reason);
		fprintf(out, "%s%s\n", diag->remedy[0] != 0 ? "; " : "", diag->remedy);
	}
	if (diags->omitted != 0)
		fprintf(out, "problem: %" PRIu64 " more are not listed\n", diags->omitted);
}

/* What the library itself counted as lost, a line a kind of all processes together, and what lacks of GPUs. Returns the sum. */
static uint64_t print_losses(FILE *out, const struct run *run)
{
	struct loss_sums sums = losses_sum(run, false);
	uint64_t lost = 0, gpu = 0;

	for (size_t i = 0; i < TFP_LOSS_SLOTS; i++) {
		if (sums.named[i] == NULL)
			continue;
		fprintf(out, "lost: %" PRIu64 " %s\n", sums.counts[i], sums.named[i]->help);
		lost += sums.counts[i];
	}
	for (size_t i = 0; i < run->process_count; i++)
		gpu += losses_of_gpu(&run->processes[i]);
	if (gpu != 0)
		fprintf(out, "lost: %" PRIu64 " GPU records are missing, or are impossible or unknown; -t losses says which\n", gpu);
	return lost + gpu;
}

static void print_running(FILE *out, const struct run *run)
{
	size_t running = 0;

	for (size_t i = 0; i < run->process_count; i++)
		running += run->processes[i].log->is_running != 0;
	if (running == 1 && run->process_count == 1)
		fputs("note: the program runs on: this is what its log held at one moment\n", out);
	else if (running != 0)
		fprintf(out, "note: %zu of %zu programs run on: this is what their logs held at one moment each\n", running,
			run->process_count);
}

int check_run(FILE *out, struct run *run, const struct run_options *options)
{
	struct totals totals = {0};
	struct text last = {0};
	uint64_t lost;

	if (run_scan(run, options) != 0)
		return 1;
	for (size_t i = 0; i < run->process_count; i++)
		if (check_process(&run->processes[i], &totals) != 0)
			return 1;
	print_diags(out, run->diags);
	print_running(out, run);
	lost = print_losses(out, run);
	text_format(&last, "%s: %zu " BY_COUNT("log", "logs") ", %" PRIu64 " bytes, %" PRIu64 " " BY_COUNT("block", "blocks") ", %" PRIu64
		    " " BY_COUNT("record", "records") ", %" PRIu64 " stack " BY_COUNT("node", "nodes") ", %" PRIu64
		    " " BY_COUNT("problem", "problems") ", %" PRIu64 " lost\n", run->diags->damage + lost == 0 ? "whole" : "not whole",
		    run->process_count, totals.bytes, totals.blocks, totals.events, totals.stacks, run->diags->damage, lost);
	text_by_count(last.bytes);
	fputs(last.bytes, out);
	text_free(&last);
	return run->diags->damage + lost == 0 ? 0 : 2;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * losses: everything that is missing from the answer, by kind, thread and time.
 *
 * Rule: what the library counted and what the reader found damaged stand in one table. Kinds that cost no record, only
 * precision, are shown but do not make the exit status 2.
 */
#include "reducer/tables/losses.h"

#include "reducer/model/gpu.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"

#include <string.h>

enum { PROCESS, THREAD, KIND, COUNT, FIRST, LAST, WHOLE, IS_LOST, MEANING, REMEDY, MACHINE, MEMBER, COLUMNS };

static const struct table_column columns[] = {
	[PROCESS] = {"process", "process", TABLE_INTEGER, UNIT_NONE, 0, "pid; empty for a damaged file"},
	[THREAD] = {"thread", "thread", TABLE_INTEGER, UNIT_NONE, 1, "kernel thread id; empty = of no thread"},
	[KIND] = {"kind", "kind", TABLE_TEXT, UNIT_NONE, 0, "name of the loss; damaged_log: found by the reader of the file"},
	[COUNT] = {"count", "count", TABLE_INTEGER, UNIT_COUNT, 0, "how many records, stacks, moments; of a damaged file: 1 a place"},
	[FIRST] = {"first_ns", "first", TABLE_INTEGER, UNIT_NS, 0, "when it happened first"},
	[LAST] = {"last_ns", "last", TABLE_INTEGER, UNIT_NS, 1, "when it happened last"},
	[WHOLE] = {"whole_from_ns", "whole from", TABLE_INTEGER, UNIT_NS, 0,
		   "of events given up with FULL=wrap: from when on none was, to about the time that a block waits to be written; inferred "
		   "from what is there. First and last say when they were given up, which is long after they happened"},
	[IS_LOST] = {"severity", "severity", TABLE_TEXT, UNIT_NONE, 2, "lost: records are missing; degraded: precision only"},
	[MEANING] = {"meaning", "meaning", TABLE_TEXT, UNIT_NONE, 0, "what is counted; for a damaged file: file, offset, reason"},
	[REMEDY] = {"remedy", "what to do", TABLE_TEXT, UNIT_NONE, 1, "what a person can do about it"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static void add_losses(struct table *table, const struct request *request, const struct process *process)
{
	for (size_t i = 0; i < process->loss_count; i++) {
		const struct loss *loss = &process->losses[i];
		const struct thread *thread = loss->thread ? process_thread(process, loss->thread) : NULL;
		int64_t whole_from;
		if (request->thread && (!thread || !request_wants_thread(request, thread)))
			continue;
		table_row(table);
		table_process(table, PROCESS, MACHINE, process);
		if (thread)
			table_integer(table, THREAD, thread->tid);
		table_string(table, KIND, loss->name);
		table_integer(table, COUNT, (int64_t)loss->count);
		if (loss->first_ns != TIME_UNKNOWN)
			table_integer(table, FIRST, loss->first_ns);
		if (loss->last_ns != TIME_UNKNOWN)
			table_integer(table, LAST, loss->last_ns);
		if ((whole_from = losses_whole_from(process, loss->kind)) != TIME_UNKNOWN)
			table_integer(table, WHOLE, whole_from);
		table_string(table, IS_LOST, loss_is_degraded(loss->kind) ? "degraded" : "lost");
		table_string(table, MEANING, loss->help);
		table_string(table, REMEDY, loss->remedy);
	}
}

static void add_gpu(struct table *table, const struct process *process, const char *kind, uint64_t count, bool is_lost,
		    const char *meaning)
{
	if (!count)
		return;
	table_row(table);
	table_process(table, PROCESS, MACHINE, process);
	table_string(table, KIND, kind);
	table_integer(table, COUNT, (int64_t)count);
	table_string(table, IS_LOST, is_lost ? "lost" : "degraded");
	table_string(table, MEANING, meaning);
	table_string(table, REMEDY, is_lost ? "-t launches shows them; the other rows here tell more" : "none needed");
}

static void add_gpus(struct table *table, const struct process *process)
{
	static const char *const texts[GPU_IMPOSSIBLE_KINDS] = {
		"device records without a time: in no sum of time", "device records that end before they start: in no sum of time",
		"device records that start before their call began: in no sum of time",
		"device records that end after they were read: in no sum of time"};
	const struct gpu_counts *counts = &process->gpu->counts;
	uint64_t endless = gpu_endless_records(process->gpu);

	for (unsigned reason = 1; reason < GPU_REASONS; reason++) {
		add_gpu(table, process, "gpu_host_only", counts->reasons[GPU_HOST_ONLY][reason],
			loss_is_of_pairing(GPU_HOST_ONLY, reason), gpu_reason_text(reason));
		add_gpu(table, process, "gpu_device_only", counts->reasons[GPU_DEVICE_ONLY][reason],
			loss_is_of_pairing(GPU_DEVICE_ONLY, reason), gpu_reason_text(reason));
	}
	add_gpu(table, process, "gpu_without_end", endless, false,
		"device records without a time, of work that failed, or ran when the process was aborted: it had not ended, or its "
		"times were not fetched yet");
	for (unsigned i = 0; i < GPU_IMPOSSIBLE_KINDS; i++)
		add_gpu(table, process, "gpu_impossible_time", counts->impossible[i] - (i == 0 ? endless : 0), true, texts[i]);
	add_gpu(table, process, "gpu_duplicate", counts->duplicates, false, "device records that came twice; each counts once");
	add_gpu(table, process, "gpu_repeated_call", counts->repeated_calls, true, "calls with the correlation id of an earlier one");
	add_gpu(table, process, "gpu_unknown_shape", counts->unknown_shapes, true, "kernels whose name and shape are not in the log");
	add_gpu(table, process, "gpu_unknown_queue", counts->unknown_queues, true,
		"device records whose device and stream are not in the log");
	add_gpu(table, process, "gpu_left_out", counts->left_out, true, "things about GPUs that found no room in this program");
}

/* A file of which no process is known may be a wanted one's. */
static bool is_wanted_file(const struct request *request, const char *file)
{
	bool is_known = false;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (strcmp(process->path, file) != 0)
			continue;
		if (request_wants_process(request, process))
			return true;
		is_known = true;
	}
	return !is_known;
}

static void add_damage(struct table *table, const struct request *request)
{
	const struct diag_list *diags = request->run->diags;
	struct text meaning = {0};

	for (size_t i = 0; i < diags->count; i++) {
		const struct diag *diag = &diags->items[i];
		if (!is_wanted_file(request, diag->file))
			continue;
		text_clear(&meaning);
		text_string(&meaning, diag->file);
		if (diag->offset != DIAG_NO_OFFSET)
			text_format(&meaning, " at %llu", (unsigned long long)diag->offset);
		text_format(&meaning, ": %s", diag->reason);
		table_row(table);
		table_string(table, KIND, diag->level == DIAG_NOTE ? "log_note" : "damaged_log");
		table_integer(table, COUNT, 1);
		table_string(table, IS_LOST, diag->level == DIAG_NOTE ? "degraded" : "lost");
		table_text(table, MEANING, meaning.bytes, meaning.length);
		if (diag->remedy[0])
			table_string(table, REMEDY, diag->remedy);
	}
	if (diags->omitted)
		table_note(table, NOTE_LOSS, "%llu more problems of the files are not listed.", (unsigned long long)diags->omitted);
	text_free(&meaning);
}

/* What --thread leaves out, for no thread is told of it. */
static void note_of_no_thread(struct table *table, const struct request *request)
{
	size_t processes = 0;

	for (size_t i = 0; request->thread && i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		bool is_any = losses_of_gpu(process) > 0;
		for (size_t k = 0; k < process->loss_count && !is_any; k++)
			is_any = !process->losses[k].thread || !process_thread(process, process->losses[k].thread);
		processes += is_any && request_wants_process(request, process);
	}
	if (processes)
		table_note(table, NOTE_LOSS,
			   "%zu " BY_COUNT("process has", "processes have") " losses of which no thread is told: left out here.",
			   processes);
}

static void fill(struct table *table, const struct request *request)
{
	bool is_part = request->process || request->host || request->rank || request->thread;

	add_damage(table, request);
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i])) {
			add_losses(table, request, &request->run->processes[i]);
			if (request->run->processes[i].gpu && !request->thread)
				add_gpus(table, &request->run->processes[i]);
		}
	if (!table->row_count)
		table_note(table, NOTE_INFO,
			   is_part ? "Of what was asked for nothing was lost, and no file is damaged."
				   : "Nothing was lost and no file is damaged.");
	note_of_no_thread(table, request);
	notes_missing(table, request);
}

bool losses_any(const struct run *run)
{
	for (size_t i = 0; i < run->process_count; i++) {
		for (size_t k = 0; k < run->processes[i].loss_count; k++)
			if (!loss_is_degraded(run->processes[i].losses[k].kind))
				return true;
		if (losses_of_gpu(&run->processes[i]))
			return true;
	}
	return run->diags->damage > 0;
}

const struct table_kind table_losses = {
	.id = "losses",
	.title = "Losses",
	.help = "Everything that is missing from the other tables: records that were dropped, files that are damaged.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_THREAD,
	.needs_scan = true,
	.fill = fill,
};

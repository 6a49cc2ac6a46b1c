/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.summary: totals by job, process and thread, and by allocator.
 *
 * Rule: sums come from the exact counters of the threads, in every mode; peaks say how they are known.
 */
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/job.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"

#include "reducer/model/gpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SCOPE, ID, ALLOCATOR, ALLOCATIONS, FREES, REQUESTED, ALLOCATED, FREED, LIVE, PEAK, PEAK_TIME, REQUESTED_PEAK,
	REQUESTED_PEAK_TIME, PEAK_KIND, PROCESS, NAME, MACHINE, MEMBER, COLUMNS
};

static const struct table_column columns[] = {
	[SCOPE] = {"scope", "scope", TABLE_TEXT, UNIT_NONE, 0, "job (all processes of the run), process, or thread"},
	[ID] = {"id", "id", TABLE_TEXT, UNIT_NONE, 0, "name of the run, pid, or kernel thread id"},
	[ALLOCATOR] = {"allocator", "allocator", TABLE_TEXT, UNIT_NONE, 0,
		       "heap: the malloc family; mmap: address space mapped by the program itself, 64 MiB or more without access "
		       "(PROT_NONE) in allocated alone; device:N: memory of that GPU (with its UUID where processes call several so); "
		       "pinned, registered: host memory that devices reach; managed; "
		       "imported: device memory that another process made and this one opened (CUDA IPC, handles), in the account of "
		       "that process, too; a framework's own allocator"},
	[ALLOCATIONS] = {"allocations", "allocs", TABLE_INTEGER, UNIT_COUNT, 0,
			 "blocks got; failed calls are not counted; a realloc is one free and one allocation"},
	[FREES] = {"frees", "frees", TABLE_INTEGER, UNIT_COUNT, 1, "blocks given back; free(NULL) is not counted"},
	[REQUESTED] = {"requested_bytes", "asked for", TABLE_INTEGER, UNIT_BYTES, 2,
		       "sum of the sizes that the program asked for (allocations only: a free does not say its size)"},
	[ALLOCATED] = {"allocated_bytes", "allocated", TABLE_INTEGER, UNIT_BYTES, 0,
		       "sum of the usable sizes of the blocks got; mmap: whole pages"},
	[FREED] = {"freed_bytes", "freed", TABLE_INTEGER, UNIT_BYTES, 1, "sum of the usable sizes of the blocks given back"},
	[LIVE] = {"live_bytes", "live", TABLE_INTEGER, UNIT_BYTES, 0,
		  "usable bytes got and not given back at the end; of the job: what each process held at its own end, added up, so "
		  "that it may exceed the peak; of a thread: its own balance, negative where it frees what others allocated, "
		  "of mmap empty where its process mapped so much without access"},
	[PEAK] = {"peak_bytes", "peak", TABLE_INTEGER, UNIT_BYTES, 0, "most usable bytes live at one time; see peak_kind"},
	[PEAK_TIME] = {"peak_time_ns", "peak at", TABLE_INTEGER, UNIT_NS, 0, "when that was, from the start of the run"},
	[REQUESTED_PEAK] = {"requested_peak_bytes", "peak asked", TABLE_INTEGER, UNIT_BYTES, 3,
			    "most requested bytes live at one time; known in mode full only"},
	[REQUESTED_PEAK_TIME] = {"requested_peak_time_ns", "asked peak at", TABLE_INTEGER, UNIT_NS, 3, "when that was"},
	[PEAK_KIND] = {"peak_kind", "peak is", TABLE_TEXT, UNIT_NONE, 2,
		       "exact; batched: exact to 64 KiB a thread; least: events were lost, it was at least so much unless those were "
		       "releases; bound: of several processes, at most the sum of their curves"},
	[PROCESS] = {"process", "process", TABLE_INTEGER, UNIT_NONE, 3, "pid of the process or of the thread's process"},
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 2, "name of the program or thread"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

/* What a row shows, gathered from one or more accounts. */
struct totals {
	uint64_t allocations, frees, requested, allocated, freed;
	bool is_freed_unknown;
};

static void put_totals(struct table *table, const struct totals *totals)
{
	table_integer(table, ALLOCATIONS, (int64_t)totals->allocations);
	table_integer(table, FREES, (int64_t)totals->frees);
	table_integer(table, REQUESTED, (int64_t)totals->requested);
	table_integer(table, ALLOCATED, (int64_t)totals->allocated);
	if (!totals->is_freed_unknown)
		table_integer(table, FREED, (int64_t)totals->freed);
}

static void begin_row(struct table *table, const char *scope, const char *id, const char *allocator, const char *name)
{
	table_row(table);
	table_string(table, SCOPE, scope);
	table_string(table, ID, id);
	table_string(table, ALLOCATOR, allocator);
	table_string(table, NAME, name);
}

/* Its peak is the events', some of which are missing. */
static bool is_of_events(const struct account *account)
{
	return account->has_gaps && strcmp(account->allocator, "heap") != 0;
}

/* Of a framework's or a device's blocks events alone tell what is live. */
static bool is_live_known(const struct account *account)
{
	return !account->is_live_unknown && (!is_of_events(account) || strcmp(account->allocator, "mmap") == 0);
}

static void put_peak(struct table *table, const struct account *account)
{
	if (account->kind == ACCOUNT_NONE || account->is_live_unknown)
		return;
	table_integer(table, PEAK, (int64_t)account->peak_bytes);
	if (account->peak_time_ns != TIME_UNKNOWN)
		table_integer(table, PEAK_TIME, account->peak_time_ns);
	table_string(table, PEAK_KIND, account->is_peak_batched ? "batched" : is_of_events(account) ? "least" : "exact");
	if (account->kind != ACCOUNT_EVENTS || account->has_gaps)
		return;
	table_integer(table, REQUESTED_PEAK, (int64_t)account->requested_peak_bytes);
	if (account->requested_peak_time_ns != TIME_UNKNOWN)
		table_integer(table, REQUESTED_PEAK_TIME, account->requested_peak_time_ns);
}

static bool are_releases_unsized(const struct process *process, const char *allocator)
{
	return process->are_releases_unsized && strcmp(allocator, "heap") == 0;
}

static void add_process(struct table *table, const struct process *process, const char *allocator)
{
	const struct account *account = job_account(process, allocator);
	struct totals totals;
	char id[32];

	snprintf(id, sizeof(id), "%" PRIu32, process->pid);
	begin_row(table, "process", id, allocator, process->command);
	table_process(table, PROCESS, MACHINE, process);
	if (!account)
		return;
	totals = (struct totals){account->allocations, account->frees, account->requested_bytes, account->allocated_bytes,
				 account->freed_bytes, account->is_live_unknown && are_releases_unsized(process, allocator)};
	put_totals(table, &totals);
	if (is_live_known(account))
		table_integer(table, LIVE, (int64_t)account->live_bytes);
	put_peak(table, account);
}

/* The curves of the wanted processes, added up. Unknown if one of them is. */
static void put_job_peak(struct table *table, const struct request *request, const char *allocator)
{
	struct job_curve curve = job_curve(request, allocator);
	const struct timeline_point *points = curve.timeline.points;
	size_t best = 0;

	for (size_t i = 0; i < curve.timeline.count; i++)
		if (points[i].max > points[best].max)
			best = i;
	if (!curve.unknown && curve.timeline.count) {
		table_integer(table, PEAK, (int64_t)points[best].max);
		table_integer(table, PEAK_TIME, points[best].max_time_ns);
		table_string(table, PEAK_KIND, "bound");
	}
	job_curve_free(&curve);
}

static void add_job(struct table *table, const struct request *request, const char *allocator)
{
	struct totals totals = {0};
	const struct account *only = NULL;
	uint64_t live = 0;
	size_t known = 0, wanted = 0, unknown_live = 0, gaps = 0;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		const struct account *account = job_account(process, allocator);
		if (!request_wants_process(request, process))
			continue;
		wanted++;
		if (!account)
			continue;
		known++;
		only = account;
		totals.allocations += account->allocations;
		totals.frees += account->frees;
		totals.requested += account->requested_bytes;
		totals.allocated += account->allocated_bytes;
		totals.freed += account->freed_bytes;
		live += account->live_bytes;
		unknown_live += !is_live_known(account);
		gaps += is_of_events(account);
		totals.is_freed_unknown |= account->is_live_unknown && are_releases_unsized(process, allocator);
	}
	begin_row(table, "job", request->run->name, allocator, NULL);
	if (!known)
		return;
	put_totals(table, &totals);
	if (!unknown_live)
		table_integer(table, LIVE, (int64_t)live);
	if (wanted == 1)
		put_peak(table, only);
	else if (!unknown_live && !gaps)
		put_job_peak(table, request, allocator);
}

static void add_thread(struct table *table, const struct process *process, const struct thread *thread, const char *allocator)
{
	struct totals heap = {thread->allocations, thread->frees, thread->requested_bytes, thread->allocated_bytes,
			      thread->freed_bytes, process->are_releases_unsized};
	struct totals mmap = {thread->maps, thread->unmaps, thread->mapped_bytes, thread->mapped_bytes, thread->unmapped_bytes, false};
	bool is_heap = strcmp(allocator, "heap") == 0;
	const struct totals *totals = is_heap ? &heap : &mmap;
	char id[32];

	if (!job_account(process, allocator) || (!is_heap && !totals->allocations && !totals->frees))
		return;
	snprintf(id, sizeof(id), "%" PRIu32, thread->tid);
	begin_row(table, "thread", id, allocator, thread->name[0] ? thread->name : NULL);
	table_process(table, PROCESS, MACHINE, process);
	put_totals(table, totals);
	/* Which thread mapped address space without access its counters do not say. */
	if (!totals->is_freed_unknown && (is_heap || !process->mmap.no_access_peak_bytes))
		table_integer(table, LIVE, (int64_t)(totals->allocated - totals->freed));
}

/* In mode full the events must add up to what the counters say. */
static void note_difference(struct table *table, const struct process *process)
{
	const struct account *heap = &process->heap;

	if (heap->kind != ACCOUNT_EVENTS || process->window_count || !process->range_count || process->loss_count)
		return;
	if (process_counters_agree(process, heap))
		return;
	table_note(table, NOTE_INFERRED,
		   "Process %s: the events say %" PRIu64 " allocations, %" PRIu64 " frees, %" PRIu64
		   " bytes, the counters %" PRIu64 ", %" PRIu64 ", %" PRIu64 "; the table shows the counters.",
		   process->called, heap->event_allocations, heap->event_frees, heap->event_allocated_bytes, heap->allocations,
		   heap->frees, heap->allocated_bytes);
}

/* What was given back and never got, as far as the log tells: by itself, for what a forked process inherited is said elsewhere. */
static void note_strange(struct table *table, const struct process *process)
{
	const struct account *heap = &process->heap;
	uint64_t balance = heap->allocated_bytes - heap->freed_bytes;

	if (heap->kind == ACCOUNT_EVENTS && !heap->is_live_unknown && !process->log->live.inherited_bytes && heap->event_unknown_frees &&
	    (int64_t)(heap->live_bytes - balance) > 0)
		table_note(table, NOTE_INFO,
			   "Process %s: %" PRIu64 " " BY_COUNT("release", "releases") " (%" PRIu64 " bytes) of blocks whose "
			   "allocation is not in the log (by the dynamic loader, or before recording began): in freed, not in live.",
			   process->called, heap->event_unknown_frees, heap->live_bytes - balance);
}

/* Their thread_end records were given up with the other events (FULL, a full disk). */
static void note_unlisted(struct table *table, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (request_wants_process(request, process) && process->unlisted_calls)
			table_note(table, NOTE_INFO,
				   "Process %s: records of threads that ended were given up, or lost; what they did (%" PRIu64
				   " allocations and releases) is in the sums of the process and in no thread's row.",
				   process->called, process->unlisted_calls);
	}
}

static void note_unknown(struct table *table, const struct request *request)
{
	uint64_t frees = 0, bytes = 0;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process))
			continue;
		frees += process->heap.unknown_frees;
		bytes += process->heap.unknown_freed_bytes;
		note_difference(table, process);
		if (job_account(process, "heap") && request_wants_allocator(request, "heap"))
			note_strange(table, process);
	}
	if (frees)
		table_note(table, NOTE_INFO,
			   "%" PRIu64 " " BY_COUNT("release of a block", "releases of blocks") " from before the recorder ran (%" PRIu64
			   " bytes) counted apart.",
			   frees, bytes);
}

/* CUPTI's own count of device memory beside that of the calls. */
static void note_check(struct table *table, const struct process *process, const struct gpu_memory_check *check)
{
	bool agrees = check->call_allocations == check->cupti_allocations && check->call_frees == check->cupti_frees &&
		      check->call_bytes == check->cupti_bytes;

	if (check->is_from_cupti && check->call_allocations != 0)
		table_note(table, NOTE_INFERRED,
			   "Process %s, %s: from CUPTI's records and %" PRIu64 " mappings by calls; hooks saw %" PRIu64 " of %" PRIu64
			   " allocations.",
			   process->called, check->allocator, check->mappings, check->call_allocations, check->cupti_allocations);
	else if (check->is_from_cupti)
		table_note(table, NOTE_INFERRED, "Process %s, %s: from CUPTI's records; the calls were not seen by hooks.",
			   process->called, check->allocator);
	else if (check->cupti_allocations > check->mappings && !agrees)
		table_note(table, NOTE_INFERRED,
			   "Process %s, %s: the calls say %" PRIu64 " allocations, %" PRIu64 " frees, %" PRIu64
			   " bytes, CUPTI %" PRIu64 ", %" PRIu64 ", %" PRIu64 "; the table shows the calls.",
			   process->called, check->allocator, check->call_allocations, check->call_frees, check->call_bytes,
			   check->cupti_allocations, check->cupti_frees, check->cupti_bytes);
}

/* Whether an allocator that a thread has no counters for is heap or mmap. */
static bool has_threads(const char *allocator)
{
	return strcmp(allocator, "heap") == 0 || strcmp(allocator, "mmap") == 0;
}

static void add_threads(struct table *table, const struct request *request, const struct process *process, const char *const *names,
			size_t count)
{
	for (size_t k = 0; k < process->thread_count; k++)
		for (size_t a = 0; a < count; a++)
			if (has_threads(names[a]) && request_wants_thread(request, &process->threads[k]))
				add_thread(table, process, &process->threads[k], names[a]);
}

/* What graphs take when they run no record tells. */
static void note_graphs(struct table *table, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		const struct gpu_counts *counts = process->gpu ? &process->gpu->counts : NULL;
		if (!counts || !request_wants_process(request, process))
			continue;
		if (counts->graph_nodes > counts->graph_allocations)
			table_note(table, NOTE_MISSING,
				   "Process %s: %" PRIu64 " " BY_COUNT("node of a CUDA graph allocates", "nodes of CUDA graphs allocate")
				   " memory when the graph runs; how much is not known, and it is in no figure of this table.",
				   process->called, counts->graph_nodes - counts->graph_allocations);
		if (counts->graph_allocations)
			table_note(table, NOTE_MISSING,
				   "Process %s: %" PRIu64 " " BY_COUNT("allocation", "allocations") " (%" PRIu64 " bytes), "
				   "captured into CUDA graphs: "
				   "memory that a graph takes when it runs is in no figure of this table.",
				   process->called, counts->graph_allocations, counts->graph_bytes);
	}
}

static void note_checks(struct table *table, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		for (size_t k = 0; process->gpu && k < process->gpu->memory_check_count; k++)
			if (request_wants_process(request, process) &&
			    request_wants_allocator(request, process->gpu->memory_checks[k].allocator))
				note_check(table, process, &process->gpu->memory_checks[k]);
	}
}

static void fill(struct table *table, const struct request *request)
{
	const struct run *run = request->run;
	const char **names;
	size_t count = job_allocators(request, &names);

	for (size_t a = 0; a < count && !request->thread; a++)
		add_job(table, request, names[a]);
	for (size_t i = 0; i < run->process_count && !request->thread; i++)
		for (size_t a = 0; a < count; a++)
			if (request_wants_process(request, &run->processes[i]) &&
			    (has_threads(names[a]) || process_account(&run->processes[i], names[a])))
				add_process(table, &run->processes[i], names[a]);
	for (size_t i = 0; i < run->process_count; i++)
		if (request_wants_process(request, &run->processes[i]))
			add_threads(table, request, &run->processes[i], names, count);
	free(names);
	notes_recording(table, request);
	notes_told(table, request);
	notes_below(table, request);
	notes_no_access(table, request);
	notes_apart(table, request);
	notes_inherited(table, request);
	notes_small_peak(table, request);
	note_unknown(table, request);
	note_unlisted(table, request);
	note_checks(table, request);
	note_graphs(table, request);
}

const struct table_kind table_memory_summary = {
	.id = "memory.summary",
	.title = "Memory totals",
	.help = "What was allocated, given back and live, exact in every mode. Allocated, freed, live and peak count usable sizes "
		"(malloc_usable_size), so that they balance; what was asked for stands beside them.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_THREAD | FILTER_ALLOCATOR,
	.text_rows = 40,
	.needs_scan = true,
	.fill = fill,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes on memory that no figure of live blocks has, or that stands in one and is none: address space without access, and what the
 * kernel counts beyond the live bytes of heap and mmap.
 *
 * Rule: the kernel's figure is told as it is; what it may be is a list, for no record says which.
 */
#include "reducer/tables/notes.h"

#include <string.h>

#define MIB 1048576.0
#define GIB 1073741824.0
#define APART_LEAST (UINT64_C(128) << 20)   /* a framework's own data, stacks and tables are below */
#define APART_SINCE_NS INT64_C(1000000000)  /* what was freed as late as that, the allocator may still be giving back */

/* Address space without access, of the wanted processes, and what mmap allocated in all. */
struct no_access {
	uint64_t bytes, allocated_bytes;
	size_t processes;
};

static struct no_access find_no_access(const struct request *request)
{
	struct no_access found = {0};

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process) || !request_wants_allocator(request, "mmap"))
			continue;
		found.bytes += process->mmap.no_access_peak_bytes;
		found.allocated_bytes += process->mmap.allocated_bytes;
		found.processes += process->mmap.no_access_peak_bytes > 0;
	}
	return found;
}

void notes_no_access(struct table *table, const struct request *request)
{
	const struct no_access found = find_no_access(request);
	bool is_small = (double)found.bytes < GIB;

	if (found.processes)
		table_note(table, NOTE_MISSING,
			   "mmap: %.2f %s of what was allocated was address space without access (PROT_NONE, pieces of 64 MiB or more), "
			   "in %zu " BY_COUNT("process", "processes") ": no memory, and in nothing that is live. What was made usable "
			   "(mprotect) is not recorded; resident_bytes of host_usage has what was used.",
			   (double)found.bytes / (is_small ? MIB : GIB), is_small ? "MiB" : "GiB", found.processes);
}

void notes_no_access_brief(struct table *table, const struct request *request)
{
	const struct no_access found = find_no_access(request);
	bool is_small = (double)found.bytes < GIB;

	if (found.bytes > found.allocated_bytes / 2)
		table_note(table, NOTE_INFO, "mmap: %.2f %s of what was allocated is address space without access, no memory.",
			   (double)found.bytes / (is_small ? MIB : GIB), is_small ? "MiB" : "GiB");
}

void notes_below(struct table *table, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process) || !process->allocator_library || !process->mmap.allocations ||
		    !request_wants_allocator(request, "mmap"))
			continue;
		table_note(table, NOTE_INFO,
			   "%s serves malloc, and what it maps for that stands in mmap: the heap's blocks lie there, so that heap and mmap "
			   "have the same bytes.",
			   process->allocator_library);
		return;
	}
}

/* Most that was live from then on to that time; UINT64_MAX = not known. */
static uint64_t most_live(const struct account *account, int64_t from_ns, int64_t to_ns)
{
	const struct timeline *curve = &account->timeline;
	uint64_t most = 0, before = 0;

	if (account->is_live_unknown || account->has_gaps || (account->kind == ACCOUNT_NONE && account->allocations))
		return UINT64_MAX;
	for (size_t i = 0; i < curve->count && curve->points[i].time_ns <= to_ns; i++) {
		const struct timeline_point *point = &curve->points[i];
		if (point->time_ns < from_ns && point->max_time_ns < from_ns)
			before = point->live;
		else if (point->max > most)
			most = point->max;
	}
	return most > before ? most : before;
}

/* Memory of a process of its own that was resident, and what was live then at most. */
struct apart {
	uint64_t resident, live;
	int64_t time_ns;
	const struct process *process;
};

static void look(struct apart *most, const struct process *process, const struct use_sample *sample)
{
	uint64_t resident, shared, heap, mapped, live;

	if (sample->of != USE_OF_PROCESS || sample->time_ns < process->start_ns + APART_SINCE_NS ||
	    !use_value(&process->use, sample, USE_resident, &resident) ||
	    !use_value(&process->use, sample, USE_resident_shared, &shared) || shared > resident)
		return;
	heap = most_live(&process->heap, sample->time_ns - APART_SINCE_NS, sample->time_ns);
	mapped = most_live(&process->mmap, sample->time_ns - APART_SINCE_NS, sample->time_ns);
	resident -= shared;
	if (heap == UINT64_MAX || mapped == UINT64_MAX)
		return;
	live = heap + mapped + (process->heap.inherited_bytes ? 0 : process->log->live.inherited_bytes);
	if (resident / 2 > live && resident - live >= APART_LEAST && (!most->process || resident - live > most->resident - most->live))
		*most = (struct apart){resident, live, sample->time_ns, process};
}

/* What was live is known at any time. */
static bool is_told_all_along(const struct process *process)
{
	return process_has_heap(process) && !process_is_foreign(process) && process->log->live.dropped_from == 0 &&
	       strcmp(process_setting(process, "WINDOW"), "all") == 0;
}

void notes_apart(struct table *table, const struct request *request)
{
	struct apart most = {.process = NULL};

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process) || request->allocator || !is_told_all_along(process))
			continue;
		for (size_t k = 0; k < process->use.count; k++)
			look(&most, process, &process->use.samples[k]);
	}
	if (most.process)
		table_note(table, NOTE_INFERRED,
			   "Process %s: at %.2f s %.0f MiB of its own were resident, where heap and mmap had at most %.0f MiB live for a "
			   "second. The other %.0f MiB: freed blocks that the allocator keeps (fragmentation; malloc_trim or another "
			   "allocator helps), variables of libraries (CUDA's have 100 MiB), address space made usable (mprotect), stacks, "
			   "a driver.",
			   most.process->called, (double)most.time_ns / 1e9, (double)most.resident / MIB, (double)most.live / MIB,
			   (double)(most.resident - most.live) / MIB);
}

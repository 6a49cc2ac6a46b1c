/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_usage: what the processes and their threads used of the machine, over time.
 *
 * Rule: each row is the difference to the reading before it of the same process or thread, or to its beginning; a thread is
 * read while it calls hooked functions, so a row may span a long time, and its length stands in it.
 */
#include "reducer/tables/notes.h"

enum {
	TIME, PROCESS, THREAD, LENGTH, USER, SYSTEM, CORES, MINOR, MAJOR, WAITS, PREEMPTIONS, PEAK, READ, WRITTEN, LOAD, FREE, COLUMNS
};

static const struct table_column columns[] = {
	[TIME] = {"time_ns", "time", TABLE_INTEGER, UNIT_NS, 0, "of the reading, from the start of the run"},
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 0, "pid as the process saw it"},
	[THREAD] = {"thread", "thread", TABLE_INTEGER, UNIT_NONE, 0, "kernel id of the thread; empty = the whole process"},
	[LENGTH] = {"length_ns", "over", TABLE_INTEGER, UNIT_NS, 0, "since the reading before; empty = since it began"},
	[USER] = {"user_ns", "user", TABLE_INTEGER, UNIT_NS, 0, "processor time in the program meanwhile"},
	[SYSTEM] = {"system_ns", "system", TABLE_INTEGER, UNIT_NS, 0, "processor time in the kernel meanwhile"},
	[CORES] = {"cores", "cores", TABLE_REAL, UNIT_NONE, 0, "processor time by time: processors kept busy on average"},
	[MINOR] = {"minor_faults", "faults", TABLE_INTEGER, UNIT_COUNT, 1, "page faults without reading, meanwhile"},
	[MAJOR] = {"major_faults", "major", TABLE_INTEGER, UNIT_COUNT, 1, "page faults that had to read, meanwhile"},
	[WAITS] = {"waits", "waits", TABLE_INTEGER, UNIT_COUNT, 2, "times the processor was given up to wait, meanwhile"},
	[PREEMPTIONS] = {"preemptions", "preempted", TABLE_INTEGER, UNIT_COUNT, 2, "times the processor was taken away, meanwhile"},
	[PEAK] = {"peak_resident_bytes", "peak resident", TABLE_INTEGER, UNIT_BYTES, 1,
		  "largest resident set since the process began"},
	[READ] = {"disk_read_bytes", "disk read", TABLE_INTEGER, UNIT_BYTES, 2, "from disk, meanwhile"},
	[WRITTEN] = {"disk_written_bytes", "disk written", TABLE_INTEGER, UNIT_BYTES, 2, "to disk, meanwhile"},
	[LOAD] = {"load", "load", TABLE_REAL, UNIT_NONE, 2, "of the machine, over a minute"},
	[FREE] = {"memory_free_bytes", "free memory", TABLE_INTEGER, UNIT_BYTES, 3,
		  "of the machine, used for nothing, not even for caches"},
};

#define BLOCK_BYTES 512 /* of the kernel's block counts */

static const struct thread *thread_of(const struct process *process, uint32_t serial)
{
	for (size_t i = 0; i < process->thread_count; i++)
		if (process->threads[i].serial == serial)
			return &process->threads[i];
	return NULL;
}

/* The nearest earlier reading of the same thread, or of the process. */
static const struct use_sample *previous(const struct process *process, size_t at)
{
	for (size_t i = at; i > 0; i--)
		if (process->use_samples[i - 1].thread == process->use_samples[at].thread)
			return &process->use_samples[i - 1];
	return NULL;
}

static void add_row(struct table *table, const struct process *process, size_t at, const struct thread *thread)
{
	const struct use_sample *sample = &process->use_samples[at], *last = previous(process, at);
	const struct use_sample none = {.time_ns = 0};
	const struct use_sample *from = last != NULL ? last : &none;
	int64_t length = sample->time_ns - from->time_ns;
	uint64_t used = sample->user_ns + sample->system_ns - from->user_ns - from->system_ns;

	table_row(table);
	table_integer(table, TIME, sample->time_ns);
	table_integer(table, PROCESS, process->pid);
	if (last != NULL)
		table_integer(table, LENGTH, length);
	table_integer(table, USER, (int64_t)(sample->user_ns - from->user_ns));
	table_integer(table, SYSTEM, (int64_t)(sample->system_ns - from->system_ns));
	if (last != NULL && length > 0)
		table_real(table, CORES, (double)used / (double)length);
	table_integer(table, MINOR, (int64_t)(sample->minor_faults - from->minor_faults));
	table_integer(table, MAJOR, (int64_t)(sample->major_faults - from->major_faults));
	table_integer(table, WAITS, (int64_t)(sample->waits - from->waits));
	table_integer(table, PREEMPTIONS, (int64_t)(sample->preemptions - from->preemptions));
	if (thread != NULL) {
		table_integer(table, THREAD, thread->tid);
		return;
	}
	table_integer(table, PEAK, (int64_t)sample->peak_resident_bytes);
	table_integer(table, READ, (int64_t)((sample->blocks_read - from->blocks_read) * BLOCK_BYTES));
	table_integer(table, WRITTEN, (int64_t)((sample->blocks_written - from->blocks_written) * BLOCK_BYTES));
	table_real(table, LOAD, sample->load);
	table_integer(table, FREE, (int64_t)sample->memory_free_bytes);
}

static void add_process(struct table *table, const struct request *request, const struct process *process)
{
	for (size_t i = 0; i < process->use_sample_count; i++) {
		const struct use_sample *sample = &process->use_samples[i];
		const struct thread *thread = sample->thread == 0 ? NULL : thread_of(process, sample->thread);
		if (sample->time_ns < request->from_ns || sample->time_ns > request->to_ns)
			continue;
		if (request->thread != NULL && (thread == NULL || !request_wants_thread(request, thread)))
			continue;
		if (thread != NULL || sample->thread == 0)
			add_row(table, process, i, thread);
	}
}

static void fill(struct table *table, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]))
			add_process(table, request, &request->run->processes[i]);
	table_note(table, NOTE_INFO,
		   "A thread is read while it calls hooked functions (memory, files, ranges, GPU). Not read: the resident set now, limits "
		   "of the container, disk and network of the machine.");
	notes_recording(table, request);
}

const struct table_kind table_host_usage = {
	.id = "host_usage",
	.title = "Use of the machine",
	.help = "Processor time, page faults, waiting and disk traffic of each process and thread over time, and the machine's load.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_THREAD | FILTER_WINDOW,
	.text_rows = 30,
	.needs_scan = true,
	.fill = fill,
};

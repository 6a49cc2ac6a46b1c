/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes: what ran, and how each process ended.
 *
 * Rule: one row a process image (an exec makes a new one under the same pid), parents before children.
 */
#include "reducer/tables/memory_end.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/resident.h"

#include "reducer/model/rank.h"

enum {
	PROCESS, PARENT, HOST, RANK, COMMAND, TITLE, START, DURATION, END, THREADS, MODE, ALLOCATIONS, PEAK, LIVE, RESIDENT,
	RESIDENT_TIME, EVENTS, ARGUMENTS, LOG, COLUMNS
};

static const struct table_column columns[] = {
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 0, "pid as the process saw it"},
	[PARENT] = {"parent", "parent", TABLE_INTEGER, UNIT_NONE, 1, "pid of the parent"},
	[HOST] = {"host", "host", TABLE_TEXT, UNIT_NONE, 2, "name of the machine or container"},
	[RANK] = {"rank", "rank", TABLE_INTEGER, UNIT_NONE, 1,
		  "number in a job of several, by RANK or what MPI, Slurm, Horovod, JAX and TF_CONFIG call it; empty = none of them was "
		  "set when it started"},
	[COMMAND] = {"command", "command", TABLE_TEXT, UNIT_NONE, 0, "name of the program, as the kernel keeps it (15 bytes)"},
	[TITLE] = {"title", "title", TABLE_TEXT, UNIT_NONE, 1,
		   "what it called itself when last looked at (servers name their workers so); empty = it did not, or was not looked at"},
	[START] = {"start_ns", "start", TABLE_INTEGER, UNIT_NS, 1, "first recorded moment, from the start of the run"},
	[DURATION] = {"duration_ns", "lasted", TABLE_INTEGER, UNIT_NS, 0,
		      "from the first recorded moment to the last; of one that was killed to its end, where tfprof run saw that"},
	[END] = {"end", "end", TABLE_TEXT, UNIT_NONE, 0, "how it ended, as far as the log can say"},
	[THREADS] = {"threads", "threads", TABLE_INTEGER, UNIT_COUNT, 2, "threads that called a recorded function"},
	[MODE] = {"malloc", "malloc", TABLE_TEXT, UNIT_NONE, 2, "setting MALLOC"},
	[ALLOCATIONS] = {"allocations", "allocs", TABLE_INTEGER, UNIT_COUNT, 1, "heap allocations"},
	[PEAK] = {"peak_bytes", "heap peak", TABLE_INTEGER, UNIT_BYTES, 0, "most heap bytes live at one time, usable sizes"},
	[LIVE] = {"live_bytes", "live at end", TABLE_INTEGER, UNIT_BYTES, 0, "heap bytes live at the end, usable sizes"},
	[RESIDENT] = {"peak_resident_bytes", "resident", TABLE_INTEGER, UNIT_BYTES, 1,
		      "largest resident set, shared pages included, as the kernel told it (host_usage); empty = not read"},
	[RESIDENT_TIME] = {"peak_resident_ns", "resident at", TABLE_INTEGER, UNIT_NS, 2, "when that was first read"},
	[EVENTS] = {"events", "events", TABLE_INTEGER, UNIT_COUNT, 3, "records in its log"},
	[ARGUMENTS] = {"arguments", "command line", TABLE_TEXT, UNIT_NONE, 2, "words of the command line, joined by spaces"},
	[LOG] = {"log", "log", TABLE_TEXT, UNIT_NONE, 3, "path of its log"},
};

static void put_arguments(struct table *table, const struct process *process)
{
	struct text line = {0};

	for (size_t i = 0; i < process->argument_count; i++)
		text_format(&line, i ? " %s" : "%s", process->arguments[i]);
	if (line.length)
		table_text(table, ARGUMENTS, line.bytes, line.length);
	text_free(&line);
}

static void put_resident(struct table *table, const struct process *process)
{
	struct resident peak;

	if (!resident_peak(process, &peak))
		return;
	table_integer(table, RESIDENT, peak.bytes);
	table_integer(table, RESIDENT_TIME, peak.time_ns);
}

static void fill(struct table *table, const struct request *request)
{
	char end[128];
	uint64_t rank;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process))
			continue;
		table_row(table);
		table_integer(table, PROCESS, process->pid);
		table_integer(table, PARENT, process->parent_pid);
		table_string(table, HOST, process_host(process));
		if (process_rank(process, &rank) == 0)
			table_integer(table, RANK, (int64_t)rank);
		table_string(table, COMMAND, process->command);
		if (process->title)
			table_string(table, TITLE, process->title);
		if (process->start_ns != TIME_UNKNOWN)
			table_integer(table, START, process->start_ns);
		if (process->start_ns != TIME_UNKNOWN && process->end_ns != TIME_UNKNOWN)
			table_integer(table, DURATION, process->gone_ns - process->start_ns);
		table_string(table, END, process_end_text(process, end, sizeof(end)));
		table_integer(table, THREADS, (int64_t)process->thread_count);
		table_string(table, MODE, process_setting(process, "MALLOC"));
		table_integer(table, EVENTS, (int64_t)process->events);
		table_string(table, LOG, process->path);
		put_arguments(table, process);
		put_resident(table, process);
		if (!process_has_heap(process))
			continue;
		table_integer(table, ALLOCATIONS, (int64_t)process->heap.allocations);
		if (process->heap.is_live_unknown)
			continue;
		table_integer(table, LIVE, (int64_t)process->heap.live_bytes);
		if (process->heap.kind != ACCOUNT_NONE)
			table_integer(table, PEAK, (int64_t)process->heap.peak_bytes);
	}
	if (run_clocks(request->run) > 1)
		table_note(table, NOTE_INFO,
			   "The logs are of %zu clocks (machines, starts of one, time namespaces): their times are joined by the time of "
			   "day that each machine knew, and are no closer than those clocks were.",
			   run_clocks(request->run));
	notes_started_apart(table, request);
	notes_recorded_again(table, request);
	memory_end_note(table, request);
	memory_end_note_other(table, request);
	notes_missing(table, request);
	notes_inherited(table, request);
	notes_recording(table, request);
}

const struct table_kind table_processes = {
	.id = "processes",
	.title = "Processes",
	.help = "What ran, for how long, how it ended, and its memory in one line.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS,
	.needs_scan = true,
	.fill = fill,
};

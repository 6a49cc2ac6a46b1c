/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io_stats: what was read, from where, how much, and how long the calls took.
 *
 * Rule: times are those inside the calls, as the reading thread felt them: what it waited for and what the kernel copied. A
 * row is one file and one function in one process, all wanted threads together.
 */
#include "reducer/read/schema.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"

#include <stdlib.h>

enum { PROCESS, PATH, FUNCTION, CALLS, BYTES, TIME, AVERAGE, RATE, FAILED, THREADS, FIRST, LAST, MACHINE, MEMBER, COLUMNS };

static const struct table_column columns[] = {
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 1, "pid as the process saw it"},
	[PATH] = {"path", "file", TABLE_TEXT, UNIT_NONE, 0,
		  "file, (pipe), (internet socket), (local socket); FOLDER/* for files beyond the first 20,000; empty = not known"},
	[FUNCTION] = {"function", "call", TABLE_TEXT, UNIT_NONE, 0, "function that the program called"},
	[CALLS] = {"calls", "calls", TABLE_INTEGER, UNIT_COUNT, 0, "also those that failed, or found the end of the file"},
	[BYTES] = {"bytes", "bytes", TABLE_INTEGER, UNIT_BYTES, 0,
		   "what the calls returned; of mmap the length that was mapped, read or not"},
	[TIME] = {"total_ns", "total", TABLE_INTEGER, UNIT_NS, 0,
		  "inside the calls, summed over threads; empty for mmap, which reads later"},
	[AVERAGE] = {"avg_ns", "average", TABLE_INTEGER, UNIT_NS, 1, "total by calls"},
	[RATE] = {"bytes_per_second", "rate", TABLE_REAL, UNIT_BYTES_PER_S, 1, "bytes by total: the rate while it was reading"},
	[FAILED] = {"failed", "failed", TABLE_INTEGER, UNIT_COUNT, 2,
		    "calls that returned -1, also where there was only nothing to read yet"},
	[THREADS] = {"threads", "threads", TABLE_INTEGER, UNIT_COUNT, 2, "threads that did it"},
	[FIRST] = {"first_ns", "first", TABLE_INTEGER, UNIT_NS, 3, "begin of the first call, from the start of the run"},
	[LAST] = {"last_ns", "last", TABLE_INTEGER, UNIT_NS, 3, "return of the last call, from the start of the run"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static int by_file(const void *a, const void *b)
{
	const struct io_row *one = *(const struct io_row *const *)a, *other = *(const struct io_row *const *)b;

	if (one->file != other->file)
		return one->file < other->file ? -1 : 1;
	return one->function < other->function ? -1 : one->function > other->function;
}

static bool wants_thread(const struct request *request, const struct process *process, uint32_t serial)
{
	const struct thread *thread = request->thread == NULL ? NULL : process_thread(process, serial);

	return request->thread == NULL || (thread && request_wants_thread(request, thread));
}

static void add_row(struct table *table, const struct process *process, const struct io_row *sum, size_t threads)
{
	const struct schema_row *hook = schema_hook(process->log->schema, sum->function);
	bool is_map = hook != NULL && hook->name[0] == 'm';

	table_row(table);
	table_process(table, PROCESS, MACHINE, process);
	table_string(table, PATH, sum->path);
	table_string(table, FUNCTION, hook == NULL ? NULL : hook->name);
	table_integer(table, CALLS, (int64_t)sum->calls);
	table_integer(table, BYTES, (int64_t)sum->bytes);
	table_integer(table, FAILED, (int64_t)sum->failed);
	table_integer(table, THREADS, (int64_t)threads);
	table_integer(table, FIRST, sum->first_ns);
	table_integer(table, LAST, sum->last_ns);
	if (is_map)
		return;
	table_integer(table, TIME, sum->time_ns);
	if (sum->calls > 0)
		table_integer(table, AVERAGE, sum->time_ns / (int64_t)sum->calls);
	if (sum->time_ns > 0 && sum->bytes > 0)
		table_real(table, RATE, (double)sum->bytes * 1e9 / (double)sum->time_ns);
}

static void add_to(struct io_row *sum, const struct io_row *row)
{
	sum->calls += row->calls;
	sum->failed += row->failed;
	sum->bytes += row->bytes;
	sum->time_ns += row->time_ns;
	sum->first_ns = row->first_ns < sum->first_ns ? row->first_ns : sum->first_ns;
	sum->last_ns = row->last_ns > sum->last_ns ? row->last_ns : sum->last_ns;
}

static void add_process(struct table *table, const struct request *request, const struct process *process)
{
	const struct io_rows *rows = &process->io_rows;
	const struct io_row **sorted = calloc(rows->count + 1, sizeof *sorted);
	size_t count = 0;

	for (size_t i = 0; sorted != NULL && i < rows->count; i++)
		if (wants_thread(request, process, rows->items[i].thread))
			sorted[count++] = &rows->items[i];
	if (count > 0)
		qsort(sorted, count, sizeof *sorted, by_file);
	for (size_t i = 0; i < count;) {
		struct io_row sum = *sorted[i];
		size_t next = i + 1;
		for (; next < count && by_file(&sorted[i], &sorted[next]) == 0; next++)
			add_to(&sum, sorted[next]);
		add_row(table, process, &sum, next - i); /* a row of the model is one thread's */
		i = next;
	}
	free(sorted);
}

static void fill(struct table *table, const struct request *request)
{
	bool has_io = false;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process))
			continue;
		has_io |= process_setting(process, "IO")[0] == '1';
		add_process(table, request, process);
	}
	table_sort(table, TIME, false);
	if (!has_io && !notes_not_in_file(table, request))
		table_note(table, NOTE_MISSING,
			   "Reads were not recorded: TFPROF_IO was 0, or the log is of an older version or of another profiler.");
	else if (has_io)
		table_note(table, NOTE_INFO,
			   "Not seen: what stdio reads for calls below 4 KiB, what is read through mapped memory, by sendfile, splice, "
			   "copy_file_range, aio and io_uring, and system calls made without libc.");
	notes_recording(table, request);
}

const struct table_kind table_io_stats = {
	.id = "io_stats",
	.title = "Reads by file",
	.help = "Which files and sockets were opened, read and mapped, how much came from them, and how long the threads were in "
		"those calls.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_THREAD,
	.text_rows = 30,
	.needs_scan = true,
	.fill = fill,
};

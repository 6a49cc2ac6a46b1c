/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_usage: what the processes and their threads used of the machine, over time.
 *
 * Rule: each row is the difference to the reading before it of the same process or thread, or to its beginning; a thread is
 * read while it calls hooked functions, so a row may span a long time, and its length stands in it.
 */
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"
#include "reducer/tables/readings.h"
#include "reducer/tables/tasks.h"

#include <stdlib.h>
#include <string.h>

#define SHOWS_PROCESS(...) __VA_ARGS__
#define SHOWS_GROUP(...) __VA_ARGS__
#define SHOWS_HOST(...) __VA_ARGS__
#define SHOWS_THREAD(...) __VA_ARGS__
#define SHOWS_DEVICE(...)

enum {
	TIME,
	PROCESS,
	THREAD,
	NAME,
	LENGTH,
	USER,
	SYSTEM,
	CORES,
	MINOR,
	MAJOR,
	WAITS,
	PREEMPTIONS,
	PEAK,
	READ,
	WRITTEN,
	LOAD,
	FREE,
#define TFP_READING(number, name, subject, kind, unit, help) SHOWS_##subject(COLUMN_##name, )
#include "collectors/tables/readings.def"
#undef TFP_READING
	MACHINE, MEMBER, COLUMNS
};

static const struct table_column columns[] = {
	[TIME] = {"time_ns", "time", TABLE_INTEGER, UNIT_NS, 0, "of the reading, from the start of the run"},
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 0, "pid as the process saw it"},
	[THREAD] = {"thread", "thread", TABLE_INTEGER, UNIT_NONE, 0, "kernel id of the thread; empty = the whole process"},
	[NAME] = {"thread_name", "name", TABLE_TEXT, UNIT_NONE, 2, "of the thread; empty = not known"},
	[LENGTH] = {"length_ns", "over", TABLE_INTEGER, UNIT_NS, 0, "since the reading before; empty = since it began"},
	[USER] = {"user_ns", "user", TABLE_INTEGER, UNIT_NS, 0, "processor time in the program meanwhile"},
	[SYSTEM] = {"system_ns", "system", TABLE_INTEGER, UNIT_NS, 0, "processor time in the kernel meanwhile"},
	[CORES] = {"cores", "cores", TABLE_REAL, UNIT_NONE, 0, "processor time by time: processors kept busy on average"},
	[MINOR] = {"minor_faults", "faults", TABLE_INTEGER, UNIT_COUNT, 1, "page faults without reading, meanwhile"},
	[MAJOR] = {"major_faults", "major", TABLE_INTEGER, UNIT_COUNT, 1, "page faults that had to read, meanwhile"},
	[WAITS] = {"waits", "waits", TABLE_INTEGER, UNIT_COUNT, 2, "times the processor was given up to wait, meanwhile"},
	[PREEMPTIONS] = {"preemptions", "preempted", TABLE_INTEGER, UNIT_COUNT, 2,
			 "times the processor was taken away, meanwhile"},
	[PEAK] = {"peak_resident_bytes", "peak resident", TABLE_INTEGER, UNIT_BYTES, 1,
		  "largest resident set since the process began"},
	[READ] = {"disk_read_bytes", "disk read", TABLE_INTEGER, UNIT_BYTES, 2, "from disk, meanwhile"},
	[WRITTEN] = {"disk_written_bytes", "disk written", TABLE_INTEGER, UNIT_BYTES, 2, "to disk, meanwhile"},
	[LOAD] = {"load", "load", TABLE_REAL, UNIT_NONE, 2, "of the machine, over a minute"},
	[FREE] = {"memory_free_bytes", "free memory", TABLE_INTEGER, UNIT_BYTES, 3,
		  "of the machine, used for nothing, not even for caches"},
#define TFP_READING(number, name, subject, kind, unit, help)                                                                     \
	SHOWS_##subject([COLUMN_##name] = READINGS_COLUMN(name, kind, unit, 3, help), )
#include "collectors/tables/readings.def"
#undef TFP_READING
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static const uint16_t places[USE_READINGS] = {
#define TFP_READING(number, name, subject, kind, unit, help) SHOWS_##subject([number] = COLUMN_##name + 1, )
#include "collectors/tables/readings.def"
#undef TFP_READING
};

#define BLOCK_BYTES 512 /* of the kernel's block counts */

/* What is needed of a process for each of its rows. */
struct told {
	const struct process *process;
	struct readings *readings;
	struct tasks tasks; /* its threads */
};

static struct told told_make(const struct process *process)
{
	return (struct told){process, readings_make(&process->use, places), tasks_make(process)};
}

static void told_free(struct told *told)
{
	readings_free(told->readings);
	tasks_free(&told->tasks);
}

/* The thread a sample is of, by serial or kernel id. NULL: unknown. */
static const struct thread *thread_of(const struct told *told, const struct use_sample *sample)
{
	return sample->of == USE_OF_THREAD ? process_thread(told->process, sample->subject)
					   : tasks_at(&told->tasks, sample->subject, sample->time_ns);
}

/* A thread's figure is of the kernel's last tick (1 to 10 ms): what is told too late would be more than one thread can use. */
static double cores(const struct use_sample *sample, uint64_t used, int64_t length)
{
	double busy = (double)used / (double)length;

	return sample->of == USE_OF_THREAD && busy > 1 ? 1 : busy;
}

/* What getrusage told. */
static void add_use(struct table *table, const struct use_sample *sample, const struct use_sample *from, int64_t length)
{
	uint64_t used = sample->user_ns + sample->system_ns - from->user_ns - from->system_ns;

	table_integer(table, USER, (int64_t)(sample->user_ns - from->user_ns));
	table_integer(table, SYSTEM, (int64_t)(sample->system_ns - from->system_ns));
	if (length > 0)
		table_real(table, CORES, cores(sample, used, length));
	table_integer(table, MINOR, (int64_t)(sample->minor_faults - from->minor_faults));
	table_integer(table, MAJOR, (int64_t)(sample->major_faults - from->major_faults));
	table_integer(table, WAITS, (int64_t)(sample->waits - from->waits));
	table_integer(table, PREEMPTIONS, (int64_t)(sample->preemptions - from->preemptions));
	if (sample->of != USE_OF_PROCESS)
		return;
	table_integer(table, PEAK, (int64_t)sample->peak_resident_bytes);
	table_integer(table, READ, (int64_t)((sample->blocks_read - from->blocks_read) * BLOCK_BYTES));
	table_integer(table, WRITTEN, (int64_t)((sample->blocks_written - from->blocks_written) * BLOCK_BYTES));
	table_real(table, LOAD, sample->load);
	table_integer(table, FREE, (int64_t)sample->memory_free_bytes);
}

/* The part of the time that a thread read from outside was on a processor. */
static void add_share(struct table *table, const struct use_rows *use, const struct use_sample *sample,
		      const struct use_sample *from, int64_t length)
{
	uint64_t run, before;

	if (length > 0 && use_value(use, sample, USE_thread_run, &run) && use_value(use, from, USE_thread_run, &before) &&
	    run >= before)
		table_real(table, CORES, (double)(run - before) / (double)length);
}

static void add_row(struct table *table, const struct told *told, const struct use_sample *sample)
{
	static const struct use_sample none;
	const struct use_sample *last = readings_before(told->readings, sample), *from = last != NULL ? last : &none;
	int64_t length = last != NULL ? sample->time_ns - last->time_ns : 0;
	const struct thread *thread = sample->of == USE_OF_PROCESS ? NULL : thread_of(told, sample);
	const struct process *process = told->process;

	table_row(table);
	table_integer(table, TIME, sample->time_ns);
	table_process(table, PROCESS, MACHINE, process);
	if (sample->of == USE_OF_TASK || thread != NULL)
		table_integer(table, THREAD, thread != NULL ? thread->tid : sample->subject);
	if (thread != NULL && thread->name[0] != 0)
		table_string(table, NAME, thread->name);
	if (last != NULL)
		table_integer(table, LENGTH, length);
	if (sample->has_use)
		add_use(table, sample, from, length);
	else if (last != NULL)
		add_share(table, &process->use, sample, from, length);
	readings_cells(told->readings, table, sample);
}

static bool is_wanted(const struct request *request, const struct told *told, const struct use_sample *sample)
{
	if (sample->of == USE_OF_DEVICE || sample->time_ns < request->from_ns || sample->time_ns > request->to_ns)
		return false;
	if (sample->of == USE_OF_PROCESS)
		return request->thread == NULL;
	const struct thread *thread = thread_of(told, sample);
	if (thread == NULL)
		return request->thread == NULL && sample->of == USE_OF_TASK;
	return request->thread == NULL || request_wants_thread(request, thread);
}

static void note_files(struct table *table, const struct process *process)
{
	for (size_t i = 0; i < process->use.file_count; i++) {
		const struct system_file *file = &process->use.files[i];
		if (file->error != 0)
			table_note(table, NOTE_MISSING, "Process %s could not read %s (%s): the columns from it are empty.",
				   process->called, file->path, strerror(file->error));
	}
}

static void note_unread(struct table *table, const struct process *process)
{
	uint64_t failed, sum = 0;

	for (size_t i = 0; i < process->use.count; i++)
		if (process->use.samples[i].of == USE_OF_PROCESS && use_value(&process->use, &process->use.samples[i], USE_unread, &failed))
			sum += failed;
	if (sum != 0)
		table_note(table, NOTE_MISSING, "Process %s closed descriptors that were not its own: "
			   "%llu " BY_COUNT("reading is", "readings are") " missing (column unread).",
			   process->called, (unsigned long long)sum);
}

static void add_process(struct table *table, const struct request *request, const struct process *process)
{
	struct told told = told_make(process);

	for (size_t i = 0; told.readings != NULL && i < process->use.count; i++) {
		const struct use_sample *sample = &process->use.samples[i];
		if (is_wanted(request, &told, sample))
			add_row(table, &told, sample);
		else
			readings_cells(told.readings, NULL, sample);
	}
	told_free(&told);
	note_unread(table, process);
	note_files(table, process);
	readings_note(table, process);
}

static void fill(struct table *table, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]))
			add_process(table, request, &request->run->processes[i]);
	table_note(table, NOTE_INFO,
		   "A thread has two kinds of rows: what it told itself while it called hooked functions (user, system, faults), "
		   "and once a "
		   "second what the kernel says of it from outside (thread_run, thread_delay). Figures that the kernel must add "
		   "up first "
		   "(control group, machine, threads) are read once a second; in a process that ends within a second, once or "
		   "never. The run-queue delay of a thread is read from its second reading on, which tells it since the thread began.");
	notes_recording(table, request);
}

const struct table_kind table_host_usage = {
	.id = "host_usage",
	.title = "Use of the machine",
	.help = "Processor time, run-queue delay, page faults, memory, storage and network of each process and thread over time, "
		"and how its "
		"control group and machine did.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_THREAD | FILTER_WINDOW,
	.text_rows = 30,
	.needs_scan = true,
	.fill = fill,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_at_end: what each thread did last, for a job that hangs or was killed.
 *
 * Rule: a row is a thread that had not ended when its process did (or when the log was read) and that something is recorded of, the one
 * of the steps always. `open` and `last` are records; where the Python code stood is inferred from looks at it (standing.h), since the
 * last step ended, and without steps in the last ten seconds.
 */
#include "reducer/tables/native_looks.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"
#include "reducer/tables/python_looks.h"
#include "reducer/tables/standstill.h"

#include "reducer/analysis/last_work.h"

#define LAST_NS INT64_C(10000000000) /* of a process without steps */
#define OPEN_MOST 8		     /* names: the outermost of more are left out */

enum {
	PROCESS,
	THREAD,
	NAME,
	STEP,
	SINCE,
	FUNCTION,
	FILE_NAME,
	LINE,
	STOOD,
	LOOKED,
	CPU,
	NATIVE,
	WAITS,
	OPEN,
	OPEN_FOR,
	LAST,
	LAST_AGO,
	UNFINISHED,
	UNFINISHED_NS,
	MACHINE,
	MEMBER,
	COLUMNS
};

static const struct table_column columns[] = {
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 0, "pid as the process saw it"},
	[THREAD] = {"thread", "thread", TABLE_INTEGER, UNIT_NONE, 0, "the kernel's thread id"},
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 1, "of the thread; empty = unknown"},
	[STEP] = {"step", "last step", TABLE_INTEGER, UNIT_NONE, 0,
		  "number of the last step that ended; on the thread that marks steps, empty on others"},
	[SINCE] = {"since_ns", "ended ago", TABLE_INTEGER, UNIT_NS, 0, "from then to the end of the process, or of what is known of it"},
	[FUNCTION] = {"function", "function", TABLE_TEXT, UNIT_NONE, 0,
		      "Python: the innermost of the program's own that it was in, or had called from, since the last step ended (at least "
		      "two thirds of the time; without steps: of the last ten seconds); empty = it moved about, or was not looked at"},
	[FILE_NAME] = {"file", "file", TABLE_TEXT, UNIT_NONE, 0, "as the code object has it"},
	[LINE] = {"line", "line", TABLE_INTEGER, UNIT_NONE, 0, "in it"},
	[STOOD] = {"stood_ns", "for", TABLE_INTEGER, UNIT_NS, 0, "how long it was seen there in that time"},
	[LOOKED] = {"looked_ns", "looked at", TABLE_INTEGER, UNIT_NS, 2, "how much of that time looks tell of"},
	[CPU] = {"cpu_ns", "processor", TABLE_INTEGER, UNIT_NS, 0, "processor time that the thread used in it: little = it waited"},
	[NATIVE] = {"native", "native code", TABLE_TEXT, UNIT_NONE, 0,
		    "the innermost function outside of the C library and the language's runtime at the last look at native code, within "
		    "five seconds before the end; empty = there was none, or its stack could not be had"},
	[WAITS] = {"waits_in", "waits in", TABLE_TEXT, UNIT_NONE, 0, "what it waited for at that look; \"runs\" = it ran"},
	[OPEN] = {"open", "had not ended", TABLE_TEXT, UNIT_NONE, 0, "ops and ranges, outermost first"},
	[OPEN_FOR] = {"open_ns", "begun ago", TABLE_INTEGER, UNIT_NS, 0, "from the begin of the innermost of them to that end"},
	[LAST] = {"last", "ended last", TABLE_TEXT, UNIT_NONE, 1, "op, range or GPU call"},
	[LAST_AGO] = {"last_ns", "ago", TABLE_INTEGER, UNIT_NS, 1, "from its end to that of the process"},
	[UNFINISHED] = {"unfinished", "on device", TABLE_TEXT, UNIT_NONE, 0,
			"the first kernel, copy or set of the process that its device had not finished, as no record tells its end 2.5 s "
			"later and more (inferred); on the thread that called it"},
	[UNFINISHED_NS] = {"unfinished_ns", "called ago", TABLE_INTEGER, UNIT_NS, 0, "from that call to the end of the process"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static void put_standing(struct table *table, const struct standing *standing)
{
	if (standing->line.function) {
		table_string(table, FUNCTION, standing->line.function);
		table_string(table, FILE_NAME, standing->line.file);
		table_integer(table, LINE, standing->line.line);
		table_integer(table, STOOD, (int64_t)standing->there_ns);
	}
	table_integer(table, LOOKED, (int64_t)standing->looked_ns);
	table_integer(table, CPU, (int64_t)standing->cpu_ns);
}

static void put_work(struct table *table, const struct last_work *work, const struct last_thread *last, int64_t end_ns)
{
	struct text open = {0};
	size_t first = last->open_count > OPEN_MOST ? last->open_count - OPEN_MOST : 0;

	for (size_t i = first; i < last->open_count; i++)
		text_format(&open, "%s%s", i > first ? " > " : first ? ".. > " : "", work->words.items[last->open[i].name]);
	if (last->open_count) {
		table_string(table, OPEN, open.bytes);
		table_integer(table, OPEN_FOR, end_ns - last->open[last->open_count - 1].start_ns);
	}
	if (last->end_ns != TIME_UNKNOWN) {
		table_string(table, LAST, work->words.items[last->name]);
		table_integer(table, LAST_AGO, end_ns - last->end_ns);
	}
	text_free(&open);
}

static void put_unfinished(struct table *table, const struct process *process, const struct thread *thread, int64_t end_ns)
{
	struct text name = {0};
	int64_t ago_ns;

	if (!standstill_unfinished(process, end_ns, &ago_ns) || process->gpu->unfinished.thread != thread->serial)
		return;
	standstill_name_unfinished(&name, process->gpu);
	table_string(table, UNFINISHED, name.bytes);
	table_integer(table, UNFINISHED_NS, ago_ns);
	text_free(&name);
}

static void put_native(struct table *table, const struct native_last *native, const struct thread *thread)
{
	struct text function = {0};
	const char *waits_in;

	if (native_last_of(native, thread->tid, &function, &waits_in)) {
		if (function.length)
			table_string(table, NATIVE, function.bytes);
		table_string(table, WAITS, waits_in ? waits_in : "runs");
	}
	text_free(&function);
}

static void put_process(struct table *table, const struct request *request, size_t number)
{
	const struct process *process = &request->run->processes[number];
	const struct last_work *work = analyses_process(request->analyses, &analysis_last_work, number);
	struct standstill since;
	bool has_steps = standstill_since(&since, request, number);
	struct stretch stretch = stretch_make(request, number, has_steps ? since.from_ns : since.to_ns - LAST_NS, since.to_ns);
	struct native_last *native = native_last_make(request, number, since.to_ns);

	for (size_t i = 0; i < process->thread_count; i++) {
		const struct thread *thread = &process->threads[i];
		const struct last_thread *last = last_work_thread(work, thread->serial);
		struct standing standing;
		bool is_seen;
		if (thread->has_ended || !request_wants_thread(request, thread))
			continue;
		is_seen = standing_find(&standing, request, &stretch, thread->serial);
		if (!is_seen && !last && !(has_steps && since.thread == thread->serial))
			continue;
		table_row(table);
		table_process(table, PROCESS, MACHINE, process);
		table_integer(table, THREAD, thread->tid);
		table_string(table, NAME, thread->name);
		if (has_steps && since.thread == thread->serial) {
			table_integer(table, STEP, (int64_t)since.step);
			table_integer(table, SINCE, since.to_ns - since.from_ns);
		}
		if (is_seen)
			put_standing(table, &standing);
		if (last)
			put_work(table, work, last, since.to_ns);
		put_native(table, native, thread);
		put_unfinished(table, process, thread, since.to_ns);
	}
	native_last_free(native);
	stretch_free(&stretch);
}

static void fill(struct table *table, const struct request *request)
{
	struct text still = {0};

	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]))
			put_process(table, request, i);
	standstill_say(&still, request);
	if (still.length)
		table_note(table, NOTE_INFERRED, "%s", still.bytes);
	text_free(&still);
	table_note(table, NOTE_INFO,
		   "GPU calls, reads and calls into libraries are told when they return: that one waits shows in the line of Python, "
		   "the native function, and in a thread that used no processor.");
	python_looks_note_absent(table, request);
	notes_recording(table, request);
}

static const struct analysis_kind *const needs[] = {&analysis_steps, &analysis_last_work, NULL};
const struct table_kind table_threads_at_end = {
	.id = "threads_at_end",
	.title = "Threads at the end",
	.help = "What each thread was in when the process ended or the log was read: the last step, the line of Python where it stood "
		"since, ops and ranges that had not ended. For a job that hangs or was killed.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_THREAD,
	.text_rows = 25,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill,
};

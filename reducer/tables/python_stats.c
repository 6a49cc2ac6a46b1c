/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_stats: what lines of Python allocated and asked of GPUs.
 *
 * Rule: a row is a line of a function; `self` is where the line itself was the innermost Python frame, `total` where it was
 * anywhere on the stack, once a stack however deep it recurs. Bytes are estimates where allocations were sampled. A column of
 * which nothing was recorded stays empty and a note says why.
 */
#include "reducer/tables/notes.h"
#include "reducer/tables/python_lines.h"

#include "reducer/model/gpu.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	FUNCTION,
	FILE_NAME,
	LINE,
	ALLOCATIONS_SELF,
	ALLOCATIONS_TOTAL,
	BYTES_SELF,
	BYTES_TOTAL,
	LAUNCHES_SELF,
	LAUNCHES_TOTAL,
	CALL_SELF,
	CALL_TOTAL,
	DEVICE_SELF,
	DEVICE_TOTAL,
	PROCESSES,
	COLUMNS
};

static const struct table_column columns[] = {
	[FUNCTION] = {"function", "function", TABLE_TEXT, UNIT_NONE, 0, "qualified name; before Python 3.11 the plain one"},
	[FILE_NAME] = {"file", "file", TABLE_TEXT, UNIT_NONE, 1, "as the code object has it"},
	[LINE] = {"line", "line", TABLE_INTEGER, UNIT_NONE, 0, "that was running; 0 = the interpreter says none"},
	[ALLOCATIONS_SELF] = {"allocations_self", "allocs", TABLE_INTEGER, UNIT_COUNT, 2,
			      "host allocations by this line itself: estimated where they were sampled"},
	[ALLOCATIONS_TOTAL] = {"allocations_total", "in all", TABLE_INTEGER, UNIT_COUNT, 3, "the same, anywhere on the stack"},
	[BYTES_SELF] = {"bytes_self", "allocated", TABLE_INTEGER, UNIT_BYTES, 0, "of host memory (heap), by this line itself"},
	[BYTES_TOTAL] = {"bytes_total", "with callees", TABLE_INTEGER, UNIT_BYTES, 0, "by it and all that it called"},
	[LAUNCHES_SELF] = {"launches_self", "launches", TABLE_INTEGER, UNIT_COUNT, 1, "GPU work asked for by this line itself"},
	[LAUNCHES_TOTAL] = {"launches_total", "in all", TABLE_INTEGER, UNIT_COUNT, 2, "by it and all that it called"},
	[CALL_SELF] = {"call_self_ns", "in GPU calls", TABLE_INTEGER, UNIT_NS, 2,
		       "host time inside the GPU calls of this line itself"},
	[CALL_TOTAL] = {"call_total_ns", "with callees", TABLE_INTEGER, UNIT_NS, 1, "of it and all that it called"},
	[DEVICE_SELF] = {"device_self_ns", "device", TABLE_INTEGER, UNIT_NS, 0,
			 "time that devices worked for the calls of this line itself"},
	[DEVICE_TOTAL] = {"device_total_ns", "with callees", TABLE_INTEGER, UNIT_NS, 0, "for it and all that it called"},
	[PROCESSES] = {"processes", "processes", TABLE_INTEGER, UNIT_COUNT, 3, "how many processes ran it"},
};

/* What stands behind one stack. */
struct amounts {
	uint64_t allocations, bytes, launches, call_ns, device_ns;
};

struct line {
	uint32_t processes;
	size_t process; /* the last one + 1 */
	uint64_t stack; /* number of the last stack that it was counted for */
	struct amounts self, total;
};

struct lines {
	struct python_lines known;
	struct line *list; /* by number of `known` */
	size_t room;
	uint64_t stack; /* number of the stack being counted, from 1 */
	size_t process;
	const struct amounts *amounts;
	bool is_innermost;
	bool has_heap, has_gpu;
};

static struct line *line_of(struct lines *lines, const struct symbol_frame *frame)
{
	size_t before = lines->known.count, number = python_lines_number(&lines->known, frame);

	lines->list = base_grow(lines->list, &lines->room, number + 1, sizeof(*lines->list));
	if (number == before)
		lines->list[number] = (struct line){0};
	return &lines->list[number];
}

static void add(struct amounts *to, const struct amounts *more)
{
	to->allocations += more->allocations;
	to->bytes += more->bytes;
	to->launches += more->launches;
	to->call_ns += more->call_ns;
	to->device_ns += more->device_ns;
}

static void take_frame(void *context, const struct symbol_frame *frame)
{
	struct lines *lines = context;
	struct line *line;

	if (frame->module != FRAMES_PYTHON)
		return;
	line = line_of(lines, frame);
	if (lines->is_innermost)
		add(&line->self, lines->amounts);
	lines->is_innermost = false;
	if (line->stack == lines->stack)
		return;
	line->stack = lines->stack;
	add(&line->total, lines->amounts);
	line->processes += line->process != lines->process + 1;
	line->process = lines->process + 1;
}

static void take_stack(struct lines *lines, const struct request *request, uint32_t stack, const struct amounts *amounts)
{
	lines->stack++;
	lines->amounts = amounts;
	lines->is_innermost = true;
	frames_walk_python(request->frames, lines->process, stack, take_frame, lines);
}

static void take_process(struct lines *lines, const struct request *request, const struct process *process)
{
	for (size_t i = 0; i < process->heap.site_count; i++) {
		const struct heap_site *site = &process->heap.sites[i];
		const struct amounts amounts = {.allocations = site->allocations, .bytes = site->bytes};
		take_stack(lines, request, site->stack, &amounts);
		lines->has_heap = true;
	}
	for (size_t i = 0; process->gpu && i < process->gpu->stack_count; i++) {
		const struct gpu_stack *stack = &process->gpu->stacks[i];
		const struct amounts amounts = {
			.launches = stack->launches, .call_ns = stack->host_ns, .device_ns = stack->device_ns};
		take_stack(lines, request, stack->stack, &amounts);
		lines->has_gpu = true;
	}
}

static void add_row(struct table *table, const struct lines *lines, size_t number)
{
	const struct line *line = &lines->list[number];

	table_row(table);
	python_lines_put(&lines->known, number, table, FUNCTION);
	table_integer(table, PROCESSES, line->processes);
	if (lines->has_heap) {
		table_integer(table, ALLOCATIONS_SELF, (int64_t)line->self.allocations);
		table_integer(table, ALLOCATIONS_TOTAL, (int64_t)line->total.allocations);
		table_integer(table, BYTES_SELF, (int64_t)line->self.bytes);
		table_integer(table, BYTES_TOTAL, (int64_t)line->total.bytes);
	}
	if (!lines->has_gpu)
		return;
	table_integer(table, LAUNCHES_SELF, (int64_t)line->self.launches);
	table_integer(table, LAUNCHES_TOTAL, (int64_t)line->total.launches);
	table_integer(table, CALL_SELF, (int64_t)line->self.call_ns);
	table_integer(table, CALL_TOTAL, (int64_t)line->total.call_ns);
	table_integer(table, DEVICE_SELF, (int64_t)line->self.device_ns);
	table_integer(table, DEVICE_TOTAL, (int64_t)line->total.device_ns);
}

static void note_collections(struct table *table, const struct process *process)
{
	static const struct python_collections none;
	const struct python_collections *first = process->is_fork ? &process->python.first : &none;
	const struct python_collections *last = &process->python.last;
	uint64_t young = last->young - first->young, middle = last->middle - first->middle, full = last->full - first->full;

	table_note(table, NOTE_INFO,
		   "Process %s: the garbage collector ran %" PRIu64 " times%s (generations 0, 1, 2: %" PRIu64 ", %" PRIu64 ", %" PRIu64
		   ") and freed %" PRIu64 " objects, as far as its counters were read; how long it took CPython "
		   "does not say: python_time.collecting_ns estimates it, tfprof.watch_gc() in the script records each pause as a range.",
		   process->called, young + middle + full, process->is_fork ? " since it was forked" : "", young, middle, full,
		   last->collected - first->collected);
}

/* What the garbage collector did, and why frames are missing. */
static void note_process(struct table *table, const struct process *process)
{
	const struct python_rows *rows = &process->python;
	uint64_t untimed = 0;

	if (rows->has_collections)
		note_collections(table, process);
	for (size_t i = 0; process->gpu && i < process->gpu->stack_count; i++)
		untimed += process->gpu->stacks[i].untimed;
	if (untimed)
		table_note(table, NOTE_MISSING,
			   "Process %s: %" PRIu64 " device records without a sane time are left out of device times.",
			   process->called, untimed);
	if (process->mode == TFP_MODE_FULL && rows->pair_count && strcmp(process_setting(process, "PYTHON"), "launch") != 0)
		table_note(table, NOTE_MISSING,
			   "Process %s: with MALLOC=full allocations have Python frames only with PYTHON=launch.", process->called);
	if (process->gpu && process->gpu->stack_count == 0 && rows->pair_count)
		table_note(table, NOTE_MISSING, "Process %s: GPU calls have Python frames only with PYTHON=launch.",
			   process->called);
}

static void fill(struct table *table, const struct request *request)
{
	struct lines lines = {.known = python_lines_make()};

	for (size_t p = 0; p < request->run->process_count; p++) {
		const struct process *process = &request->run->processes[p];
		if (!request_wants_process(request, process))
			continue;
		lines.process = p;
		if (process->python.pair_count)
			take_process(&lines, request, process);
		note_process(table, process);
	}
	for (size_t i = 0; i < lines.known.count; i++)
		add_row(table, &lines, i);
	table_sort(table, lines.has_gpu ? DEVICE_SELF : BYTES_SELF, false);
	if (!lines.known.count && !notes_not_in_file(table, request))
		table_note(table, NOTE_INFO,
			   "No Python frames were recorded: no Python from 3.8 to 3.15 ran here, or PYTHON=off, STACKS=0 or "
			   "MALLOC=totals left nothing to read them at; run_env says what was found.");
	python_lines_free(&lines.known);
	free(lines.list);
	notes_recording(table, request);
	notes_sampling(table, request);
}

const struct table_kind table_python_stats = {
	.id = "python_stats",
	.title = "Python by line",
	.help = "Lines of Python by what they allocated and what they asked of GPUs, by themselves and with all that they "
		"called.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS,
	.text_rows = 25,
	.needs_scan = true,
	.fill = fill,
};

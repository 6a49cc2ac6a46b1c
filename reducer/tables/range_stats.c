/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range_stats: what the program said it was doing, by name.
 *
 * Rule: a range is what somebody announced (NVTX, the C API, a framework), never what we guess; ranges that a window or the
 * end of the records cut have times that are lower bounds, and the row says how many.
 */
#include "reducer/analysis/range_parts.h"
#include "reducer/analysis/range_work.h"
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"

#include <inttypes.h>

enum {
	PROCESS, NAME, DOMAIN, SOURCE, OCCURRENCES, TOTAL, SELF, AVERAGE, LEAST, MOST, NESTED, MARKS, CUT, WIDE, ELSEWHERE, BYTES,
	KERNELS, DEVICE, DEVICE_SELF, MACHINE, MEMBER, COLUMNS
};

static const struct table_column columns[] = {
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 1, "pid as the process saw it"},
	[NAME] = {"name", "range", TABLE_TEXT, UNIT_NONE, 0, "as the program called it; empty = its table of names was full"},
	[DOMAIN] = {"domain", "domain", TABLE_TEXT, UNIT_NONE, 1, "NVTX domain; empty = the default one"},
	[SOURCE] = {"source", "source", TABLE_TEXT, UNIT_NONE, 1, "who announced it"},
	[OCCURRENCES] = {"occurrences", "times", TABLE_INTEGER, UNIT_COUNT, 0, "ranges of this name, on all threads"},
	[TOTAL] = {"total_ns", "total", TABLE_INTEGER, UNIT_NS, 0,
		   "with what was inside; a range inside one of the same name on its thread counts once"},
	[SELF] = {"self_ns", "self", TABLE_INTEGER, UNIT_NS, 0,
		  "without the ranges directly inside; of what a framework told (record_function, traceme) without its ops inside; empty "
		  "for ranges of the whole process, which no thread owns"},
	[AVERAGE] = {"avg_ns", "average", TABLE_INTEGER, UNIT_NS, 1,
		     "of the occurrences that count for total and ended; empty = none ended"},
	[LEAST] = {"min_ns", "shortest", TABLE_INTEGER, UNIT_NS, 2, "shortest occurrence that ended"},
	[MOST] = {"max_ns", "longest", TABLE_INTEGER, UNIT_NS, 2, "longest occurrence, also of those that are cut"},
	[NESTED] = {"nested", "recursive", TABLE_INTEGER, UNIT_COUNT, 3, "of the occurrences, those inside one of the same name"},
	[MARKS] = {"marks", "marks", TABLE_INTEGER, UNIT_COUNT, 3, "moments marked with this name, without a duration"},
	[CUT] = {"cut", "cut", TABLE_INTEGER, UNIT_COUNT, 3,
		 "of the occurrences, those still open when a window closed or the records ended: their times are lower bounds"},
	[WIDE] = {"process_wide", "process-wide", TABLE_INTEGER, UNIT_COUNT, 3, "of the occurrences, those that any thread may end"},
	[ELSEWHERE] = {"ended_elsewhere", "other thread", TABLE_INTEGER, UNIT_COUNT, 3, "of these, those that another thread ended"},
	[BYTES] = {"bytes", "bytes", TABLE_INTEGER, UNIT_BYTES, 2, "sum of the sizes that the ranges announced (NCCL); empty = none did"},
	[KERNELS] = {"kernels", "kernels", TABLE_INTEGER, UNIT_COUNT, 1,
		     "that launches inside it started, also in ranges inside it; of a graph those of its launch. Empty where no work of a "
		     "device was recorded, and for what no thread owns or a framework told when it was over (traceme)"},
	[DEVICE] = {"device_ns", "on device", TABLE_INTEGER, UNIT_NS, 0,
		    "sum of the kernels, copies and sets that calls inside it started, whenever they ran: work at one time counts each"},
	[DEVICE_SELF] = {"device_self_ns", "device self", TABLE_INTEGER, UNIT_NS, 2, "of this, without what ranges inside it started"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

/* `work` NULL = nobody knows. */
static void add_work(struct table *table, const struct range_work *work, const char *name, const char *domain, unsigned source)
{
	static const struct range_work_row none;
	const struct range_work_row *row = work ? range_work_find(work, name ? name : "", domain, source) : NULL;

	if (!work)
		return;
	row = row ? row : &none;
	table_integer(table, KERNELS, (int64_t)row->kernels);
	table_integer(table, DEVICE, (int64_t)row->ns);
	table_integer(table, DEVICE_SELF, (int64_t)row->self_ns);
}

static void add_row(struct table *table, const struct process *process, const struct range_row *row, const struct range_work *work)
{
	table_row(table);
	table_process(table, PROCESS, MACHINE, process);
	table_string(table, NAME, row->name);
	table_string(table, DOMAIN, row->domain);
	table_string(table, SOURCE, range_source_name(row->source));
	table_integer(table, OCCURRENCES, (int64_t)row->occurrences);
	table_integer(table, NESTED, (int64_t)row->nested);
	table_integer(table, MARKS, (int64_t)row->marks);
	table_integer(table, CUT, (int64_t)row->cut);
	table_integer(table, WIDE, (int64_t)row->process_wide);
	table_integer(table, ELSEWHERE, (int64_t)row->elsewhere);
	if (row->with_bytes != 0)
		table_integer(table, BYTES, (int64_t)row->bytes);
	if (row->occurrences == 0)
		return;
	table_integer(table, TOTAL, row->total_ns);
	if (row->occurrences > row->process_wide) {
		table_integer(table, SELF, row->self_ns);
		add_work(table, work, row->name, row->domain, row->source);
	}
	if (row->whole > 0)
		table_integer(table, AVERAGE, row->whole_ns / (int64_t)row->whole);
	if (row->occurrences > row->cut)
		table_integer(table, LEAST, row->min_ns);
	table_integer(table, MOST, row->max_ns);
}

/* What a framework told as a range of its user (record_function) or of its own (TraceMe): counted with its ops. */
static void add_framework_row(struct table *table, const struct process *process, const struct op *range,
			      const struct range_work *work)
{
	table_row(table);
	table_process(table, PROCESS, MACHINE, process);
	table_string(table, NAME, range->name);
	table_string(table, DOMAIN, "");
	table_string(table, SOURCE, range_source_name(range->source));
	table_integer(table, OCCURRENCES, (int64_t)range->occurrences);
	table_integer(table, TOTAL, range->total_ns);
	table_integer(table, SELF, range->self_ns);
	table_integer(table, LEAST, range->least_ns);
	table_integer(table, MOST, range->most_ns);
	table_integer(table, NESTED, (int64_t)range->nested);
	if (range->occurrences > range->nested)
		table_integer(table, AVERAGE, range->total_ns / (int64_t)(range->occurrences - range->nested));
	if (!range->is_ns) /* what was told when it was over is on no stack */
		add_work(table, work, range->name, "", range->source);
}

static void add_framework_rows(struct table *table, const struct process *process, const struct range_work *work)
{
	for (size_t i = 0; i < process->ops.count; i++)
		if (process->ops.items[i].is_range && process->ops.items[i].occurrences)
			add_framework_row(table, process, &process->ops.items[i], work);
}

/* Do --window, --step, --thread ask for a part only? The first pass has no such sums. */
static bool is_part(const struct request *request)
{
	return request->analysis.wants_time || request->thread;
}

static void add_part(struct table *table, const struct process *process, const struct range_parts *parts,
		     const struct range_part *part, const struct range_work *work)
{
	const char *name = parts->words.items[part->name], *domain = parts->words.items[part->domain];

	table_row(table);
	table_process(table, PROCESS, MACHINE, process);
	table_string(table, NAME, name);
	table_string(table, DOMAIN, domain);
	table_string(table, SOURCE, range_source_name(part->source));
	table_integer(table, OCCURRENCES, (int64_t)part->occurrences);
	table_integer(table, MARKS, (int64_t)part->marks);
	table_integer(table, CUT, (int64_t)part->cut);
	table_integer(table, WIDE, (int64_t)part->process_wide);
	if (part->occurrences == 0)
		return;
	table_integer(table, TOTAL, (int64_t)part->ns);
	if (part->occurrences > part->cut) {
		table_integer(table, AVERAGE, (int64_t)(part->whole_ns / (part->occurrences - part->cut)));
		table_integer(table, LEAST, (int64_t)part->least_ns);
	}
	table_integer(table, MOST, (int64_t)part->most_ns);
	if (part->occurrences == part->process_wide)
		return;
	table_integer(table, SELF, (int64_t)part->self_ns);
	if (!part->is_told_late)
		add_work(table, work, name, domain, part->source);
}

static void add_notes(struct table *table, const struct process *process)
{
	const struct range_rows *rows = &process->range_rows;
	uint64_t cut = 0;

	for (size_t i = 0; i < rows->count; i++)
		cut += rows->items[i].cut;
	if (cut != 0)
		table_note(table, NOTE_MISSING,
			   "Process %s: of %" PRIu64 " " BY_COUNT("range", "ranges") " the end is not in the log (a window closed, or the "
			   "records ended): the times until then are in the totals; averages and shortest times are of the others.",
			   process->called, cut);
	if (rows->unbegun != 0)
		table_note(table, NOTE_MISSING,
			   "Process %s: %" PRIu64 " " BY_COUNT("range", "ranges") " ended whose beginning is not in the log (a "
			   "window was closed then, or it never was): left out.", process->called, rows->unbegun);
	if (rows->crossed != 0)
		table_note(table, NOTE_INFO,
			   "Process %s: %" PRIu64 " ranges of different domains overlapped instead of nesting; while both were open "
			   "the later one counts as inside.", process->called, rows->crossed);
	if (rows->unfollowed != 0)
		table_note(table, NOTE_LOSS,
			   "Process %s: %" PRIu64 " " BY_COUNT("range was", "ranges were") " open too deep or too many at once to "
			   "be followed: left out.",
			   process->called, rows->unfollowed);
	if (rows->is_shared)
		table_note(table, NOTE_INFERRED,
			   "Process %s: the row without a name stands for all names beyond the first 262,143.", process->called);
}

static void add_work_notes(struct table *table, const struct process *process, const struct range_work *work)
{
	if (work->beyond)
		table_note(table, NOTE_LOSS,
			   "Process %s: %" PRIu64 " " BY_COUNT("kernel, copy or set was", "kernels, copies and sets were")
			   " started in ranges that lie "
			   "deeper than 256, or whose nestings are beyond a million: no row has them.", process->called, work->beyond);
	if (work->unplaced)
		table_note(table, NOTE_MISSING,
			   "Process %s: the calls that started %" PRIu64 " " BY_COUNT("kernel, copy or set", "kernels, copies and sets")
			   " are not in the log: no row has them.",
			   process->called, work->unplaced);
}

/* What its ranges started on devices; NULL: no device told what it did. */
static const struct range_work *work_of(const struct request *request, size_t p)
{
	const struct gpu *gpu = request->run->processes[p].gpu;

	return gpu && gpu->counts.device_records ? analyses_process(request->analyses, &analysis_range_work, p) : NULL;
}

static void fill(struct table *table, const struct request *request)
{
	const struct range_parts *parts = NULL;
	const struct range_work *work;
	bool has_gpu = false;
	size_t rows;

	for (size_t p = 0; p < request->run->process_count; p++) {
		const struct process *process = &request->run->processes[p];
		if (!request_wants_process(request, process))
			continue;
		work = work_of(request, p);
		rows = table->row_count;
		if (is_part(request))
			parts = analyses_process(request->analyses, &analysis_range_parts, p);
		for (size_t i = 0; parts && i < parts->count; i++)
			add_part(table, process, parts, &parts->items[i], work);
		for (size_t i = 0; !parts && i < process->range_rows.count; i++)
			add_row(table, process, &process->range_rows.items[i], work);
		if (!parts)
			add_framework_rows(table, process, work);
		add_notes(table, process);
		if (work && table->row_count > rows)
			add_work_notes(table, process, work);
		has_gpu = has_gpu || (process->gpu && table->row_count > rows);
	}
	table_sort(table, TOTAL, false);
	if (is_part(request))
		table_note(table, NOTE_INFO,
			   "Of a part of the time or of the threads: what began in it counts whole, a range inside one of its name again; "
			   "self is without all ranges and ops inside.");
	if (table->row_count == 0 && is_part(request))
		table_note(table, NOTE_INFO, "No range began in what was asked for.");
	else if (table->row_count == 0)
		table_note(table, NOTE_INFO, "Nothing announced a range: no NVTX, no call of the C API, no framework that does.");
	if (has_gpu)
		gpu_notes(table, request);
	notes_recording(table, request);
}

static const struct analysis_kind *const needs[] = {&analysis_range_work, &analysis_range_parts, NULL};

const struct table_kind table_range_stats = {
	.id = "range_stats",
	.title = "Named ranges",
	.help = "What the program and its libraries announced with NVTX, the C API, record_function or TraceMe: how often, how long, "
		"with and without what was inside, and what devices did for it.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_WINDOW | FILTER_STEP | FILTER_THREAD | FILTER_DEVICE | FILTER_STREAM,
	.text_rows = 30,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill,
};

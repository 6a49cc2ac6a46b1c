/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_gaps: the longest stretches in which a device rested between two pieces of work, and what the host did meanwhile.
 *
 * Rule: what the host did is a lower bound, as far as it was recorded; an instant at which it did several things belongs to
 * the first of the columns. With --window gaps lie between work that began in it.
 */
#include "reducer/analysis/gaps.h"
#include "reducer/analysis/units.h"
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/process_cells.h"

#include <string.h>

enum {
	TIME,
	DURATION,
	PROCESS,
	DEVICE,
	STEP,
	CAUSE,
	DURING,
	DURING_NS,
	LATE,
	DELAY,
	COMPILATION,
	INPUT,
	LAUNCH,
	COMPUTE,
	COMMUNICATION,
	WAIT,
	OTHER,
	PREVIOUS,
	NEXT,
	OP,
	RANGE,
	THREAD,
	MACHINE, MEMBER, COLUMNS
};

static const struct table_column columns[] = {
	[TIME] = {"time_ns", "time", TABLE_INTEGER, UNIT_NS, 0, "when the last work before it ended, from the start of the run"},
	[DURATION] = {"duration_ns", "rests", TABLE_INTEGER, UNIT_NS, 0, "until the next work of this process began on the device"},
	[PROCESS] = {"process", "process", TABLE_INTEGER, UNIT_NONE, 1, "pid: of what this process gave the device"},
	[DEVICE] = {"device", "device", TABLE_INTEGER, UNIT_NONE, 1, "CUDA ordinal"},
	[STEP] = {"step", "step", TABLE_INTEGER, UNIT_NONE, 0, "number of the step in which it began; empty = in none"},
	[CAUSE] = {"cause", "the host", TABLE_TEXT, UNIT_NONE, 0,
		   "inferred: what the host did for most of it, by the columns below; other = nothing that was recorded"},
	[DURING] = {"during", "most of it", TABLE_TEXT, UNIT_NONE, 0,
		    "inferred: the call, range, op or file of the host that fits the gap best, of those of 2 us or more"},
	[DURING_NS] = {"during_ns", "took", TABLE_INTEGER, UNIT_NS, 2, "how much of the gap that took"},
	[LATE] = {"host_late_ns", "host late", TABLE_INTEGER, UNIT_NS, 0,
		  "until the host called for the next work; empty = that call was not recorded"},
	[DELAY] = {"delay_ns", "delay", TABLE_INTEGER, UNIT_NS, 1,
		   "from that call on, or from the gap's start if it came earlier: the work was asked for and had not begun"},
	[COMPILATION] = {"compilation_ns", "compiles", TABLE_INTEGER, UNIT_NS, 2, "the host compiled or loaded code"},
	[INPUT] = {"input_ns", "input", TABLE_INTEGER, UNIT_NS, 1, "and else waited for input"},
	[LAUNCH] = {"launch_ns", "launches", TABLE_INTEGER, UNIT_NS, 1, "and else was in calls that launch, copy or set"},
	[COMPUTE] = {"host_compute_ns", "computes", TABLE_INTEGER, UNIT_NS, 1, "and else computed ops, or was in other calls of CUDA"},
	[COMMUNICATION] = {"communication_ns", "communication", TABLE_INTEGER, UNIT_NS, 2, "and else exchanged data with other processes"},
	[WAIT] = {"wait_ns", "waits", TABLE_INTEGER, UNIT_NS, 1, "and else was in calls that wait for a device"},
	[OTHER] = {"other_ns", "other", TABLE_INTEGER, UNIT_NS, 1, "nothing of it: Python, sleep, what was not recorded"},
	[PREVIOUS] = {"previous", "previous work", TABLE_TEXT, UNIT_NONE, 1, "the work that ended last before it"},
	[NEXT] = {"next", "next work", TABLE_TEXT, UNIT_NONE, 0, "the work that ended it"},
	[OP] = {"op", "op", TABLE_TEXT, UNIT_NONE, 2, "innermost op of the thread when it called for the work that ended it"},
	[RANGE] = {"range", "range", TABLE_TEXT, UNIT_NONE, 2, "likewise the innermost range that is no op"},
	[THREAD] = {"thread", "thread", TABLE_INTEGER, UNIT_NONE, 2, "kernel thread id of the one that called for it"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

_Static_assert(COMPILATION + GAP_OTHER == OTHER, "a column a part");

static void put_row(struct table *table, const struct process *process, const struct units *units, const struct gaps *gaps,
		    const struct gap *gap)
{
	const char *const *words = gaps->words.items;
	const struct unit *unit = units_at(units, gap->start_ns, 0, UINT64_MAX);
	enum gap_part most = GAP_OTHER;

	table_row(table);
	table_integer(table, TIME, gap->start_ns);
	table_integer(table, DURATION, (int64_t)gap->ns);
	table_process(table, PROCESS, MACHINE, process);
	gpu_put_device(table, DEVICE, gap->device);
	if (unit)
		table_integer(table, STEP, (int64_t)unit->number);
	for (enum gap_part part = 0; part < GAP_PARTS; part++) {
		table_integer(table, COMPILATION + (size_t)part, (int64_t)gap->part_ns[part]);
		most = gap->part_ns[part] > gap->part_ns[most] ? part : most;
	}
	table_string(table, CAUSE, gap_part_name(most));
	gpu_put_linker_name(table, DURING, words[gap->during]);
	if (gap->during_ns)
		table_integer(table, DURING_NS, (int64_t)gap->during_ns);
	if (gap->called_ns != TIME_UNKNOWN) {
		int64_t late = gap->called_ns - gap->start_ns;
		late = late < 0 ? 0 : late > (int64_t)gap->ns ? (int64_t)gap->ns : late;
		table_integer(table, LATE, late);
		table_integer(table, DELAY, (int64_t)gap->ns - late);
	}
	gpu_put_linker_name(table, PREVIOUS, words[gap->before]);
	gpu_put_linker_name(table, NEXT, words[gap->after]);
	gpu_put_linker_name(table, OP, words[gap->op]);
	gpu_put_linker_name(table, RANGE, words[gap->range]);
	gpu_put_thread(table, THREAD, process, gap->thread);
}

static void put_sum(struct table *table, const struct process *process, const struct gap_sum *sum, size_t shown)
{
	if (sum->all - sum->unrecorded > shown)
		table_note(table, NOTE_INFO,
			   "Process %s, device %u: %llu gaps in all; the table has the longest of each process, %zu at most, and looks for "
			   "them among the longest %llu of the device.",
			   process->called, sum->device, (unsigned long long)(sum->all - sum->unrecorded), (size_t)GAPS_MOST,
			   (unsigned long long)sum->kept);
	if (sum->unrecorded)
		table_note(table, NOTE_MISSING,
			   "Process %s, device %u: %llu " BY_COUNT("stretch", "stretches") " without work, %.3f ms in all, no gaps: "
			   "a part of each was outside of every window.",
			   process->called, sum->device, (unsigned long long)sum->unrecorded, (double)sum->unrecorded_ns / 1e6);
	if (sum->late)
		table_note(table, NOTE_INFERRED,
			   "Process %s, device %u: %llu " BY_COUNT("piece", "pieces") " of work came so late that gaps may be shown "
			   "there.",
			   process->called, sum->device, (unsigned long long)sum->late);
}

static size_t count_of(const struct gaps *gaps, uint32_t device)
{
	size_t count = 0;

	for (size_t i = 0; i < gaps->count; i++)
		count += gaps->rows[i].device == device;
	return count;
}

static void fill(struct table *table, const struct request *request)
{
	if (!gpu_any(table, request))
		return;
	for (size_t p = 0; p < request->run->process_count; p++) {
		const struct process *process = &request->run->processes[p];
		const struct gaps *gaps = analyses_process(request->analyses, &analysis_gaps, p);
		struct units units = {0};
		if (!gaps)
			continue;
		units_of_steps(&units, process);
		for (size_t i = 0; i < gaps->count; i++)
			if (gpu_wants_device_number(request, process->gpu, gaps->rows[i].device))
				put_row(table, process, &units, gaps, &gaps->rows[i]);
		for (size_t i = 0; i < gaps->sum_count; i++)
			if (gpu_wants_device_number(request, process->gpu, gaps->sums[i].device))
				put_sum(table, process, &gaps->sums[i], count_of(gaps, gaps->sums[i].device));
		units_free(&units);
	}
	table_sort(table, DURATION, false);
	gpu_notes(table, request);
}

static const struct analysis_kind *const needs[] = {&analysis_gaps, NULL};
const struct table_kind table_device_gaps = {
	.id = "device_gaps",
	.title = "Gaps of devices",
	.help = "The longest stretches in which a device rested between two pieces of work: what the host did, and whether it was "
		"late.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_WINDOW | FILTER_PROCESS | FILTER_DEVICE | FILTER_STEP,
	.text_rows = 20,
	.needs_scan = true,
	.sums = RUN_SUM_CURVES,
	.analyses = needs,
	.nothing = "No device rested between two pieces of work that were recorded.",
	.fill = fill,
};

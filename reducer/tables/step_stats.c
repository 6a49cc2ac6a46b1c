/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_stats: the steps of each process.
 *
 * Rule: of several sources the one that is trusted most counts (a marker of the program's own, a framework's range, NVTX by
 * the setting STEP_RANGE); steps found by their period are estimates and say how sure they are. Sources are never mixed.
 */
#include "reducer/tables/notes.h"

#include <inttypes.h>

enum { STEP, PROCESS, START, TOTAL, PERIOD, SOURCE, CONFIDENCE, NAME, THREAD, COLUMNS };

static const struct table_column columns[] = {
	[STEP] = {"step", "step", TABLE_INTEGER, UNIT_NONE, 0, "the program's or framework's number; else counted from 1"},
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 1, "pid as the process saw it"},
	[START] = {"start_ns", "start", TABLE_INTEGER, UNIT_NS, 0, "from the start of the run"},
	[TOTAL] = {"total_ns", "total", TABLE_INTEGER, UNIT_NS, 0,
		   "to the end of the range that marks it, or else to the next step; empty = neither is in the log"},
	[PERIOD] = {"period_ns", "to next", TABLE_INTEGER, UNIT_NS, 1,
		    "from this step's start to the next one's: with what lies between them"},
	[SOURCE] = {"source", "source", TABLE_TEXT, UNIT_NONE, 0, "who marked it; period = nobody did, found by what repeats"},
	[CONFIDENCE] = {"confidence", "sure", TABLE_REAL, UNIT_RATIO, 1,
			"1 = marked; by period: how alike the steps are, and this one to the others"},
	[NAME] = {"name", "marked by", TABLE_TEXT, UNIT_NONE, 2, "range that marks it; by period: the call or range that begins each"},
	[THREAD] = {"thread", "thread", TABLE_INTEGER, UNIT_NONE, 3, "kernel id of the thread that marked it"},
};

/* range_sources.def, by number. */
static const char *source_name(unsigned source)
{
	static const char *const names[] = {
#define TFP_RANGE_SOURCE(number, name, trust, help) [number] = #name,
#include "collectors/tables/range_sources.def"
#undef TFP_RANGE_SOURCE
	};

	if (source == STEP_BY_PERIOD)
		return "period";
	return source < sizeof(names) / sizeof(names[0]) && names[source] ? names[source] : "a later source";
}

/* The next chosen step of the same source; of the same thread where threads mark their own. NULL = none. */
static const struct step *next_of(const struct process *process, size_t i)
{
	const struct step *step = &process->steps[i];

	for (size_t n = i + 1; n < process->step_count; n++)
		if (process->steps[n].is_chosen && process->steps[n].source == step->source && process->steps[n].thread == step->thread)
			return &process->steps[n];
	return NULL;
}

static void add_step(struct table *table, const struct process *process, size_t i)
{
	const struct step *step = &process->steps[i], *next = next_of(process, i);

	table_row(table);
	table_integer(table, STEP, (int64_t)step->number);
	table_integer(table, PROCESS, process->pid);
	table_integer(table, START, step->time_ns);
	if (step->end_ns != TIME_UNKNOWN)
		table_integer(table, TOTAL, step->end_ns - step->time_ns);
	else if (next != NULL)
		table_integer(table, TOTAL, next->time_ns - step->time_ns);
	if (next != NULL)
		table_integer(table, PERIOD, next->time_ns - step->time_ns);
	table_string(table, SOURCE, source_name(step->source));
	table_real(table, CONFIDENCE, step->confidence);
	table_string(table, NAME, step->name);
	for (size_t t = 0; t < process->thread_count; t++)
		if (process->threads[t].serial == step->thread)
			table_integer(table, THREAD, process->threads[t].tid);
}

static void add_process(struct table *table, const struct request *request, const struct process *process)
{
	size_t passed_over = 0, estimated = 0;

	for (size_t i = 0; i < process->step_count; i++) {
		const struct step *step = &process->steps[i];
		passed_over += !step->is_chosen;
		if (!step->is_chosen || step->time_ns > request->to_ns || step->time_ns < request->from_ns)
			continue;
		estimated += step->source == STEP_BY_PERIOD;
		add_step(table, process, i);
	}
	if (passed_over > 0)
		table_note(table, NOTE_INFO,
			   "Process %u: %zu steps that a less trusted source marked are left out.", process->pid, passed_over);
	if (estimated > 0)
		table_note(table, NOTE_INFERRED,
			   "Process %u: nobody marked its steps; these %zu follow from what repeats among its ranges and GPU calls. "
			   "Where in the loop a step begins is a guess.", process->pid, estimated);
}

static void fill(struct table *table, const struct request *request)
{
	for (size_t p = 0; p < request->run->process_count; p++)
		if (request_wants_process(request, &request->run->processes[p]))
			add_process(table, request, &request->run->processes[p]);
	if (table->row_count == 0)
		table_note(table, NOTE_INFO,
			   "No steps: nobody marked any (tfprof_step, a framework, TFPROF_STEP_RANGE), and nothing in the log repeats "
			   "like steps.");
	notes_recording(table, request);
}

const struct table_kind table_step_stats = {
	.id = "step_stats",
	.title = "Steps",
	.help = "When each training step began and how long it took, who said so, and how sure that is.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_WINDOW,
	.text_rows = 30,
	.needs_scan = true,
	.fill = fill,
};

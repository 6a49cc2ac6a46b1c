/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_steps: the steps that windows `slow:` opened behind, and where their Python code was.
 *
 * Rule: a row is a line within a slow step, by looks at the step's thread (collectors/python_held.h); a step that nobody looked at has
 * one row without a line. A look stands for the time since the one before, as far as that lies in the step.
 */
#include "reducer/tables/slow_steps.h"

#include "reducer/analysis/units.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"
#include "reducer/tables/python_lines.h"
#include "reducer/tables/step_values.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LOOKED_MOSTLY 90.0 /* percent of a step: of less shares are told as the least that there was */

enum {
	PROCESS,
	STEP,
	START,
	TOTAL,
	SLOWER,
	FUNCTION,
	FILE_NAME,
	LINE,
	OWN_PERCENT,
	OWN,
	SELF,
	CPU,
	COLLECTING,
	LOOKS,
	MACHINE,
	MEMBER,
	COLUMNS
};

static const struct table_column columns[] = {
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 0, "pid as the process saw it"},
	[STEP] = {"step", "step", TABLE_INTEGER, UNIT_NONE, 0, "its number; empty = its record is not in the log"},
	[START] = {"start_ns", "start", TABLE_INTEGER, UNIT_NS, 1, "from the start of the run"},
	[TOTAL] = {"total_ns", "took", TABLE_INTEGER, UNIT_NS, 0, "the whole step"},
	[SLOWER] = {"slower", "slower by", TABLE_REAL, UNIT_RATIO, 0,
		    "by how much it was longer than all but one of the 15 before it, 0.5 = 50 % longer"},
	[FUNCTION] = {"function", "function", TABLE_TEXT, UNIT_NONE, 0,
		      "qualified name; before Python 3.11 the plain one; empty = nobody looked at Python code meanwhile"},
	[FILE_NAME] = {"file", "file", TABLE_TEXT, UNIT_NONE, 0, "as the code object has it"},
	[LINE] = {"line", "line", TABLE_INTEGER, UNIT_NONE, 0, "that was running; 0 = the interpreter says none"},
	[OWN_PERCENT] = {"own_percent", "%", TABLE_REAL, UNIT_NONE, 0, "own_ns, of the step"},
	[OWN] = {"own_ns", "own", TABLE_INTEGER, UNIT_NS, 0,
		 "wall time of the step's thread, running or waiting, in which it was the innermost line of the program's own code: in it "
		 "and in the libraries that it called"},
	[SELF] = {"self_ns", "itself", TABLE_INTEGER, UNIT_NS, 1, "the same where it was the innermost line of all"},
	[CPU] = {"cpu_own_ns", "processor", TABLE_INTEGER, UNIT_NS, 0,
		 "processor time of the thread, as own_ns: much less than that = it waited"},
	[COLLECTING] = {"collecting_ns", "collecting", TABLE_INTEGER, UNIT_NS, 1,
			"of own_ns, Python's garbage collector ran, in this thread or another one"},
	[LOOKS] = {"looks", "looks", TABLE_INTEGER, UNIT_COUNT, 1, "records of looks at which own_ns counts"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

/* What looks within one step say of a line. */
struct line_sums {
	uint64_t own_ns, self_ns, cpu_ns, collecting_ns, looks;
};

struct slow_step {
	size_t process;
	const struct window *edge; /* that its end opened */
	const struct unit *unit;   /* NULL = its record is not there */
};

struct slow_steps {
	const struct request *request;
	struct python_lines lines;
	struct line_sums *sums; /* of the step that is being gathered, by number of `lines` */
	size_t room;
	/* Of the look whose stack is walked; wall_ns: what of it lies in the step. */
	const struct python_look *look;
	uint64_t wall_ns;
	bool is_innermost;
	struct python_own own;
	uint64_t looked_ns; /* of the step's thread within the step, whatever the looks found */
};

static void add_own(struct slow_steps *steps, size_t number)
{
	struct line_sums *sums = &steps->sums[number];

	sums->own_ns += steps->wall_ns;
	sums->cpu_ns += steps->look->cpu_ns < steps->wall_ns ? steps->look->cpu_ns : steps->wall_ns;
	sums->collecting_ns += steps->look->is_collecting ? steps->wall_ns : 0;
	sums->looks++;
}

static void take_frame(void *context, const struct symbol_frame *frame)
{
	struct slow_steps *steps = context;
	size_t before = steps->lines.count, number;

	if (frame->module != FRAMES_PYTHON || steps->own.is_certain)
		return;
	number = python_lines_number(&steps->lines, frame);
	steps->sums = base_grow(steps->sums, &steps->room, number + 1, sizeof(*steps->sums));
	struct line_sums *sums = &steps->sums[number];
	if (number == before)
		*sums = (struct line_sums){0};
	sums->self_ns += steps->is_innermost ? steps->wall_ns : 0;
	steps->is_innermost = false;
	python_own_take(&steps->own, frame, number);
}

/* The first look that may lie in the step. */
static size_t first_of(const struct python_rows *rows, const struct slow_step *step)
{
	const struct python_look wanted = {.thread = step->unit->thread, .time_ns = step->unit->start_ns + 1};
	size_t from = 0, to = rows->held_count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (python_look_compare(&rows->held[middle], &wanted) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static bool is_in(const struct slow_step *step, const struct python_look *look)
{
	return look->thread == step->unit->thread && look->time_ns <= step->unit->end_ns;
}

static void take_look(struct slow_steps *steps, const struct slow_step *step, const struct python_look *look)
{
	uint64_t since = (uint64_t)(look->time_ns - step->unit->start_ns);

	steps->look = look;
	steps->wall_ns = look->wall_ns < since ? look->wall_ns : since;
	steps->looked_ns += steps->wall_ns;
	if (!look->stack || look->stack == PYTHON_LOOK_IN_DOUBT)
		return;
	steps->is_innermost = true;
	steps->own = PYTHON_OWN_NONE;
	frames_walk(steps->request->frames, step->process, look->stack, take_frame, steps);
	if (steps->own.line != SIZE_MAX)
		add_own(steps, steps->own.line);
}

/* Into steps->sums. */
static void gather(struct slow_steps *steps, const struct slow_step *step)
{
	const struct python_rows *rows = &steps->request->run->processes[step->process].python;

	steps->looked_ns = 0;
	if (steps->lines.count)
		memset(steps->sums, 0, steps->lines.count * sizeof(*steps->sums));
	for (size_t i = step->unit ? first_of(rows, step) : rows->held_count; i < rows->held_count && is_in(step, &rows->held[i]); i++)
		take_look(steps, step, &rows->held[i]);
}

static double percent_of(const struct slow_step *step, uint64_t ns)
{
	double whole = (double)(step->unit->end_ns - step->unit->start_ns), percent = whole > 0 ? 100.0 * (double)ns / whole : 0;

	return percent < 100 ? percent : 100;
}

static void put_step(struct table *table, const struct slow_steps *steps, const struct slow_step *step)
{
	table_row(table);
	table_process(table, PROCESS, MACHINE, &steps->request->run->processes[step->process]);
	table_real(table, SLOWER, (double)step->edge->index / 100);
	if (!step->unit)
		return;
	table_integer(table, STEP, (int64_t)step->unit->number);
	table_integer(table, START, step->unit->start_ns);
	table_integer(table, TOTAL, step->unit->end_ns - step->unit->start_ns);
}

static int by_own(const void *a, const void *b, void *context)
{
	const struct slow_steps *steps = context;
	size_t one = *(const size_t *)a, other = *(const size_t *)b;
	const struct line_sums *first = &steps->sums[one], *second = &steps->sums[other];

	if (first->own_ns != second->own_ns)
		return first->own_ns > second->own_ns ? -1 : 1;
	if (first->self_ns != second->self_ns)
		return first->self_ns > second->self_ns ? -1 : 1;
	return one < other ? -1 : one > other;
}

/* Their numbers, those with most first. Returns how many lines the step has. */
static size_t sort_lines(struct slow_steps *steps, size_t *order)
{
	size_t count = 0;

	for (size_t i = 0; i < steps->lines.count; i++)
		if (steps->sums[i].own_ns || steps->sums[i].self_ns)
			order[count++] = i;
	qsort_r(order, count, sizeof(*order), by_own, steps);
	return count;
}

static void put_lines(struct table *table, struct slow_steps *steps, const struct slow_step *step)
{
	size_t *order = base_alloc(steps->lines.count + 1, sizeof(*order)), count = sort_lines(steps, order);

	for (size_t i = 0; i < count; i++) {
		const struct line_sums *sums = &steps->sums[order[i]];
		put_step(table, steps, step);
		python_lines_put(&steps->lines, order[i], table, FUNCTION);
		table_real(table, OWN_PERCENT, percent_of(step, sums->own_ns));
		table_integer(table, OWN, (int64_t)sums->own_ns);
		table_integer(table, SELF, (int64_t)sums->self_ns);
		table_integer(table, CPU, (int64_t)sums->cpu_ns);
		table_integer(table, COLLECTING, (int64_t)sums->collecting_ns);
		table_integer(table, LOOKS, (int64_t)sums->looks);
	}
	if (!count)
		put_step(table, steps, step);
	free(order);
}

typedef void slow_visit(void *context, struct slow_steps *steps, const struct slow_step *step);

static bool is_asked(const struct request *request, const struct slow_step *step)
{
	const struct unit *unit = step->unit;

	if (step->edge->time_ns < request->from_ns || (unit ? unit->start_ns : step->edge->time_ns) > request->to_ns)
		return false;
	return !request->has_steps || (unit && unit->number >= request->first_step && unit->number <= request->last_step);
}

static void visit_process(struct slow_steps *steps, size_t number, slow_visit *visit, void *context)
{
	const struct process *process = &steps->request->run->processes[number];
	struct units units = {0};

	for (size_t i = 0; i < process->window_count; i++) {
		const struct window *edge = &process->windows[i];
		if (!edge->is_open || edge->cause != WINDOW_BY_SLOW)
			continue;
		if (!units.count)
			units_of_steps(&units, process);
		struct slow_step step = {.process = number, .edge = edge, .unit = units_at(&units, edge->time_ns - 1, 0, UINT64_MAX)};
		if (!is_asked(steps->request, &step))
			continue;
		gather(steps, &step);
		visit(context, steps, &step);
	}
	units_free(&units);
}

static void visit_all(const struct request *request, slow_visit *visit, void *context)
{
	struct slow_steps steps = {.request = request, .lines = python_lines_make()};

	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]))
			visit_process(&steps, i, visit, context);
	python_lines_free(&steps.lines);
	free(steps.sums);
}

static void add_step(void *context, struct slow_steps *steps, const struct slow_step *step)
{
	put_lines(context, steps, step);
}

/* The longest slow step that somebody looked at. */
struct longest {
	uint64_t count; /* of all slow steps */
	struct text said;
	int64_t ns;
};

static void take_longest(void *context, struct slow_steps *steps, const struct slow_step *step)
{
	struct longest *longest = context;
	size_t first = 0;

	longest->count++;
	if (!step->unit || !steps->lines.count || step->unit->end_ns - step->unit->start_ns <= longest->ns)
		return;
	for (size_t i = 1; i < steps->lines.count; i++)
		first = steps->sums[i].own_ns > steps->sums[first].own_ns ? i : first;
	if (!steps->sums[first].own_ns)
		return;
	longest->ns = step->unit->end_ns - step->unit->start_ns;
	text_clear(&longest->said);
	text_format(&longest->said, "Slow step %" PRIu64 " (", step->unit->number);
	step_time_put(&longest->said, (double)longest->ns);
	text_format(&longest->said, ") spent %s%.0f %% of its time in ",
		    percent_of(step, steps->looked_ns) < LOOKED_MOSTLY ? "at least " : "", percent_of(step, steps->sums[first].own_ns));
	python_line_place(&longest->said, &steps->lines.list[first]);
	text_format(&longest->said, " (%s), by looks at Python code", steps->lines.list[first].function);
}

void slow_steps_note(struct table *table, const struct request *request)
{
	struct longest longest = {0};

	visit_all(request, take_longest, &longest);
	if (longest.said.length && longest.count > 1)
		table_note(table, NOTE_INFERRED, "%s; the longest of %" PRIu64 " slow steps: -t slow_steps.", longest.said.bytes,
			   longest.count);
	else if (longest.said.length)
		table_note(table, NOTE_INFERRED, "%s: -t slow_steps.", longest.said.bytes);
	text_free(&longest.said);
}

static void note_looks(struct table *table, const struct request *request)
{
	uint64_t held = 0, beyond = 0;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		held += request_wants_process(request, process) ? process->python.held_count : 0;
		beyond += request_wants_process(request, process) ? process->python.held_beyond : 0;
	}
	if (held)
		table_note(table, NOTE_INFERRED,
			   "Estimates, by looks at the step's thread; of a long step the last 8,192 looks at all threads are known. "
			   "What is missing to 100 %% was in no Python code, in none of the program's own lines, or not looked at with "
			   "certainty.");
	else if (table->row_count)
		table_note(table, NOTE_MISSING,
			   "Nobody looked at Python code in slow steps: PYTHON_TIME=0, a program of one thread, no Python from 3.8 to "
			   "3.15, steps that were over before the first look, or a library that took none outside of windows.");
	else if (!notes_not_in_file(table, request))
		table_note(table, NOTE_INFO, "No window opened behind a slow step: TFPROF_WINDOW=slow:50%% asks for that.");
	if (beyond)
		table_note(table, NOTE_MISSING, "%" PRIu64 " further looks found no room in the reducer.", beyond);
}

static void fill(struct table *table, const struct request *request)
{
	visit_all(request, add_step, table);
	note_looks(table, request);
}

const struct table_kind table_slow_steps = {
	.id = "slow_steps",
	.title = "Slow steps",
	.help = "The steps that windows behind slow steps opened for (TFPROF_WINDOW=slow:PERCENT%), and which lines of Python they were "
		"in: seen while nothing else was recorded, and told once the step had turned out slow.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_WINDOW | FILTER_STEP,
	.text_rows = 25,
	.needs_scan = true,
	.fill = fill,
};

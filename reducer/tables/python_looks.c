/* SPDX-License-Identifier: Apache-2.0 */
/* Time of Python code by line; see reducer/tables/python_looks.h. */
#include "reducer/tables/python_looks.h"

#include "reducer/analysis/steps.h"
#include "reducer/tables/look_scope.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BETWEEN_FROM 0.5 /* of the time between steps, in one line */
#define ASIDE_FROM 0.1	/* of the steps' time: threads beside theirs that computed for so much, */
#define RESTS_MOST 0.1	/* of the time in a line was processor time: a thread waits there */
#define ASIDE_TIMES 0.5 /* and so many times as long as theirs, held them up where both run Python code */

/* The looks of a process at one stack. */
struct stack_sums {
	uint32_t stack;
	struct look_sums sums;
};

struct gathering {
	struct python_looks *looks;
	const struct request *request;
	const struct process *process;
	size_t number;	    /* of the process */
	uint64_t period_ns; /* of looks, 0 = not told */
	struct look_scope scope;
	struct stack_sums *stacks;
	size_t count, room;
	struct base_index index;
};

/* What walks stacks for their lines. */
struct walking {
	struct python_looks *looks;
	struct frames *frames;
	size_t process;
	uint64_t walked; /* stacks so far */
	/* Of the stack being walked. */
	const struct look_sums *amounts;
	bool is_innermost;
	struct python_own own;
};

bool python_looks_any(const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request->run->processes[i].python.look_count && request_wants_process(request, &request->run->processes[i]))
			return true;
	return false;
}

void python_looks_add(struct look_sums *to, const struct look_sums *more)
{
	to->looks += more->looks;
	to->time_square += more->time_square;
	to->step_square += more->step_square;
	to->time_ns += more->time_ns;
	to->step_ns += more->step_ns;
	to->other_ns += more->other_ns;
	to->cpu_ns += more->cpu_ns;
	to->between_ns += more->between_ns;
	to->between_looks += more->between_looks;
	to->collecting_ns += more->collecting_ns;
	to->collecting_step_ns += more->collecting_step_ns;
	to->ran_ns += more->ran_ns;
	to->aside_ns += more->aside_ns;
}

static void find_scope(struct gathering *gathering)
{
	const struct process *process = gathering->process;
	bool *is_seen = base_alloc(process->thread_count + 1, sizeof(*is_seen));

	for (size_t i = 0; i < process->python.look_count; i++)
		look_scope_see(&gathering->scope, is_seen, process->python.looks[i].thread);
	look_scope_choose(&gathering->scope, is_seen);
	for (size_t i = 0; i < process->thread_count; i++)
		gathering->looks->threads += gathering->scope.is_in[i];
	free(is_seen);
}

static bool stack_equal(const void *context, const void *key, uint32_t number)
{
	return ((const struct gathering *)context)->stacks[number].stack == *(const uint32_t *)key;
}

static struct look_sums *sums_of(struct gathering *gathering, uint32_t stack)
{
	uint64_t hash = base_mix(stack + 1);
	uint32_t number = base_index_find(&gathering->index, hash, stack_equal, gathering, &stack);

	if (number == UINT32_MAX) {
		gathering->stacks = base_grow(gathering->stacks, &gathering->room, gathering->count + 1, sizeof(*gathering->stacks));
		number = (uint32_t)gathering->count++;
		gathering->stacks[number] = (struct stack_sums){.stack = stack};
		base_index_add(&gathering->index, hash, number);
	}
	return &gathering->stacks[number].sums;
}

/* How often the thread was looked at for it: where it does not run several looks are told as one. Of several looks one was drawn. */
static uint64_t looks_in(const struct gathering *gathering, const struct python_look *look)
{
	uint64_t count = look->cpu_ns || look->count > 1 || !gathering->period_ns ? 1 : look->wall_ns / gathering->period_ns;

	return count ? count : 1;
}

static void take_sums(struct gathering *gathering, uint32_t stack, const struct look_sums *more)
{
	python_looks_add(&gathering->looks->all, more);
	if (stack == PYTHON_LOOK_IN_DOUBT)
		python_looks_add(&gathering->looks->doubtful, more);
	else
		python_looks_add(stack ? sums_of(gathering, stack) : &gathering->looks->nowhere, more);
}

static void take_look(struct gathering *gathering, const struct python_look *look, bool is_marked)
{
	bool is_in_scope = look_scope_has(&gathering->scope, look->thread);
	const struct unit *step;

	if (gathering->request->thread && !is_in_scope)
		return;
	if (look->count > gathering->looks->each_most)
		gathering->looks->each_most = look->count;
	if (is_in_scope && look_scope_asked(&gathering->scope, look->time_ns, &step)) {
		uint64_t wall = look->wall_ns, in_step = step ? wall : 0, count = looks_in(gathering, look);
		bool is_in_none = !step && look_scope_is_between(&gathering->scope, look->time_ns);
		const struct look_sums more = {
			.looks = count,
			.time_square = (double)wall * (double)wall / (double)count,
			.step_square = (double)in_step * (double)in_step / (double)count,
			.time_ns = wall,
			.step_ns = in_step,
			.other_ns = is_marked ? 0 : in_step,
			.between_ns = is_in_none ? wall : 0,
			.between_looks = is_in_none ? count : 0,
			.collecting_ns = look->is_collecting ? wall : 0,
			.collecting_step_ns = look->is_collecting ? in_step : 0,
		};
		gathering->looks->step_looks += step ? count : 0;
		take_sums(gathering, look->stack, &more);
	}
	if (look->cpu_ns && look_scope_asked(&gathering->scope, look->cpu_time_ns, &step))
		take_sums(gathering, look->cpu_stack,
			  &(struct look_sums){.cpu_ns = look->cpu_ns,
					      .ran_ns = step && is_in_scope ? look->cpu_ns : 0,
					      .aside_ns = step && !is_in_scope ? look->cpu_ns : 0});
}

static void take_process(struct gathering *gathering, python_looks_visit *visit, void *context)
{
	const struct process *process = gathering->process;
	const struct steps *steps = analyses_process(gathering->request->analyses, &analysis_steps, gathering->number);
	size_t mark = 0;

	look_scope_make(&gathering->scope, gathering->request, gathering->number, gathering->looks->judged);
	find_scope(gathering);
	gathering->looks->has_steps |= gathering->scope.steps.count != 0;
	look_scope_add_whole(&gathering->scope, &gathering->looks->asked_steps_ns, &gathering->looks->asked_lives_ns);
	for (size_t i = 0; i < process->python.look_count; i++) {
		while (steps && mark < steps->looked.count && steps->looked.marks[mark].look < i)
			mark++;
		take_look(gathering, &process->python.looks[i],
			  steps && mark < steps->looked.count && steps->looked.marks[mark].look == i);
	}
	for (size_t i = 0; i < gathering->count; i++)
		visit(context, gathering->number, gathering->stacks[i].stack, &gathering->stacks[i].sums);
	look_scope_free(&gathering->scope);
	base_index_free(&gathering->index);
	free(gathering->stacks);
}

void python_looks_of_process(struct python_looks *looks, const struct request *request, size_t process, python_looks_visit *visit,
			     void *context)
{
	const struct process *of = &request->run->processes[process];
	struct gathering gathering = {.looks = looks, .request = request, .process = of, .number = process};
	const char *period = process_setting(of, "PYTHON_TIME");

	if (!of->python.look_count)
		return;
	gathering.period_ns = period ? strtoull(period, NULL, 10) * 1000000 : 0;
	take_process(&gathering, visit, context);
	looks->processes++;
}

void python_looks_stacks(struct python_looks *looks, const struct request *request, python_looks_visit *visit, void *context)
{
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]))
			python_looks_of_process(looks, request, i, visit, context);
}

static void take_frame(void *context, const struct symbol_frame *frame)
{
	struct walking *walking = context;
	struct python_looks *looks = walking->looks;
	size_t before = looks->lines.count, number;

	if (frame->module != FRAMES_PYTHON)
		return;
	number = python_lines_number(&looks->lines, frame);
	looks->list = base_grow(looks->list, &looks->room, number + 1, sizeof(*looks->list));
	struct look_line *line = &looks->list[number];
	if (number == before)
		*line = (struct look_line){0};
	if (walking->is_innermost)
		python_looks_add(&line->self, walking->amounts);
	walking->is_innermost = false;
	python_own_take(&walking->own, frame, number);
	if (line->stack == walking->walked)
		return;
	line->stack = walking->walked;
	python_looks_add(&line->total, walking->amounts);
	line->processes += line->process != walking->process + 1;
	line->process = walking->process + 1;
}

static void walk_stack(void *context, size_t process, uint32_t stack, const struct look_sums *sums)
{
	struct walking *walking = context;

	walking->process = process;
	walking->amounts = sums;
	walking->is_innermost = true;
	walking->own = PYTHON_OWN_NONE;
	walking->walked++;
	frames_walk(walking->frames, process, stack, take_frame, walking);
	if (walking->own.line != SIZE_MAX)
		python_looks_add(&walking->looks->list[walking->own.line].own, sums);
}

static void gather(struct python_looks *looks, const struct request *request, const struct step_rows *judged)
{
	struct walking walking = {.looks = looks, .frames = request->frames};

	*looks = (struct python_looks){.lines = python_lines_make(), .judged = judged};
	python_looks_stacks(looks, request, walk_stack, &walking);
	looks->judged = NULL;
}

void python_looks_gather(struct python_looks *looks, const struct request *request)
{
	gather(looks, request, NULL);
}

void python_looks_gather_judged(struct python_looks *looks, const struct request *request)
{
	struct step_rows rows;

	step_rows_find(&rows, request);
	gather(looks, request, &rows);
	step_rows_free(&rows);
}

void python_looks_free(struct python_looks *looks)
{
	python_lines_free(&looks->lines);
	free(looks->list);
	*looks = (struct python_looks){0};
}

size_t python_looks_first(const struct python_looks *looks, bool is_other)
{
	size_t first = SIZE_MAX;
	uint64_t most = 0;

	for (size_t i = 0; i < looks->lines.count; i++) {
		uint64_t judged = is_other ? looks->list[i].own.other_ns : python_looks_judged(looks, &looks->list[i].own);
		if (judged > most) {
			most = judged;
			first = i;
		}
	}
	return first;
}

void python_looks_place(struct text *text, const struct python_looks *looks, size_t number)
{
	python_line_place(text, &looks->lines.list[number]);
}

/* Of how many processes the looks are; 0 = of all that are asked for, or it is steps or threads that count. */
static size_t of_processes(const struct request *request, const struct python_looks *looks)
{
	return !looks->has_steps && !request->thread ? look_scope_wanted(request, looks->processes) : 0;
}

static void put_whose_time(struct text *text, const struct request *request, const struct python_looks *looks)
{
	size_t wanted = of_processes(request, looks);

	if (wanted)
		text_format(text, "the time of the first thread%s of %" PRIu32 " of the %zu processes", looks->processes > 1 ? "s" : "",
			    looks->processes, wanted);
	else if (looks->has_steps)
		text_string(text, "the step time");
	else if (request->thread)
		text_string(text, "the time of the threads asked for");
	else
		text_string(text, looks->processes > 1 ? "the time of the processes' first threads" : "the first thread's time");
}

/*
 * Without steps, and of several processes: the only one that the line was met in. What part of them all it had says nothing of it then:
 * it is the smaller, the more workers there are beside it. NULL = there is none such.
 */
static const struct process *only_in(const struct request *request, const struct python_looks *looks, size_t line)
{
	const struct look_line *met = &looks->list[line];

	return !looks->has_steps && !request->thread && looks->processes > 1 && met->processes == 1 && met->process
		       ? &request->run->processes[met->process - 1]
		       : NULL;
}

/* Time in none of the steps' parts but 'other' in which no line of the program's own ran or had called. */
static uint64_t unowned_of(const struct python_looks *looks)
{
	uint64_t owned = 0;

	for (size_t i = 0; i < looks->lines.count; i++)
		owned += looks->list[i].own.other_ns;
	return looks->all.other_ns - owned;
}

double python_looks_bounded(double part, double looked, double measured)
{
	return looked > measured ? part * measured / looked : part;
}

/* What no op was recorded of. */
static void say_other(struct text *sentence, const struct python_looks *looks, const char *place, const char *function, uint64_t part,
		      double other)
{
	double all = (double)python_looks_whole(looks), looked = 100.0 * (double)looks->all.other_ns / all;
	double percent = python_looks_bounded(100.0 * (double)part / all, looked, other);
	double unowned = python_looks_bounded(100.0 * (double)unowned_of(looks) / all, looked, other);

	if (unowned > percent)
		text_format(sentence,
			    " Of the program's own lines %s (%s) has most of it, %.0f %% of the step time by looks at Python code; %.0f %% "
			    "is in none of them (library code that waits in a thread of its own, say).",
			    place, function, percent, unowned);
	else
		text_format(sentence, " The largest part of it is in %s (%s), %.0f %% of the step time by looks at Python code.", place,
			    function, percent);
}

void python_looks_say(struct text *sentence, const struct request *request, double other, double least)
{
	struct python_looks looks;
	bool is_other = other >= 0;
	size_t first;

	if (!python_looks_any(request))
		return;
	python_looks_gather_judged(&looks, request);
	first = python_looks_is_enough(&looks) && (looks.has_steps || !is_other) ? python_looks_first(&looks, is_other) : SIZE_MAX;
	if (first != SIZE_MAX) {
		const struct look_sums *own = &looks.list[first].own;
		const struct process *only = only_in(request, &looks, first);
		uint64_t part = is_other ? own->other_ns : python_looks_judged(&looks, own);
		uint64_t all = only ? look_scope_within(request, only->start_ns, only->end_ns) : python_looks_whole(&looks);
		double percent = 100.0 * (double)part / (double)all;
		struct text place = {0};
		python_looks_place(&place, &looks, first);
		const char *function = looks.lines.list[first].function;
		if (percent >= least && is_other)
			say_other(sentence, &looks, place.bytes, function, part, other);
		else if (percent >= least && only)
			text_format(sentence, " %.0f %% of the time of process %s's first thread is in %s (%s), by looks at Python code.",
				    percent, only->called, place.bytes, function);
		else if (percent >= least) {
			text_format(sentence, " %.0f %% of ", percent);
			put_whose_time(sentence, request, &looks);
			text_format(sentence, " is in %s (%s), by looks at Python code.", place.bytes, function);
		}
		text_free(&place);
	}
	python_looks_free(&looks);
}

void python_looks_say_computing(struct text *sentence, const struct request *request, double least)
{
	struct python_looks looks;
	size_t first, most = 0;

	if (!python_looks_any(request))
		return;
	python_looks_gather_judged(&looks, request);
	first = !looks.has_steps && python_looks_is_enough(&looks) ? python_looks_first(&looks, false) : SIZE_MAX;
	for (size_t i = 1; i < looks.lines.count; i++)
		most = looks.list[i].own.cpu_ns > looks.list[most].own.cpu_ns ? i : most;
	if (first != SIZE_MAX) {
		const struct look_sums *own = &looks.list[first].own;
		double waited = (double)own->time_ns, all = (double)looks.all.cpu_ns, part = (double)looks.list[most].own.cpu_ns;
		if (most != first && 100 * waited >= least * (double)python_looks_whole(&looks) &&
		    (double)own->cpu_ns <= RESTS_MOST * waited && all >= ASIDE_FROM * (double)python_looks_whole(&looks) &&
		    100 * part >= least * all) {
			struct text place = {0};
			python_looks_place(&place, &looks, most);
			text_string(sentence, " It waits there; of the processor time of all threads that Python knows");
			if (of_processes(request, &looks))
				text_format(sentence, " in %" PRIu32 " of the %zu processes", looks.processes,
					    of_processes(request, &looks));
			text_format(sentence, " %.0f %% is in %s (%s).", 100 * part / all, place.bytes, looks.lines.list[most].function);
			text_free(&place);
		}
	}
	python_looks_free(&looks);
}

/* Of the program's own lines in the function of that one. */
static struct look_sums sums_of_function(const struct python_looks *looks, size_t line)
{
	const struct python_line_name *names = looks->lines.list;
	struct look_sums sums = {0};

	for (size_t i = 0; i < looks->lines.count; i++)
		if (strcmp(names[i].function, names[line].function) == 0 && strcmp(names[i].file, names[line].file) == 0)
			python_looks_add(&sums, &looks->list[i].own);
	return sums;
}

void python_looks_say_between(struct text *sentence, const struct request *request)
{
	struct python_looks looks;
	size_t most = 0;

	if (!python_looks_any(request))
		return;
	python_looks_gather_judged(&looks, request);
	for (size_t i = 1; i < looks.lines.count; i++)
		most = looks.list[i].own.between_ns > looks.list[most].own.between_ns ? i : most;
	const struct look_sums function = looks.lines.count ? sums_of_function(&looks, most) : (struct look_sums){0};
	if (function.between_ns && (double)function.between_ns >= BETWEEN_FROM * (double)looks.all.between_ns &&
	    function.between_looks >= PYTHON_LOOKS_ENOUGH) {
		struct text place = {0};
		python_looks_place(&place, &looks, most);
		text_format(sentence, " %.0f %% of that is in %s, above all %s, by looks at Python code.",
			    100 * (double)function.between_ns / (double)looks.all.between_ns, looks.lines.list[most].function, place.bytes);
		text_free(&place);
	}
	python_looks_free(&looks);
}

/* The line in which threads beside those of the steps computed most. SIZE_MAX = they did not. */
static size_t most_aside(const struct python_looks *looks)
{
	size_t most = 0;

	for (size_t i = 1; i < looks->lines.count; i++)
		most = looks->list[i].own.aside_ns > looks->list[most].own.aside_ns ? i : most;
	return looks->lines.count && looks->list[most].own.aside_ns ? most : SIZE_MAX;
}

void python_looks_aside(const struct request *request, struct text *place)
{
	struct python_looks looks;
	size_t most;

	if (!python_looks_any(request))
		return;
	python_looks_gather_judged(&looks, request);
	most = looks.has_steps ? most_aside(&looks) : SIZE_MAX;
	if (most != SIZE_MAX) {
		text_format(place, "%s (", looks.lines.list[most].function);
		python_looks_place(place, &looks, most);
		text_char(place, ')');
	}
	python_looks_free(&looks);
}

void python_looks_say_aside(struct text *sentence, const struct request *request)
{
	struct python_looks looks;
	size_t most;

	if (!python_looks_any(request))
		return;
	python_looks_gather_judged(&looks, request);
	most = most_aside(&looks);
	double aside = most != SIZE_MAX ? (double)looks.list[most].own.aside_ns : 0, all = (double)python_looks_whole(&looks);
	if (looks.has_steps && python_looks_is_enough(&looks) && aside > 0 && aside >= ASIDE_FROM * all &&
	    aside >= ASIDE_TIMES * (double)looks.all.ran_ns) {
		struct text place = {0};
		python_looks_place(&place, &looks, most);
		text_format(sentence,
			    " Meanwhile another thread ran in %s (%s) for %.0f %% of the step time, that of the steps for %.0f %%: of "
			    "Python code only one of them runs at a time where Python has its lock (GIL).",
			    place.bytes, looks.lines.list[most].function, 100 * aside / all, 100 * (double)looks.all.ran_ns / all);
		text_free(&place);
	}
	python_looks_free(&looks);
}

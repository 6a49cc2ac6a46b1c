/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rare_work: what only some of the steps do, and how much of the longest steps that is.
 *
 * Rule: of the steps that are judged (step_values.h). Names that occur in one step each and differ by numbers alone ("batch 17") are one.
 * A long step counts for one name only: what took most of it, so that these times add up. Compiling that Python's frames tell of is no
 * span, and what runs for a compiler (tracing a function op by op) has names of its own: it stands as "compiling" where it took more.
 * A line of Python has a long step where it took most of it by looks, and twice what has a name, and hardly any time in usual steps.
 */
#include "reducer/tables/rare_rows.h"

#include "reducer/analysis/rare_work.h"
#include "reducer/model/word_kinds.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"
#include "reducer/tables/rare_lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAME, KIND, PROCESS, STEPS, SHARE, TIMES, TOTAL, MEAN, LONG_STEPS, LONG, MACHINE, MEMBER, COLUMNS };
static const struct table_column columns[] = {
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 0,
		  "op, range, trace, compiled code, file or line of Python; # = numbers that differ"},
	[KIND] = {"kind", "kind", TABLE_TEXT, UNIT_NONE, 1, "what it is; python: a line, in the steps that looks found it in"},
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 2, "pid as the process saw it"},
	[STEPS] = {"steps", "steps", TABLE_INTEGER, UNIT_COUNT, 0, "that it occurs in"},
	[SHARE] = {"share_of_steps", "of all", TABLE_REAL, UNIT_RATIO, 0, "that many of the judged steps"},
	[TIMES] = {"occurrences", "times", TABLE_INTEGER, UNIT_COUNT, 0, "in these"},
	[TOTAL] = {"total_ns", "total", TABLE_INTEGER, UNIT_NS, 0, "in these, with what lies inside it; on all threads"},
	[MEAN] = {"step_ns", "a step", TABLE_INTEGER, UNIT_NS, 0, "total by steps"},
	[LONG_STEPS] = {"long_steps", "long steps", TABLE_INTEGER, UNIT_COUNT, 1,
			"of them at least twice as long as the median step, in which it is what took most of what is in at most a fifth of "
			"the steps"},
	[LONG] = {"long_ns", "in long", TABLE_INTEGER, UNIT_NS, 0, "its time in these long steps: adds up over names"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

#define STEPS_LEAST 20 /* judged: of fewer nothing is rare */
#define RARE_MOST 0.2
#define LONG_TIMES 2
#define COMPILING "compiling"
#define LINE_LOOKS 5	/* in a step, from which on a line is known to have it */
#define LINE_LEAST 0.5	/* of a long step, and as much more than what has a name */
#define LINE_STEPS 2	/* long ones that a line must be in: one that each step passes in no time may be held up once */
#define LINE_USUAL 0.1	/* of a line's time may lie in usual steps */

/* What was told under one name. */
struct part {
	char *key; /* the name, or what it may have in common with others */
	const char *name;
	const struct rare_row *row;
	bool is_fetch; /* of JAX, of a value */
};

/* A name, or those that differ by numbers; without parts it is COMPILING, or a line of Python. */
struct name {
	size_t first, end; /* its parts */
	char *line;	   /* "train.py:20 (save)" */
	uint64_t steps, times, ns, long_steps, long_ns;
};

struct step_time {
	uint64_t ns;	  /* 0 = not judged */
	uint64_t compilation_ns;
	uint64_t told_ns; /* devices worked, input was awaited or code compiled: a line that waits for that does nothing of its own */
	uint64_t rare_ns; /* of the name that took most of it */
	size_t name;
	bool fetches, runs_other; /* of JAX: it waits for a value; it calls, now and then, what is no such wait */
	bool is_own;		  /* what it waits for is work of the loop's own steps */
};

struct rare {
	struct step_time *times; /* by place in process->steps */
	uint64_t judged, long_from_ns;
	struct part *parts; /* by key */
	size_t part_count, part_room;
	struct name *names;
	size_t count, room;
	uint64_t untold;
};

static uint64_t told_time(const struct step_row *row)
{
	uint64_t ns = row->exposed_ns[PART_COMPILATION] + row->exposed_ns[PART_INPUT_WAIT] + row->exposed_ns[PART_COMMUNICATION];

	for (size_t part = 0; part < PART_OUTPUT; part++) /* of devices */
		ns += row->exposed_ns[part];
	return ns;
}

/* The judged steps of one process. */
static void take_steps(struct rare *rare, const struct step_rows *rows, size_t process, size_t step_count)
{
	size_t end, first = step_rows_of(rows, process, &end);
	uint64_t *sorted = base_alloc(end - first + 1, sizeof(*sorted));

	rare->times = base_alloc(step_count + 1, sizeof(*rare->times));
	for (size_t i = first; i < end; i++) {
		const struct step_row *row = rows->items[i];
		if (row->unit.step == SIZE_MAX || !row->total_ns || !step_rows_judges(rows, i))
			continue;
		rare->times[row->unit.step].ns = sorted[rare->judged++] = row->total_ns;
		rare->times[row->unit.step].compilation_ns = row->exposed_ns[PART_COMPILATION];
		rare->times[row->unit.step].told_ns = told_time(row);
	}
	base_sort_naturals(sorted, rare->judged);
	rare->long_from_ns = rare->judged ? LONG_TIMES * sorted[rare->judged / 2] : 0;
	free(sorted);
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct part *)a)->key, ((const struct part *)b)->key);
}

static void take_parts(struct rare *rare, const struct rare_work *work)
{
	for (size_t i = 0; i < work->count; i++) {
		const struct rare_row *row = &work->rows[i];
		const char *name = work->words.items[row->name];
		rare->parts = base_grow(rare->parts, &rare->part_room, rare->part_count + 1, sizeof(*rare->parts));
		rare->parts[rare->part_count++] = (struct part){
			.key = row->count == 1 ? base_without_numbers(name) : base_copy(name, strlen(name)), .name = name, .row = row};
	}
	if (rare->part_count)
		qsort(rare->parts, rare->part_count, sizeof(*rare->parts), by_key);
}

/* What a name's parts did in the judged steps. */
static void sum_name(struct rare *rare, struct name *name)
{
	for (size_t p = name->first; p < name->end; p++)
		for (size_t i = 0; i < rare->parts[p].row->count; i++) {
			const struct rare_entry *entry = &rare->parts[p].row->entries[i];
			if (!rare->times[entry->step].ns)
				continue;
			name->steps++;
			name->times += entry->count;
			name->ns += entry->ns;
		}
}

static bool is_rare(const struct rare *rare, const struct name *name)
{
	return rare->judged >= STEPS_LEAST && (double)name->steps <= RARE_MOST * (double)rare->judged;
}

/* "XLA call: f (a.py, line 2) +0x5": from the bracket on; NULL = a function of a package lies between, or it is another kind of name. */
static const char *direct_place(const char *name)
{
	const char *line = strncmp(name, "XLA call: ", 10) == 0 ? strstr(name, ", line ") : NULL, *end = line ? strchr(line, ')') : NULL;

	return end && strncmp(end, ") +", 3) == 0 ? end : NULL;
}

/* Does the line do nothing but that call? Where a function is run, arguments are moved as well, and arrays freed. */
static bool is_alone(const struct words *words, const char *name, size_t length)
{
	for (size_t i = 0; i < words->count; i++)
		if (strncmp(words->items[i], name, length) == 0 && strcmp(words->items[i], name) != 0)
			return false;
	return true;
}

/* Calls of array.block_until_ready(): by a place in the library that rare lines alone come to, which do nothing else. */
static bool is_direct_wait(const struct words *words, const bool *is_rare_word, const char *name)
{
	const char *place = direct_place(name);

	for (size_t i = 0; place && i < words->count; i++) {
		const char *other = direct_place(words->items[i]);
		if (other && strcmp(other, place) == 0 &&
		    (!is_rare_word[i] || !is_alone(words, words->items[i], (size_t)(other - words->items[i]))))
			return false;
	}
	return place != NULL;
}

/* A call of JAX that waits for a value, and does nothing besides: by its innermost function, or its own (model/places.h). */
static bool is_fetch(const struct words *words, const bool *is_rare_word, const char *name)
{
	static const char *const waits[] = {"_value +", "_value (", "block_until_ready +", "block_until_ready ("};

	for (size_t i = 0; strncmp(name, "XLA call: ", 10) == 0 && i < sizeof(waits) / sizeof(waits[0]); i++)
		if (strstr(name, waits[i]))
			return true;
	return is_direct_wait(words, is_rare_word, name);
}

static void find_fetches(struct rare *rare, const struct rare_work *work)
{
	bool *is_rare_word = base_alloc(work->words.count + 1, sizeof(*is_rare_word));

	for (size_t i = 0; i < work->count; i++)
		is_rare_word[work->rows[i].name] = work->rows[i].count * 2 <= rare->judged;
	for (size_t p = 0; p < rare->part_count; p++)
		rare->parts[p].is_fetch = is_fetch(&work->words, is_rare_word, rare->parts[p].name);
	free(is_rare_word);
}

/* Is there time before the step that belongs to none? What ran there, evaluation say, may have been dispatched alone. */
static bool is_behind_pause(const struct process *process, size_t step)
{
	const struct step *before = step ? &process->steps[step - 1] : NULL;

	return before && before->rest_ns && before->rest_ns < process->steps[step].time_ns;
}

/*
 * JAX runs ahead of its work. A step that waits for a value, where since the last such wait no other function was called than those of
 * each step, waits for what these dispatched: a loss that is printed now and then makes no step longer.
 */
static void find_own(struct rare *rare, const struct process *process)
{
	bool has_other = false; /* what was called before the loop ran while its first step compiled */

	for (size_t p = 0; p < rare->part_count; p++) {
		const struct part *part = &rare->parts[p];
		bool is_wait = part->is_fetch, is_call = strncmp(part->name, "XLA call: ", 10) == 0;
		for (size_t i = 0; i < part->row->count; i++) {
			struct step_time *step = &rare->times[part->row->entries[i].step];
			step->fetches |= is_wait;
			step->runs_other |= is_call && !is_wait && part->row->count * 2 <= rare->judged;
		}
	}
	for (size_t i = 0; i < process->step_count; i++) {
		struct step_time *step = &rare->times[i];
		has_other |= step->runs_other || is_behind_pause(process, i);
		step->is_own = step->fetches && !has_other;
		has_other &= !step->fetches;
	}
}

/* Of a long step the rare name that took most of it has it. */
static void claim_steps(struct rare *rare, size_t number)
{
	const struct name *name = &rare->names[number];

	for (size_t p = name->first; p < name->end && is_rare(rare, name); p++)
		for (size_t i = 0; i < rare->parts[p].row->count; i++) {
			const struct rare_entry *entry = &rare->parts[p].row->entries[i];
			struct step_time *step = &rare->times[entry->step];
			uint64_t ns = entry->ns < step->ns ? entry->ns : step->ns;
			if (step->ns < rare->long_from_ns || ns <= step->rare_ns || (step->is_own && rare->parts[p].is_fetch))
				continue;
			step->rare_ns = ns;
			step->name = number;
		}
}

/* Whether the name says itself that, and what, is compiled. */
static bool names_compiling(const struct rare *rare, const struct name *name)
{
	const struct part *part = &rare->parts[name->first];

	return part->row->what == SPAN_TRACE || part->row->what == SPAN_COMPILE || rare_is_compiling(part->name);
}

/* Whether a long step compiled for longer than its rare name took. What is traced op by op lies in itself and counts more than once. */
static bool mostly_compiles(const struct rare *rare, const struct step_time *step)
{
	const struct name *name = step->rare_ns ? &rare->names[step->name] : NULL;

	if (name && names_compiling(rare, name))
		return false;
	if (name && word_is_tracing(rare->parts[name->first].name))
		return step->compilation_ns > step->rare_ns / 2;
	return step->compilation_ns > step->rare_ns;
}

/* Compiling has such steps; nothing is said of it where there are none. */
static void claim_for_compiling(struct rare *rare, size_t step_count)
{
	struct name name = {0};
	size_t number = rare->count;

	for (size_t i = 0; i < step_count; i++) {
		name.steps += rare->times[i].compilation_ns > 0;
		name.ns += rare->times[i].compilation_ns;
	}
	for (size_t i = 0; i < step_count && is_rare(rare, &name); i++) {
		struct step_time *step = &rare->times[i];
		if (step->ns < rare->long_from_ns || !mostly_compiles(rare, step))
			continue;
		step->rare_ns = step->compilation_ns;
		step->name = number;
		name.long_steps = 1;
	}
	if (!name.long_steps)
		return;
	name.long_steps = 0; /* take_names counts them, as those of all */
	rare->names = base_grow(rare->names, &rare->room, number + 1, sizeof(*rare->names));
	rare->names[rare->count++] = name;
}

/* What a line of Python, found in these steps, did in those that are judged; LINE_USUAL of it may lie in steps that are not long. */
static bool is_rare_line(const struct rare *rare, const struct rare_line_step *steps, size_t count, struct name *name)
{
	uint64_t usual_ns = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t step_ns = rare->times[steps[i].step].ns;
		name->steps += step_ns > 0;
		name->ns += step_ns ? steps[i].ns : 0;
		usual_ns += step_ns && step_ns < rare->long_from_ns ? steps[i].ns : 0;
	}
	return is_rare(rare, name) && (double)usual_ns <= LINE_USUAL * (double)name->ns;
}

/* What a part of the step tells of is not the line's; where a value of JAX is awaited it may be what other steps dispatched. */
static bool has_step(const struct rare_lines *lines, const struct rare *rare, const struct rare_line_step *of)
{
	const struct step_time *step = &rare->times[of->step];
	uint64_t ns = of->ns > step->told_ns ? of->ns - step->told_ns : 0;

	return step->ns && step->ns >= rare->long_from_ns && !step->fetches && ns >= LINE_LOOKS * lines->period_ns &&
	       (double)ns >= LINE_LEAST * (double)step->ns && LINE_LEAST * (double)ns >= (double)step->rare_ns;
}

static void claim_for_line(struct rare *rare, const struct rare_lines *lines, size_t first, size_t end)
{
	const struct python_line_name *line = &lines->lines.list[lines->list[first].line];
	struct name name = {0};
	struct text text = {0};
	size_t steps = 0;

	if (!is_rare_line(rare, &lines->list[first], end - first, &name))
		return;
	for (size_t i = first; i < end; i++)
		steps += has_step(lines, rare, &lines->list[i]);
	if (steps < LINE_STEPS)
		return;
	for (size_t i = first; i < end; i++) {
		struct step_time *step = &rare->times[lines->list[i].step];
		if (!has_step(lines, rare, &lines->list[i]))
			continue;
		step->rare_ns = lines->list[i].ns < step->ns ? lines->list[i].ns : step->ns;
		step->name = rare->count;
	}
	python_line_place(&text, line);
	text_format(&text, " (%s), by looks at Python code", line->function);
	name.line = base_copy(text.bytes, text.length);
	text_free(&text);
	rare->names = base_grow(rare->names, &rare->room, rare->count + 1, sizeof(*rare->names));
	rare->names[rare->count++] = name;
}

static void claim_for_lines(struct rare *rare, const struct request *request, size_t index)
{
	const struct process *process = &request->run->processes[index];
	struct rare_lines lines;
	bool has_unnamed = false;

	for (size_t i = 0; i < process->step_count; i++)
		has_unnamed |= rare->times[i].ns && rare->times[i].ns >= rare->long_from_ns &&
			       (double)rare->times[i].rare_ns <= LINE_LEAST * (double)rare->times[i].ns;
	if (!has_unnamed)
		return;
	rare_lines_gather(&lines, request, index);
	for (size_t first = 0, end; first < lines.count; first = end) {
		for (end = first + 1; end < lines.count && lines.list[end].line == lines.list[first].line;)
			end++;
		claim_for_line(rare, &lines, first, end);
	}
	rare_lines_free(&lines);
}

static void take_names(struct rare *rare, const struct request *request, size_t index)
{
	const struct process *process = &request->run->processes[index];
	size_t step_count = process->step_count;

	for (size_t first = 0, end; first < rare->part_count; first = end) {
		struct name name = {.first = first};
		for (end = first + 1; end < rare->part_count && strcmp(rare->parts[end].key, rare->parts[first].key) == 0;)
			end++;
		name.end = end;
		sum_name(rare, &name);
		if (!name.steps || name.steps * 2 > rare->judged)
			continue;
		rare->names = base_grow(rare->names, &rare->room, rare->count + 1, sizeof(*rare->names));
		rare->names[rare->count++] = name;
	}
	find_own(rare, process);
	for (size_t i = 0; i < rare->count; i++)
		claim_steps(rare, i);
	claim_for_compiling(rare, step_count);
	claim_for_lines(rare, request, index);
	for (size_t i = 0; i < step_count; i++)
		if (rare->times[i].rare_ns) {
			rare->names[rare->times[i].name].long_steps++;
			rare->names[rare->times[i].name].long_ns += rare->times[i].rare_ns;
		}
}

/* Its own name where it has no other in common. */
static const char *name_text(const struct rare *rare, const struct name *name)
{
	if (name->first == name->end)
		return name->line ? name->line : COMPILING;
	return name->end - name->first == 1 ? rare->parts[name->first].name : rare->parts[name->first].key;
}

static void put_name(struct table *table, const struct rare *rare, const struct name *name, const struct process *process)
{
	bool has_parts = name->first < name->end;

	table_row(table);
	table_string(table, NAME, name_text(rare, name));
	table_string(table, KIND, name->line ? "python" : span_what_name(has_parts ? rare->parts[name->first].row->what : SPAN_COMPILE));
	table_process(table, PROCESS, MACHINE, process);
	table_integer(table, STEPS, (int64_t)name->steps);
	table_real(table, SHARE, (double)name->steps / (double)rare->judged);
	if (has_parts) /* frames and looks tell how long, not how often */
		table_integer(table, TIMES, (int64_t)name->times);
	table_integer(table, TOTAL, (int64_t)name->ns);
	table_integer(table, MEAN, (int64_t)(name->ns / name->steps));
	table_integer(table, LONG_STEPS, (int64_t)name->long_steps);
	table_integer(table, LONG, (int64_t)name->long_ns);
}

static int by_time(const void *a, const void *b, void *context)
{
	const struct rare *rare = context;
	const struct name *one = a, *other = b;

	if (one->long_ns != other->long_ns)
		return one->long_ns > other->long_ns ? -1 : 1;
	if (one->ns != other->ns)
		return one->ns > other->ns ? -1 : 1;
	return strcmp(name_text(rare, one), name_text(rare, other));
}

/* What the steps of a process have; false = nothing. rare_drop after it. */
static bool rare_gather(struct rare *rare, const struct request *request, const struct step_rows *rows, size_t index)
{
	const struct process *process = &request->run->processes[index];
	const struct rare_work *work = request_wants_process(request, process)
					       ? analyses_process(request->analyses, &analysis_rare_work, index)
					       : NULL;

	*rare = (struct rare){.untold = work ? work->untold : 0};
	if (!work)
		return false;
	take_steps(rare, rows, index, process->step_count);
	take_parts(rare, work);
	find_fetches(rare, work);
	take_names(rare, request, index);
	if (rare->count)
		qsort_r(rare->names, rare->count, sizeof(*rare->names), by_time, rare);
	return true;
}

static void rare_drop(struct rare *rare)
{
	for (size_t p = 0; p < rare->part_count; p++)
		free(rare->parts[p].key);
	for (size_t i = 0; i < rare->count; i++)
		free(rare->names[i].line);
	free(rare->parts);
	free(rare->names);
	free(rare->times);
}

bool rare_may_wait(const char *name)
{
	static const char *const fetches[] = {"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero"};

	for (size_t i = 0; i < sizeof(fetches) / sizeof(fetches[0]); i++)
		if (strcmp(name, fetches[i]) == 0)
			return true;
	return strncmp(name, "XLA call: ", 10) == 0 && !rare_is_compiling(name); /* model/places.h */
}

bool rare_is_compiling(const char *name)
{
	static const char timed[] = " (dynamo_timed)"; /* PyTorch's compiler announces its parts so, not all of which compile */
	size_t length = strlen(name), tail = sizeof(timed) - 1;

	return strcmp(name, COMPILING) == 0 || part_is_compiling(name) ||
	       (length > tail && strcmp(name + length - tail, timed) == 0 && strstr(name, "compil") != NULL);
}

struct rare_most rare_find(const struct request *request, const struct step_rows *rows)
{
	struct rare_most most = {0};

	for (size_t p = 0; p < request->run->process_count; p++) {
		struct rare rare;
		if (!rare_gather(&rare, request, rows, p))
			continue;
		for (size_t i = 0; i < rare.count; i++)
			most.ns += rare.names[i].long_ns;
		if (rare.count && rare.names[0].long_ns > most.top_ns) {
			text_clear(&most.name);
			text_string(&most.name, name_text(&rare, &rare.names[0]));
			most.top_ns = rare.names[0].long_ns;
		}
		rare_drop(&rare);
	}
	return most;
}

bool rare_is_own(const struct request *request, const struct step_rows *rows, const struct step_row *row)
{
	struct rare rare;
	bool is_own;

	if (row->unit.step == SIZE_MAX || !rare_gather(&rare, request, rows, row->process))
		return false;
	is_own = rare.times[row->unit.step].is_own;
	rare_drop(&rare);
	return is_own;
}

/* Returns whether lines of Python are among them. */
static bool put_process(struct table *table, const struct request *request, const struct step_rows *rows, size_t index)
{
	const struct process *process = &request->run->processes[index];
	bool has_lines = false;
	struct rare rare;

	if (!rare_gather(&rare, request, rows, index))
		return false;
	for (size_t i = 0; i < rare.count; i++) {
		put_name(table, &rare, &rare.names[i], process);
		has_lines |= rare.names[i].line != NULL;
	}
	if (rare.untold)
		table_note(table, NOTE_MISSING, "Process %s: too many different names; %" PRIu64 " things are left out.",
			   process->called, rare.untold);
	rare_drop(&rare);
	return has_lines;
}

static void fill(struct table *table, const struct request *request)
{
	struct step_rows rows;
	bool has_lines = false;

	step_rows_find(&rows, request);
	for (size_t p = 0; p < request->run->process_count; p++)
		has_lines |= put_process(table, request, &rows, p);
	if (has_lines)
		table_note(table, NOTE_INFERRED,
			   "Lines of Python: by looks, each of which stands for the time since the one before. A long step is told of one "
			   "that had most of it, twice what has a name there, and hardly any time in usual steps.");
	step_rows_note_first(table, &rows, request);
	notes_ops(table, request);
	notes_recording(table, request);
	step_rows_free(&rows);
}

static const struct analysis_kind *const needs[] = {&analysis_steps, &analysis_rare_work, NULL};
const struct table_kind table_rare_work = {
	.id = "rare_work",
	.title = "What only some steps do",
	.help = "Ops, ranges, compiling and reads that at most half of the steps have, and lines of Python that long steps are in, and "
		"how much of these they are: evaluation, checkpoints, logging, new shapes.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_WINDOW | FILTER_STEP | FILTER_THREAD,
	.text_rows = 30,
	.needs_scan = true,
	.analyses = needs,
	.nothing = "Each thing that has a name happens in more than half of the steps, or there are no steps.",
	.fill = fill,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_changes: the levels that the time of steps had, one after the other, and which part of a step the change lies in.
 *
 * Rule: inferred (analysis/levels.h) from the times of the steps that are judged. Where capture windows hold some of the steps, those
 * of the more numerous kind count, for recording makes a step longer. Which part changed is told from steps recorded whole, on both
 * sides, by medians; a sentence speaks of what took longer alone.
 */
#include "reducer/tables/machine.h"
#include "reducer/tables/step_changes.h"

#include "reducer/analysis/levels.h"
#include "reducer/tables/busy.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"
#include "reducer/tables/python_looks.h"

#include <inttypes.h>
#include <stdlib.h>

enum { PROCESS, FROM, TO, STEPS, START, MEDIAN, CHANGE, PART, PART_NS, WAITED, TREND, MACHINE, MEMBER, COLUMNS };
static const struct table_column columns[] = {
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 0, "pid as the process saw it"},
	[FROM] = {"from_step", "from step", TABLE_INTEGER, UNIT_NONE, 0, "the first one of this level"},
	[TO] = {"to_step", "to", TABLE_INTEGER, UNIT_NONE, 0, "the last one"},
	[STEPS] = {"steps", "steps", TABLE_INTEGER, UNIT_COUNT, 1, "that count"},
	[START] = {"start_ns", "start", TABLE_INTEGER, UNIT_NS, 0, "of the first one, from the start of the run"},
	[MEDIAN] = {"p50_ns", "a step", TABLE_INTEGER, UNIT_NS, 0, "median"},
	[CHANGE] = {"change", "by", TABLE_REAL, UNIT_RATIO, 0,
		    "longer than in the level before: 0.5 = half as long again, -0.5 = half as long"},
	[PART] = {"part", "most of it", TABLE_TEXT, UNIT_NONE, 0, "the part of a step that changed most, in the same direction"},
	[PART_NS] = {"part_ns", "is", TABLE_INTEGER, UNIT_NS, 0, "by how much the part's median changed"},
	[WAITED] = {"waited_share", "waited", TABLE_REAL, UNIT_RATIO, 1,
		    "of the time, their thread waited for a processor; empty = too few readings"},
	[TREND] = {"trend", "trend", TABLE_TEXT, UNIT_NONE, 1, "grows: steps of this level took longer all along"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static const struct {
	enum step_value value;
	const char *name;
} parts[] = {
	{VALUE_COMPILATION, "compiling"},
	{VALUE_OUTPUT, "output"},
	{VALUE_INPUT, "waiting for input"},
	{VALUE_KERNEL_LAUNCH, "launching"},
	{VALUE_HOST_COMPUTE, "ops on the host"},
	{VALUE_COLLECTIVES, "device collectives"},
	{VALUE_DEVICE_TO_DEVICE, "copies on devices"},
	{VALUE_COMPUTE, "device compute"},
	{VALUE_HOST_COMMUNICATION, "communication"},
	{VALUE_OTHER, "what was not recorded: Python, waiting"},
};
#define PART_KINDS (sizeof(parts) / sizeof(parts[0]))

#define WAITED_FROM 0.25 /* of the time: other work on the machine is a reason, */
#define WAITED_BEFORE 0.1 /* where it was less before; where it was not, it may come and go all the while, and nothing is said */
#define ALONE_TIMES 2 /* but where steps without that wait take so many times as long as before: the most that was seen of one program */

/* The steps of one thread of a process that count, and their levels. */
struct changes {
	const struct step_rows *rows;
	size_t *places; /* in rows->items */
	uint64_t *times;
	size_t count, level_count;
	struct level levels[LEVELS_MOST];
};

static void changes_free(struct changes *changes)
{
	free(changes->places);
	free(changes->times);
}

/* Judged but for what is recorded of it. */
static bool has_time(const struct step_rows *rows, size_t i)
{
	const struct step_row *row = rows->items[i];

	return row->total_ns && !row->unit.is_cut && !row->is_evaluation && !rows->is_first[i] && !(rows->is_dead && rows->is_dead[i]);
}

/* The thread with the most steps of a process, whose rows are those from `first` to before `end`. */
static uint32_t thread_of(const struct step_rows *rows, size_t first, size_t end)
{
	uint32_t best = 0;

	for (size_t i = first, next, most = 0; i < end; i = next) {
		for (next = i; next < end && rows->items[next]->unit.thread == rows->items[i]->unit.thread;)
			next++;
		if (next - i > most) {
			most = next - i;
			best = rows->items[i]->unit.thread;
		}
	}
	return best;
}

static void find_changes(struct changes *changes, const struct step_rows *rows, size_t process)
{
	size_t end, first = step_rows_of(rows, process, &end), of_windows = 0, outside = 0;
	uint32_t thread = thread_of(rows, first, end);

	*changes = (struct changes){.rows = rows,
				    .places = base_alloc(end - first + 1, sizeof(*changes->places)),
				    .times = base_alloc(end - first + 1, sizeof(*changes->times))};
	for (size_t i = first; i < end; i++) {
		bool is_meant = rows->items[i]->unit.thread == thread && has_time(rows, i);
		of_windows += is_meant && !rows->items[i]->is_unrecorded;
		outside += is_meant && rows->items[i]->is_unrecorded;
	}
	for (size_t i = first; i < end; i++) {
		const struct step_row *row = rows->items[i];
		if (!has_time(rows, i) || row->unit.thread != thread || row->is_unrecorded != (outside > of_windows))
			continue;
		changes->places[changes->count] = i;
		changes->times[changes->count++] = row->total_ns;
	}
	changes->level_count = rows->kind == UNIT_WHOLE ? 1 : levels_find(changes->times, changes->count, changes->levels);
}

static const struct step_row *row_at(const struct changes *changes, size_t i)
{
	return changes->rows->items[changes->places[i]];
}

/* The rows of a level, as if there were no others. */
static struct step_rows rows_of(const struct changes *changes, const struct level *level)
{
	size_t from = changes->places[level->first], to = changes->places[level->end - 1] + 1;
	struct step_rows rows = *changes->rows;

	rows.items += from;
	rows.count = to - from;
	rows.is_first += from;
	rows.is_dead = rows.is_dead ? rows.is_dead + from : NULL;
	return rows;
}

/* Below 0: not known. */
static double waited_of(const struct changes *changes, const struct level *level, const struct request *request)
{
	struct step_rows rows = rows_of(changes, level);

	return busy_find(&rows, request).share;
}

/* Of steps recorded whole; below 0: there are none. */
static double median_part(const struct changes *changes, const struct level *level, enum step_value value)
{
	struct step_rows rows = rows_of(changes, level);
	double *values = base_alloc(rows.count + 1, sizeof(*values)), median;
	size_t count = 0;

	for (size_t i = 0; i < rows.count; i++)
		if (has_time(&rows, i) && !rows.items[i]->is_unrecorded)
			values[count++] = (double)step_value(rows.items[i], value);
	median = count ? base_median(values, count) : -1;
	free(values);
	return median;
}

struct moved {
	const char *name; /* NULL = not known */
	double ns;
};

/* The part that changed most from one level to another, the way that the steps did. */
static struct moved moved_part(const struct changes *changes, const struct level *from, const struct level *to)
{
	bool is_longer = to->median > from->median;
	struct moved moved = {0};

	for (size_t p = 0; p < PART_KINDS; p++) {
		double before = median_part(changes, from, parts[p].value), now = median_part(changes, to, parts[p].value);
		double by = is_longer ? now - before : before - now;
		if (before >= 0 && now >= 0 && by > 0 && (!moved.name || by > moved.ns))
			moved = (struct moved){parts[p].name, by};
	}
	moved.ns = is_longer ? moved.ns : -moved.ns;
	return moved;
}

static double change_of(const struct changes *changes, size_t k)
{
	return (double)changes->levels[k].median / (double)changes->levels[k - 1].median - 1;
}

static bool is_growing_all_along(const struct changes *changes)
{
	for (size_t k = 0; k < changes->level_count; k++)
		if (!changes->levels[k].is_growing || (k && change_of(changes, k) < 0))
			return false;
	return true;
}

/* "Since step 512 (48.1 s) steps take 1.41 times as long: 20.1 ms, before 14.3 ms" */
static void say_level(struct text *text, const struct changes *changes, size_t k)
{
	const struct level *level = &changes->levels[k];
	const struct step_row *first = row_at(changes, level->first), *last = row_at(changes, level->end - 1);
	const char *what = unit_kind_name(changes->rows->kind);
	bool is_last = k + 1 == changes->level_count;

	text_format(text, "%s %s %" PRIu64 " (at ", is_last ? "Since" : "From", what, first->unit.number);
	step_time_put(text, (double)first->start_ns);
	text_char(text, ')');
	if (!is_last)
		text_format(text, " to %" PRIu64, last->unit.number);
	text_format(text, " %ss %s %.2f times as long as before: ", what, is_last ? "take" : "took", 1 + change_of(changes, k));
	step_time_put(text, (double)level->median);
	text_string(text, ", before ");
	step_time_put(text, (double)changes->levels[k - 1].median);
}

static void say_growing(struct text *text, const struct changes *changes)
{
	size_t last = changes->level_count - 1;

	text_format(text, "%ss take longer and longer: ",
		    changes->rows->kind == UNIT_STEP ? "Step" : unit_kind_name(changes->rows->kind));
	step_time_put(text, (double)changes->levels[0].median);
	text_format(text, " to %s %" PRIu64 ", ", unit_kind_name(changes->rows->kind),
		    row_at(changes, changes->levels[0].end - 1)->unit.number);
	step_time_put(text, (double)changes->levels[last].median);
	text_format(text, " since %" PRIu64, row_at(changes, changes->levels[last].first)->unit.number);
}

static void say_why(struct text *text, const struct changes *changes, const struct level *from, const struct level *to)
{
	struct moved moved = moved_part(changes, from, to);

	if (moved.name && moved.ns <= (double)to->median - (double)from->median) {
		text_string(text, "; ");
		step_time_put(text, moved.ns);
		text_format(text, " of it in %s", moved.name);
	} else if (moved.name) { /* other parts shrank meanwhile */
		text_format(text, "; %s alone grew by ", moved.name);
		step_time_put(text, moved.ns);
	}
	text_char(text, '.');
}

/* Whether other work on the machine, which was there before as well, may be all of the reason. */
static bool may_be_others(const struct level *from, const struct level *to, double before, double now)
{
	return now >= WAITED_FROM && before >= WAITED_BEFORE &&
	       (double)to->median * (1 - now) < ALONE_TIMES * (double)from->median * (1 - before);
}

static struct machine_stretch time_of(const struct changes *changes, const struct level *level)
{
	const struct step_row *first = row_at(changes, level->first), *last = row_at(changes, level->end - 1);

	return (struct machine_stretch){first->start_ns, last->start_ns + (int64_t)last->total_ns};
}

void step_changes_say(struct text *text, const struct step_rows *rows, const struct request *request, size_t process)
{
	struct changes changes;
	const struct level *levels = changes.levels, *from, *to;
	bool is_growing;
	size_t worst = 0;

	find_changes(&changes, rows, process);
	for (size_t k = 1; k < changes.level_count; k++)
		if (change_of(&changes, k) > 0 && (!worst || change_of(&changes, k) > change_of(&changes, worst)))
			worst = k;
	is_growing = is_growing_all_along(&changes);
	from = is_growing || !worst ? &levels[0] : &levels[worst - 1];
	to = is_growing ? &levels[changes.level_count - 1] : &levels[worst];
	double before = worst ? waited_of(&changes, from, request) : -1, now = worst ? waited_of(&changes, to, request) : -1;
	struct text kept = {0};
	if (worst)
		machine_say_since(&kept, request->run, process, time_of(&changes, from), time_of(&changes, to));
	if (worst && (kept.length || !may_be_others(from, to, before, now))) {
		if (is_growing)
			say_growing(text, &changes);
		else
			say_level(text, &changes, worst);
		say_why(text, &changes, from, to);
		if (kept.length)
			text_put(text, kept.bytes, kept.length);
		else if (before >= 0 && now >= WAITED_FROM)
			text_format(text, " Meanwhile their thread waited for a processor %.0f %% of the time, before %.0f %%.", 100 * now,
				    100 * before);
	}
	text_free(&kept);
	changes_free(&changes);
}

void step_changes_note(struct table *table, const struct step_rows *rows, const struct request *request)
{
	struct text said = {0};
	size_t p = 0;

	for (; p < request->run->process_count && !said.length; p++)
		step_changes_say(&said, rows, request, p);
	if (said.length && rows->processes > 1)
		table_note(table, NOTE_INFERRED, "Process %s: %s", request->run->processes[p - 1].called, said.bytes);
	else if (said.length)
		table_note(table, NOTE_INFERRED, "%s", said.bytes);
	text_free(&said);
}

static void put_level(struct table *table, const struct changes *changes, size_t k, const struct request *request)
{
	const struct level *level = &changes->levels[k];
	const struct step_row *first = row_at(changes, level->first);
	double waited = waited_of(changes, level, request);

	table_row(table);
	table_process(table, PROCESS, MACHINE, &request->run->processes[first->process]);
	table_integer(table, FROM, (int64_t)first->unit.number);
	table_integer(table, TO, (int64_t)row_at(changes, level->end - 1)->unit.number);
	table_integer(table, STEPS, (int64_t)(level->end - level->first));
	table_integer(table, START, first->start_ns);
	table_integer(table, MEDIAN, (int64_t)level->median);
	if (waited >= 0)
		table_real(table, WAITED, waited);
	if (level->is_growing)
		table_string(table, TREND, "grows");
	if (!k)
		return;
	struct moved moved = moved_part(changes, level - 1, level);
	table_real(table, CHANGE, change_of(changes, k));
	if (!moved.name)
		return;
	table_string(table, PART, moved.name);
	table_integer(table, PART_NS, (int64_t)moved.ns);
}

static void fill(struct table *table, const struct request *request)
{
	struct step_rows rows;

	step_rows_find(&rows, request);
	for (size_t p = 0; p < request->run->process_count; p++) {
		struct changes changes;
		find_changes(&changes, &rows, p);
		for (size_t k = 0; k < changes.level_count && changes.level_count > 1; k++)
			put_level(table, &changes, k, request);
		changes_free(&changes);
	}
	if (table->row_count)
		table_note(table, NOTE_INFERRED,
			   "Levels are inferred from the times of the steps: each has a tenth of them at least, and differs by a quarter. "
			   "What changed within steps: -t %sop_stats --step=FROM-TO of one, and of the other.",
			   python_looks_any(request) ? "python_time," : "");
	notes_recording(table, request);
	step_rows_free(&rows);
}

static const struct analysis_kind *const needs[] = {&analysis_steps, NULL};
const struct table_kind table_step_changes = {
	.id = "step_changes",
	.title = "When steps became slower or faster",
	.help = "The levels that the time of a process's steps had, one after the other: from which step on they take longer, by how "
		"much, and in which part.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_WINDOW | FILTER_STEP,
	.needs_scan = true,
	.analyses = needs,
	.nothing = "The time of the steps has one level from the first to the last, or there are fewer than a hundred.",
	.fill = fill,
};

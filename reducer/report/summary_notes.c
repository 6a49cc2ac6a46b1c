/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the summary says of the recording itself: estimates, bounds, names that are missing.
 *
 * Rule: sentences of the tables' own notes, a few; each can be read in full where it comes from.
 */
#include "reducer/report/summary_internal.h"

#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/python_looks.h"
#include "reducer/tables/slow_steps.h"
#include "reducer/tables/window_cost.h"

#include <stdlib.h>
#include <string.h>

#define NOTE_LINES 3
#define BEGIN "  - "

/* Notes in the order of their weight, written when all are known: how many had no room is said. */
static void keep_note(struct summary *summary, const char *text, enum note_kind kind)
{
	struct summary_notes *notes = &summary->notes;

	notes->list = base_grow(notes->list, &notes->room, notes->count + 1, sizeof(*notes->list));
	notes->list[notes->count++] = (struct summary_note){.text = base_copy(text, strlen(text)), .is_missing = kind == NOTE_MISSING};
}

static void put_note(struct summary *summary, const char *text)
{
	keep_note(summary, text, NOTE_INFO);
}

static size_t measure_note(const struct summary *summary, const char *text)
{
	return summary_measure(summary, BEGIN, text, NOTE_LINES);
}

/* Marks those that have room: what was not recorded goes first. Returns how many have none. */
static size_t choose_notes(struct summary *summary)
{
	struct summary_notes *notes = &summary->notes;
	size_t heading = 1 + summary->is_roomy, left = summary_left(summary), left_out = notes->count;

	left = left > heading ? left - heading : 0;
	for (int is_missing = 1; is_missing >= 0; is_missing--)
		for (size_t i = 0; i < notes->count; i++) {
			struct summary_note *note = &notes->list[i];
			size_t lines = note->is_missing == is_missing ? measure_note(summary, note->text) : SIZE_MAX;
			if (lines > left)
				continue;
			note->is_shown = true;
			left -= lines;
			left_out--;
		}
	return left_out;
}

static void name_left_out(struct text *heading, size_t left_out, int are_some_shown)
{
	const char *more = are_some_shown ? "more " : "";

	if (left_out == 1)
		text_format(heading, " (1 %snote under the table that it is about)", more);
	else
		text_format(heading, " (%zu %snotes under the tables that they are about)", left_out, more);
}

static void write_notes(struct summary *summary)
{
	struct summary_notes *notes = &summary->notes;
	size_t left_out = choose_notes(summary);
	struct text heading = {0};

	text_string(&heading, "Not recorded, or to know");
	if (left_out)
		name_left_out(&heading, left_out, left_out < notes->count);
	if (notes->count)
		summary_heading(summary, heading.bytes, left_out < notes->count);
	for (size_t i = 0; i < notes->count; i++) {
		if (notes->list[i].is_shown)
			summary_sentence(summary, BEGIN, notes->list[i].text, NOTE_LINES);
		free(notes->list[i].text);
	}
	text_free(&heading);
	free(notes->list);
	*notes = (struct summary_notes){0};
}

/* Modules grouped by what is wrong with them. */
struct problems {
	struct problem {
		const char *reason, *first; /* path of the first such module */
		size_t count;
	} * list;
	size_t count, room;
};

static void take_problem(void *context, const char *path, const char *reason)
{
	struct problems *problems = context;

	for (size_t i = 0; i < problems->count; i++)
		if (strcmp(problems->list[i].reason, reason) == 0) {
			problems->list[i].count++;
			return;
		}
	problems->list = base_grow(problems->list, &problems->room, problems->count + 1, sizeof(*problems->list));
	problems->list[problems->count++] = (struct problem){.reason = reason, .first = path, .count = 1};
}

static void put_problems(struct summary *summary)
{
	struct problems problems = {0};

	frames_problems(summary->request->frames, take_problem, &problems);
	for (size_t i = 0; i < problems.count; i++) {
		const struct problem *problem = &problems.list[i];
		const char *base = strrchr(problem->first, '/');
		struct text note = {0};
		text_format(&note, "Names in %s", base ? base + 1 : problem->first);
		if (problem->count > 1)
			text_format(&note, " and %zu more module%s", problem->count - 1, problem->count == 2 ? "" : "s");
		text_format(&note, ": %s.", problem->reason);
		put_note(summary, note.bytes);
		text_free(&note);
	}
	free(problems.list);
}

/*
 * Why there is neither a step nor an op where a framework or a GPU was at work; or why the whole run stands in place of steps.
 * Returns how many notes of the table it put.
 */
static size_t put_no_steps(struct summary *summary, const struct table *steps)
{
	size_t unit = table_find_column(steps->kind, "unit"), length = 0, count = 0;

	if (!steps->shown_count)
		count = steps->note_count;
	else if (steps->note_count && *table_get_text(steps, 0, unit, &length) == 'w')
		count = 1;
	for (size_t i = 0; i < count; i++)
		keep_note(summary, steps->notes[i].text, steps->notes[i].kind);
	return count;
}

/* Puts the notes of a table that are not among the first `said` ones of another. */
static void put_others(struct summary *summary, const struct table *table, const struct table *other, size_t said)
{
	for (size_t i = 0; i < table->note_count; i++) {
		size_t k = 0;

		while (k < said && strcmp(other->notes[k].text, table->notes[i].text) != 0)
			k++;
		if (k == said)
			keep_note(summary, table->notes[i].text, table->notes[i].kind);
	}
}

/* What the library noted: sentences, but for the flags by which XLA was asked for its modules. */
static void put_own_note(struct summary *summary, const char *value)
{
	static const char begin[] = "--xla_dump_to=";
	const char *folder = value + sizeof(begin) - 1;
	struct text note = {0};

	if (strncmp(value, begin, sizeof(begin) - 1) != 0) {
		put_note(summary, value);
		return;
	}
	text_format(&note, "What XLA compiled is in %.*s: -t compile_stats,xla_ops.", (int)strcspn(folder, " "), folder);
	put_note(summary, note.bytes);
	text_free(&note);
}

/* What the settings left unrecorded. */
static void note_settings(struct table *notes, const struct request *request)
{
	notes_inherited(notes, request);
	notes_below(notes, request);
	notes_apart(notes, request);
	notes_recording(notes, request);
	window_cost_note(notes, request);
	slow_steps_note(notes, request);
	notes_ops(notes, request);
	gpu_note_whole_graphs(notes, request);
	gpu_note_nested(notes, request);
	python_looks_note_alone(notes, request);
}

/* What the steps are, and what they are not: before anything that is told of other things. */
static struct table *make_steps(const struct summary *summary)
{
	struct table *table = table_make(&table_step_stats);

	notes_aside(table, summary->request);
	notes_unit(table, summary->request);
	return table;
}

static void put_steps(struct summary *summary)
{
	struct table *table = make_steps(summary);

	for (size_t i = 0; i < table->note_count; i++)
		keep_note(summary, table->notes[i].text, NOTE_MISSING);
	table_free(table);
}

void summary_measure_missing(struct summary *summary)
{
	struct table *notes = table_make(&table_memory_sites), *steps = make_steps(summary);

	note_settings(notes, summary->request);
	for (size_t i = 0; i < steps->note_count; i++)
		summary->missing_lines += (unsigned)measure_note(summary, steps->notes[i].text);
	table_free(steps);
	for (size_t i = 0; i < notes->note_count; i++)
		if (notes->notes[i].kind == NOTE_MISSING)
			summary->missing_lines += (unsigned)measure_note(summary, notes->notes[i].text);
	table_free(notes);
}

void summary_put_notes(struct summary *summary)
{
	const struct run *run = summary->request->run;
	struct table *sites = table_make(&table_memory_sites), *steps = tables_make(&table_step_stats, summary->request);
	size_t said = put_no_steps(summary, steps);

	put_steps(summary);
	notes_missing(sites, summary->request);
	put_others(summary, sites, steps, said);
	table_free(sites);
	sites = table_make(&table_memory_sites);
	note_settings(sites, summary->request);
	if (summary->shows_mmap)
		notes_no_access_brief(sites, summary->request);
	gpu_note_numbers(sites, summary->request);
	notes_lost_blocks(sites, summary->request);
	notes_sampling(sites, summary->request);
	notes_started_apart(sites, summary->request);
	notes_recorded_again(sites, summary->request);
	if (run->process_count == 1) /* of several the sum is shown */
		notes_small_peak(sites, summary->request);
	if (summary->has_bound)
		put_note(summary, "Several processes: the peak is at most this (their curves added up); call stacks count what each "
				  "process held at its own peak.");
	put_others(summary, sites, steps, said);
	for (size_t i = 0; i < run->processes[0].note_count; i++)
		put_own_note(summary, run->processes[0].notes[i].value);
	table_free(sites);
	table_free(steps);
	summary_degraded(summary, put_note);
	put_problems(summary);
	if (summary->has_near)
		put_note(summary, "~name+0x...: the nearest name known; the function itself has none (the file is stripped).");
	write_notes(summary);
}

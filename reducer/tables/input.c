/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.verdict, input.host, input.steps: whether the steps waited for input, for what, and what the host did for it.
 *
 * Rule: a row a process that runs steps (and a step, or a stage, of it); the sums are those of input_rows.h.
 */
#include "reducer/tables/input_rows.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"

enum {
	V_PID,
	V_VERDICT,
	V_SHARE,
	V_STEPS,
	V_STEPS_NS,
	V_WAIT,
	V_MEAN,
	V_MIN,
	V_MAX,
	V_DEVIATION,
	V_HIDDEN,
	V_SOURCE,
	V_STAGE,
	V_KIND,
	V_SENTENCE,
	V_REMEDY,
	V_WORKERS,
	V_AT_ONCE,
	V_BUSY,
	V_OUTSIDE,
	V_MACHINE,
	V_MEMBER,
	V_COLUMNS
};

static const struct table_column verdict_columns[] = {
	[V_PID] = {"pid", "pid", TABLE_INTEGER, UNIT_NONE, 0, "process that runs the steps"},
	[V_VERDICT] =
		{"verdict", "bound", TABLE_TEXT, UNIT_NONE, 0,
		 "by input: high = 20 % of the step time and more, moderate = 5 % and more, none; possible = not recorded, but "
		 "likely; unknown = no step was recorded from start to end"},
	[V_SHARE] = {"wait_share", "waited", TABLE_REAL, UNIT_RATIO, 0,
		     "of the time of the steps that are judged: of more than five the first is not; the sums beside it are of all"},
	[V_STEPS] = {"steps", "steps", TABLE_INTEGER, UNIT_COUNT, 0, "whose end is known"},
	[V_STEPS_NS] = {"steps_total_ns", "steps took", TABLE_INTEGER, UNIT_NS, 1, "all steps together"},
	[V_WAIT] = {"wait_total_ns", "wait", TABLE_INTEGER, UNIT_NS, 1,
		    "waiting for input and copying it to the device while nothing else went on"},
	[V_MEAN] = {"wait_mean_ns", "a step", TABLE_INTEGER, UNIT_NS, 0, "mean"},
	[V_MIN] = {"wait_min_ns", "least", TABLE_INTEGER, UNIT_NS, 1, "of a step"},
	[V_MAX] = {"wait_max_ns", "most", TABLE_INTEGER, UNIT_NS, 1, "of a step"},
	[V_DEVIATION] = {"wait_deviation_ns", "deviation", TABLE_REAL, UNIT_NS, 2, "of a sample; empty = fewer than two steps"},
	[V_HIDDEN] = {"hidden_ns", "hidden", TABLE_INTEGER, UNIT_NS, 2, "waited while a device worked: costs nothing"},
	[V_SOURCE] = {"source", "waits told by", TABLE_TEXT, UNIT_NONE, 1,
		      "tf.data, DataLoader, ranges of the program, reads of its thread; empty = nothing told of any"},
	[V_STAGE] = {"stage", "stage", TABLE_TEXT, UNIT_NONE, 0, "what was waited for most; empty = nothing"},
	[V_KIND] = {"stage_kind", "kind", TABLE_TEXT, UNIT_NONE, 2, "what sort of stage that is"},
	[V_SENTENCE] = {"sentence", "in words", TABLE_TEXT, UNIT_NONE, 1, "the verdict as a sentence"},
	[V_REMEDY] = {"remedy", "what to do", TABLE_TEXT, UNIT_NONE, 1, "what helps against the stage that takes most"},
	[V_WORKERS] = {"workers", "workers", TABLE_INTEGER, UNIT_COUNT, 2,
		       "recorded worker processes of a DataLoader; empty = it has none"},
	[V_AT_ONCE] = {"workers_at_once", "at once", TABLE_INTEGER, UNIT_COUNT, 2,
		       "of them at the most: epochs may have their own"},
	[V_BUSY] = {"workers_busy", "busy", TABLE_REAL, UNIT_RATIO, 2,
		    "share of the time from their first order to their last in which they made batches"},
	[V_OUTSIDE] = {"iterator_outside", "outside", TABLE_TEXT, UNIT_NONE, 3,
		       "yes = most waiting lies outside of the marked steps"},
	[V_MACHINE] = TABLE_HOST,
	[V_MEMBER] = TABLE_MEMBER,
};

static void put_worker_cells(struct table *table, const struct input_view *view)
{
	if (!view->loading->has_workers)
		return;
	table_integer(table, V_WORKERS, (int64_t)view->workers);
	table_integer(table, V_AT_ONCE, (int64_t)view->workers_at_once);
	if (view->alive_ns)
		table_real(table, V_BUSY, (double)view->busy_ns / (double)view->alive_ns);
}

static void put_verdict(struct table *table, const struct input_view *view)
{
	struct text sentence = {0};

	input_sentence(view, &sentence);
	table_row(table);
	table_process(table, V_PID, V_MACHINE, view->process);
	table_string(table, V_VERDICT, input_verdict_name(view->verdict));
	table_integer(table, V_STEPS, (int64_t)view->steps);
	table_string(table, V_SOURCE, input_source_name(view->source));
	table_string(table, V_STAGE, view->stage.length ? view->stage.bytes : NULL);
	table_string(table, V_KIND, view->stage_kind);
	table_string(table, V_SENTENCE, sentence.bytes);
	table_string(table, V_REMEDY, view->remedy);
	table_string(table, V_OUTSIDE, view->is_outside ? "yes" : NULL);
	put_worker_cells(table, view);
	text_free(&sentence);
	if (!view->steps)
		return;
	if (view->steps_ns)
		table_real(table, V_SHARE, input_share(view));
	table_integer(table, V_STEPS_NS, (int64_t)view->steps_ns);
	table_integer(table, V_WAIT, (int64_t)view->wait_ns);
	table_integer(table, V_MEAN, (int64_t)(view->wait_ns / view->steps));
	table_integer(table, V_MIN, (int64_t)view->wait_min_ns);
	table_integer(table, V_MAX, (int64_t)view->wait_max_ns);
	table_integer(table, V_HIDDEN, (int64_t)view->hidden_ns);
	if (view->steps > 1)
		table_real(table, V_DEVIATION, view->deviation_ns);
}

static void note_verdict(struct table *table, const struct input_view *view)
{
	struct text sentence = {0};

	input_sentence(view, &sentence);
	table_note(table, NOTE_INFO, "Process %s: %s%s%s", view->process->called, sentence.bytes, view->remedy ? " " : "",
		   view->remedy ? view->remedy : "");
	text_free(&sentence);
	if (view->source == SOURCE_LOADER && view->stage.length)
		table_note(table, NOTE_INFERRED,
			   "Process %s: collating is told from the dataset's own work by the names of the ops (stack, cat)%s.",
			   view->process->called, view->collate >= 0 ? ", or by looks at Python code" : "");
}

/* Where there are several: how far they lie apart. */
static void note_range(struct table *table, const struct input_views *views)
{
	const struct input_view *least = NULL, *most = NULL;

	for (size_t i = 0; i < views->count; i++) {
		const struct input_view *view = &views->items[i];
		if (!view->steps)
			continue;
		if (!least || view->wait_ns / view->steps < least->wait_ns / least->steps)
			least = view;
		if (!most || view->wait_ns / view->steps > most->wait_ns / most->steps)
			most = view;
	}
	if (most && most != least)
		table_note(table, NOTE_INFO, "A step waited %.3f ms (process %s) to %.3f ms (process %s) for input.",
			   (double)(least->wait_ns / least->steps) / 1e6, least->process->called,
			   (double)(most->wait_ns / most->steps) / 1e6, most->process->called);
}

static void fill_verdict(struct table *table, const struct request *request)
{
	struct input_views views;

	input_views_find(&views, request);
	for (size_t i = 0; i < views.count; i++) {
		put_verdict(table, &views.items[i]);
		note_verdict(table, &views.items[i]);
	}
	note_range(table, &views);
	step_rows_note_first(table, &views.rows, request);
	input_notes(table, request, &views);
	input_views_free(&views);
}

enum { H_PID, H_STAGE, H_TOTAL, H_SHARE, H_REMEDY, H_MACHINE, H_MEMBER, H_COLUMNS };

static const struct table_column host_columns[] = {
	[H_PID] = {"pid", "pid", TABLE_INTEGER, UNIT_NONE, 1, "process that runs the steps; its worker processes count with it"},
	[H_STAGE] = {"stage", "stage", TABLE_TEXT, UNIT_NONE, 0,
		     "demand_read: read when needed; advance_read: read ahead; preprocessing; enqueue: pinned and copied to the "
		     "device; "
		     "other: waiting that none of these explains"},
	[H_TOTAL] = {"total_ns", "total", TABLE_INTEGER, UNIT_NS, 0, "of all threads and worker processes, while steps ran"},
	[H_SHARE] = {"share", "share", TABLE_REAL, UNIT_RATIO, 0, "of the five"},
	[H_REMEDY] = {"remedy", "what to do if it is much", TABLE_TEXT, UNIT_NONE, 0,
		      "what helps against the stage that takes most"},
	[H_MACHINE] = TABLE_HOST,
	[H_MEMBER] = TABLE_MEMBER,
};

static void put_host(struct table *table, const struct input_view *view)
{
	uint64_t all = 0;

	for (size_t c = 0; c < INPUT_CATEGORIES; c++)
		all += view->parts_ns[c];
	for (enum input_category c = 0; c < INPUT_CATEGORIES; c++) {
		table_row(table);
		table_process(table, H_PID, H_MACHINE, view->process);
		table_string(table, H_STAGE, input_category_name(c));
		table_integer(table, H_TOTAL, (int64_t)view->parts_ns[c]);
		if (all)
			table_real(table, H_SHARE, (double)view->parts_ns[c] / (double)all);
		table_string(table, H_REMEDY, view->parts_ns[c] ? input_category_remedy(c) : NULL);
	}
}

static void fill_host(struct table *table, const struct request *request)
{
	struct input_views views;

	input_views_find(&views, request);
	for (size_t i = 0; i < views.count; i++)
		put_host(table, &views.items[i]);
	input_notes(table, request, &views);
	input_views_free(&views);
}

enum { S_PID, S_STEP, S_START, S_TOTAL, S_WAIT, S_SHARE, S_COPY, S_HIDDEN, S_MACHINE, S_MEMBER, S_COLUMNS };

static const struct table_column step_columns[] = {
	[S_PID] = {"pid", "pid", TABLE_INTEGER, UNIT_NONE, 1, "process that runs the steps"},
	[S_STEP] = {"step", "step", TABLE_INTEGER, UNIT_NONE, 0, "its number, as in step_stats"},
	[S_START] = {"start_ns", "start", TABLE_INTEGER, UNIT_NS, 1, "from the start of the run"},
	[S_TOTAL] = {"total_ns", "total", TABLE_INTEGER, UNIT_NS, 0, "as --step-time counts it"},
	[S_WAIT] = {"wait_ns", "wait", TABLE_INTEGER, UNIT_NS, 0, "waiting for input and copying it, while nothing else went on"},
	[S_SHARE] = {"wait_share", "waited", TABLE_REAL, UNIT_RATIO, 0, "of the step"},
	[S_COPY] = {"copy_ns", "copies", TABLE_INTEGER, UNIT_NS, 1, "of it: copies to the device"},
	[S_HIDDEN] = {"hidden_ns", "hidden", TABLE_INTEGER, UNIT_NS, 2, "more of the same while a device worked: costs nothing"},
	[S_MACHINE] = TABLE_HOST,
	[S_MEMBER] = TABLE_MEMBER,
};

static void put_step(struct table *table, const struct process *process, const struct step_row *row)
{
	table_row(table);
	table_process(table, S_PID, S_MACHINE, process);
	table_integer(table, S_STEP, (int64_t)row->unit.number);
	table_integer(table, S_START, row->start_ns);
	table_integer(table, S_TOTAL, (int64_t)row->total_ns);
	table_integer(table, S_WAIT, (int64_t)input_wait_ns(row));
	if (row->total_ns)
		table_real(table, S_SHARE, (double)input_wait_ns(row) / (double)row->total_ns);
	table_integer(table, S_COPY, (int64_t)row->exposed_ns[PART_INPUT_COPY]);
	table_integer(table, S_HIDDEN, (int64_t)(row->overlapped_ns[PART_INPUT_WAIT] + row->overlapped_ns[PART_INPUT_COPY]));
}

static void fill_steps(struct table *table, const struct request *request)
{
	struct input_views views;

	input_views_find(&views, request);
	for (size_t i = 0; i < views.count; i++)
		for (size_t s = views.items[i].first; s < views.items[i].end; s++)
			if (step_rows_counts(&views.rows, views.rows.items[s]))
				put_step(table, views.items[i].process, views.rows.items[s]);
	input_notes(table, request, &views);
	input_views_free(&views);
}

#define KIND(its_id, its_title, its_help, its_columns, its_count, its_fill)                                                      \
	{                                                                                                                        \
		.id = its_id, .title = its_title, .help = its_help, .columns = its_columns, .column_count = its_count,           \
		.filters = FILTER_PROCESS | FILTER_WINDOW | FILTER_STEP | FILTER_DEVICE | FILTER_STREAM | FILTER_THREAD,         \
		.text_rows = 30, .needs_scan = true,                                                                             \
		.analyses = input_analyses, .fill = its_fill,                                                                    \
	}

const struct table_kind table_input_verdict =
	KIND("input.verdict", "Do steps wait for input?",
	     "Whether each process's steps waited for input, how long, for which stage, and what to do.", verdict_columns,
	     V_COLUMNS, fill_verdict);
const struct table_kind table_input_host =
	KIND("input.host", "What the host does for the input",
	     "Reading when needed, reading ahead, preprocessing, handing over: time of the host, with what to do about each.",
	     host_columns, H_COLUMNS, fill_host);
const struct table_kind table_input_steps = KIND("input.steps", "Waiting for input, step by step",
						 "How long each step waited for its input.", step_columns, S_COLUMNS, fill_steps);

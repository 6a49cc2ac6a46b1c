/* SPDX-License-Identifier: Apache-2.0 */
/* What the input tables say of each process; see reducer/tables/input_rows.h. */
#include "reducer/tables/input_rows.h"

#include "reducer/tables/busy.h"
#include "reducer/tables/input_line.h"
#include "reducer/tables/input_stage.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/python_looks.h"
#include "reducer/tables/step_unusual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_CORES 0.8	    /* a thread that uses less of a processor waits for something */
#define READING_THREADS 0.5 /* time in reads by the time of the steps, over all other threads */

const struct analysis_kind *const input_analyses[] = {&analysis_steps, &analysis_loading, &analysis_pipelines, NULL};

const char *input_verdict_name(enum input_verdict verdict)
{
	static const char *const names[] = {"none", "possible", "moderate", "high", "unknown"};

	return names[verdict];
}

const char *input_source_name(enum input_source source)
{
	static const char *const names[] = {NULL, "tf.data", "DataLoader", "ranges", "reads"};

	return names[source];
}

uint64_t input_wait_ns(const struct step_row *row)
{
	return row->exposed_ns[PART_INPUT_WAIT] + row->exposed_ns[PART_INPUT_COPY];
}

static void sum_steps(struct input_view *view, const struct step_rows *rows)
{
	double squares = 0;

	view->wait_min_ns = UINT64_MAX;
	for (size_t i = view->first; i < view->end; i++) {
		const struct step_row *row = rows->items[i];
		uint64_t wait = input_wait_ns(row);
		if (!step_rows_counts(rows, row))
			continue;
		view->steps++;
		view->steps_ns += row->total_ns;
		view->wait_ns += wait;
		view->wait_min_ns = wait < view->wait_min_ns ? wait : view->wait_min_ns;
		view->wait_max_ns = wait > view->wait_max_ns ? wait : view->wait_max_ns;
		view->hidden_ns += row->overlapped_ns[PART_INPUT_WAIT] + row->overlapped_ns[PART_INPUT_COPY];
		if (step_rows_judges(rows, i)) {
			view->judged_other_ns += row->exposed_ns[PART_OTHER];
			view->judged_ns += row->total_ns;
			view->judged_wait_ns += wait;
		}
	}
	double mean = view->steps ? (double)view->wait_ns / (double)view->steps : 0;
	for (size_t i = view->first; i < view->end; i++)
		if (step_rows_counts(rows, rows->items[i])) {
			double off = (double)input_wait_ns(rows->items[i]) - mean;
			squares += off * off;
		}
	view->deviation_ns = view->steps > 1 ? sqrt(squares / (double)(view->steps - 1)) : 0;
}

static bool is_below(const struct run *run, size_t process, const struct process *above)
{
	for (size_t depth = 0; process < run->process_count && depth < 64; depth++, process = run->processes[process].parent)
		if (&run->processes[process] == above)
			return true;
	return false;
}

double input_share(const struct input_view *view)
{
	return view->judged_ns ? (double)view->judged_wait_ns / (double)view->judged_ns : 0;
}

/* How many of them ran at once, at the most: epochs may have workers of their own. */
static size_t most_at_once(const struct run *run, const size_t *workers, size_t count)
{
	size_t most = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t time = run->processes[workers[i]].start_ns;
		size_t now = 0;
		for (size_t k = 0; k < count; k++)
			now += run->processes[workers[k]].start_ns <= time && run->processes[workers[k]].end_ns > time;
		most = now > most ? now : most;
	}
	return most;
}

/*
 * Processes below this one, without steps, that did something for batches while steps went on. Those that were told which samples to
 * make are its workers; others only read (a program that a worker started, Python's own helper).
 */
static void sum_workers(struct input_view *view, const struct request *request)
{
	const struct run *run = request->run;
	size_t *workers = base_alloc(run->process_count + 1, sizeof(*workers));

	view->are_left_out = request->process || request->host || request->rank;
	for (size_t p = 0; p < run->process_count && view->loading->has_workers; p++) {
		const struct loading_row *row =
			loading_row_of(analyses_process(request->analyses, &analysis_loading, p), run->processes[p].log_id);
		if (!row || row->has_steps || &run->processes[p] == view->process ||
		    !is_below(run, run->processes[p].parent, view->process))
			continue;
		view->closed += run->processes[p].range_count == 0;
		view->worker_reads_ns += row->ns[LOADING_WORKER_READS];
		if (!row->counts[LOADING_BUSY] && !row->counts[LOADING_GUESSED])
			continue;
		workers[view->workers++] = p;
		view->guessed += row->counts[LOADING_GUESSED] > 0;
		view->alive_ns += row->ns[LOADING_ALIVE];
		view->busy_ns += row->ns[LOADING_BUSY] + row->ns[LOADING_GUESSED];
		view->batches += row->counts[LOADING_BUSY] + row->counts[LOADING_GUESSED];
		view->worker_collate_ns += row->ns[LOADING_WORKER_COLLATE];
	}
	view->workers_at_once = most_at_once(run, workers, view->workers);
	if (!view->workers)
		workers[0] = (size_t)(view->process - run->processes);
	view->collate = input_line_say(&view->line, &view->is_iterable, request, workers, view->workers ? view->workers : 1);
	view->sampler = INPUT_LINE_UNKNOWN;
	if (view->loading->counts[LOADING_LOADER])
		view->sampler = input_line_say_sampler(&view->sampler_line, request, (size_t)(view->process - run->processes));
	free(workers);
}

/* Reads of other threads; where no loader is, pipes bring data too. */
static uint64_t reads_ahead(const struct loading_row *loading)
{
	return loading->ns[LOADING_ADVANCE_READS] + (loading->counts[LOADING_LOADER] ? 0 : loading->ns[LOADING_QUEUE_READS]);
}

static uint64_t minus(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

static void sum_parts(struct input_view *view)
{
	const struct loading_row *loading = view->loading;
	uint64_t *parts = view->parts_ns, known = 0;

	for (size_t i = 0; view->pipelines && i < view->pipelines->count; i++)
		parts[input_category_of(view->pipelines->nodes[i].name)] += view->pipelines->nodes[i].self_ns;
	parts[INPUT_DEMAND_READ] +=
		minus(loading->ns[LOADING_DEMAND_READS], loading->has_workers ? loading->ns[LOADING_QUEUE_READS] : 0);
	parts[INPUT_ADVANCE_READ] += reads_ahead(loading) + view->worker_reads_ns;
	parts[INPUT_PREPROCESSING] += minus(view->busy_ns, view->worker_reads_ns);
	if (!loading->has_workers)
		parts[INPUT_PREPROCESSING] += minus(loading->ns[LOADING_LOADER], loading->ns[LOADING_LOADER_READS]);
	parts[INPUT_ENQUEUE] += loading->ns[LOADING_COPIES] + loading->ns[LOADING_PINNING];
	for (size_t c = 0; c < INPUT_OTHER; c++)
		known += parts[c];
	parts[INPUT_OTHER] = minus(view->wait_ns, known);
}

/* Whether threads that read are what a thread that rests may wait for: no wait was recorded. */
static bool may_wait(struct input_view *view)
{
	uint64_t window = view->loading->window_ns;

	if (!window)
		return false;
	view->reading_threads = (double)reads_ahead(view->loading) / (double)window;
	return view->reading_threads >= READING_THREADS && view->step_thread_cores >= 0 && view->step_thread_cores < IDLE_CORES;
}

double input_other_share(const struct input_view *view)
{
	return view->judged_ns ? (double)view->judged_other_ns / (double)view->judged_ns : 0;
}

bool input_may_rest(double share, double cores, double delay, bool are_waits)
{
	return share >= INPUT_HIGH && cores >= 0 && cores + delay < IDLE_CORES * (are_waits ? share : 1);
}

static bool calls_xla(const struct process *process)
{
	for (size_t i = 0; i < process->ops.count; i++)
		if (strncmp(process->ops.items[i].name, "XLA call: ", 10) == 0)
			return true;
	return false;
}

/*
 * Whether a wait of which nothing tells may fill the steps: their thread rests, and that not for want of a processor. What few steps
 * paused for fills none of the others.
 */
static bool may_hide(const struct input_view *view, const struct step_rows *rows, double delay)
{
	struct step_pauses pauses = step_pauses_of(rows, view->first);
	uint64_t ns = minus(view->judged_ns, pauses.ns), other_ns = minus(view->judged_other_ns, pauses.other_ns);

	return ns && input_may_rest((double)other_ns / (double)ns, view->step_thread_cores, fmax(delay, 0), calls_xla(view->process));
}

static enum input_source source_of(const struct loading_row *loading)
{
	static const struct {
		enum loading_sum sum;
		enum input_source source;
	} order[] = {{LOADING_ITERATORS, SOURCE_TF_DATA}, {LOADING_LOADER, SOURCE_LOADER}, {LOADING_RANGES, SOURCE_RANGES}};
	enum input_source found = SOURCE_NONE;
	uint64_t most = 0;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (loading->counts[order[i].sum] && loading->ns[order[i].sum] >= most) {
			found = order[i].source;
			most = loading->ns[order[i].sum];
		}
	return found == SOURCE_NONE && loading->counts[LOADING_DEMAND_READS] ? SOURCE_READS : found;
}

/* Where nothing that is known to bring input was met. */
static enum input_verdict judge_untold(struct input_view *view, const struct step_rows *rows, double delay)
{
	if (view->first == view->end)
		return VERDICT_NONE;
	view->step_thread_cores = busy_thread(rows, view->first, view->end, view->process);
	if (may_wait(view))
		return VERDICT_POSSIBLE;
	view->is_untold = may_hide(view, rows, delay);
	return view->is_untold ? VERDICT_POSSIBLE : VERDICT_NONE;
}

/* delay: of the time of the steps their threads waited for a processor; negative = not known. */
static void judge(struct input_view *view, const struct step_rows *rows, double delay)
{
	double share = input_share(view);

	if (!view->steps || !view->steps_ns)
		view->verdict = VERDICT_UNKNOWN;
	else if (share >= INPUT_HIGH)
		view->verdict = VERDICT_HIGH;
	else if (share >= INPUT_MODERATE)
		view->verdict = VERDICT_MODERATE;
	else
		view->verdict = view->source == SOURCE_NONE ? judge_untold(view, rows, delay) : VERDICT_NONE;
	view->is_outside = view->loading->ns[LOADING_OUTSIDE] > view->loading->ns[LOADING_INSIDE];
}

void input_views_find(struct input_views *views, const struct request *request)
{
	const struct run *run = request->run;

	*views = (struct input_views){.items = base_alloc(run->process_count + 1, sizeof(*views->items))};
	step_rows_find(&views->rows, request);
	double delay = busy_find(&views->rows, request).share;
	bool has_looks = python_looks_any(request);
	for (size_t p = 0; p < run->process_count; p++) {
		const struct loading_row *loading =
			loading_row_of(analyses_process(request->analyses, &analysis_loading, p), run->processes[p].log_id);
		struct input_view *view = &views->items[views->count];
		if (!loading || !loading->has_steps)
			continue;
		views->count++;
		*view = (struct input_view){.process = &run->processes[p],
					    .loading = loading,
					    .step_thread_cores = -1,
					    .has_looks = has_looks,
					    .pipelines = analyses_process(request->analyses, &analysis_pipelines, p)};
		view->first = step_rows_of(&views->rows, p, &view->end);
		sum_steps(view, &views->rows);
		sum_workers(view, request);
		sum_parts(view);
		view->source = source_of(loading);
		judge(view, &views->rows, delay);
		if (view->source == SOURCE_READS && view->verdict == VERDICT_HIGH)
			python_looks_say(&view->line, request, -1, 100 - 100 * input_share(view) / 2); /* half of the wait at least */
		input_find_stage(view, &views->rows);
	}
}

void input_views_free(struct input_views *views)
{
	for (size_t i = 0; i < views->count; i++) {
		text_free(&views->items[i].stage);
		text_free(&views->items[i].advice);
		text_free(&views->items[i].line);
		text_free(&views->items[i].sampler_line);
	}
	free(views->items);
	step_rows_free(&views->rows);
}

static void note_view(struct table *table, const struct input_view *view)
{
	const char *called = view->process->called;

	if (view->is_outside)
		table_note(
			table, NOTE_INFO,
			"Process %s: most of the waiting for input lies between the end of a step's marker and the next one: the "
			"iterator stands outside of the marked step. Put it inside, or tools that look at the marker alone "
			"(--step-time=span, the TensorFlow Profiler) see no input problem.",
			called);
	if (view->guessed)
		table_note(table, NOTE_INFERRED,
			   "Process %s: %zu of its worker processes ran no op of PyTorch and read no file: their work is taken to be "
			   "their processor time.",
			   called, view->guessed);
	if (view->loading->has_workers && !view->workers)
		table_note(
			table, NOTE_MISSING,
			"Process %s: its DataLoader has worker processes, but %s: what they did is not known.", called,
			view->closed	     ? "no capture window opened in them"
			: view->are_left_out ? "none of them is among the processes that were asked for"
					     : "none of them is among the logs");
	if (view->verdict == VERDICT_POSSIBLE && !view->is_untold)
		table_note(table, NOTE_INFERRED,
			   "Process %s: nothing says that its steps waited. Its other threads were in reads %.0f %% of the time, "
			   "and "
			   "the thread that runs the steps used %.0f %% of a processor: it may have waited for them.",
			   called, 100 * fmin(view->reading_threads, 1), 100 * view->step_thread_cores);
	if (view->steps == 1)
		table_note(table, NOTE_INFO, "Process %s: one step alone; there is no range and no deviation.", called);
	if (view->loading->forgotten)
		table_note(table, NOTE_MISSING, "Process %s: a loader's call held more ops than are kept; some are not shown.",
			   called);
}

void input_notes(struct table *table, const struct request *request, const struct input_views *views)
{
	if (!views->count)
		table_note(table, NOTE_MISSING, "%s",
			   notes_is_foreign(request)
				   ? "No process marked steps, so there is no time to wait in: step_stats says what does."
				   : "No process marked steps, so there is no time to wait in: tfprof.step(), a framework's training loop "
				     "or TFPROF_STEP_RANGE makes some (step_stats).");
	for (size_t i = 0; i < views->count; i++)
		note_view(table, &views->items[i]);
	notes_layouts(table, request);
	notes_recording(table, request);
}

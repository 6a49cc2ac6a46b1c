/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_stats: the steps of each process, and what their time went into.
 *
 * Rule: of several sources the one that is trusted most counts (a marker of the program's own, a framework's range, NVTX by
 * the setting STEP_RANGE); steps found by their period are estimates and say how sure they are. Sources are never mixed. The
 * times of a row from compilation to other sum to its total; what is hidden by other work stands in columns of its own.
 */
#include "reducer/model/steps_beside.h"
#include "reducer/tables/flops_cells.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"
#include "reducer/tables/step_values.h"

#include <inttypes.h>
#include <string.h>

enum {
	STEP,
	PROCESS,
	START,
	VALUES,
	MARKED = VALUES + STEP_VALUES,
	PERIOD,
	SOURCE,
	CONFIDENCE,
	NAME,
	THREAD,
	UNIT,
	ROLE,
	FORWARD_START,
	BACKWARD_END,
	BEFORE_FORWARD,
	PASSES,
	AFTER_BACKWARD,
	FLOPS,
	FLOPS_RATE,
	MACHINE, MEMBER, COLUMNS
};

static const struct table_column columns[] = {
	[STEP] = {"step", "step", TABLE_INTEGER, UNIT_NONE, 0, "the program's or framework's number; else counted from 1"},
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 1, "pid as the process saw it"},
	[START] = {"start_ns", "start", TABLE_INTEGER, UNIT_NS, 0, "from the start of the run"},
#define STEP_VALUE(symbol, id, header, detail, help)                                                                             \
	[VALUES + VALUE_##symbol] = {id, header, TABLE_INTEGER, UNIT_NS, detail, help},
#include "reducer/tables/step_values.def"
#undef STEP_VALUE
	[MARKED] = {"marked_ns", "marked", TABLE_INTEGER, UNIT_NS, 3,
		    "to the end of the range that marks it; empty = nothing marks its end"},
	[PERIOD] = {"period_ns", "to next", TABLE_INTEGER, UNIT_NS, 2,
		    "from this step's start to the next one's: with what lies between them"},
	[SOURCE] = {"source", "source", TABLE_TEXT, UNIT_NONE, 1, "who marked it; period = nobody did, found by what repeats"},
	[CONFIDENCE] = {"confidence", "sure", TABLE_REAL, UNIT_RATIO, 2,
			"1 = marked; by period: how alike the steps are, and this one to the others"},
	[NAME] = {"name", "marked by", TABLE_TEXT, UNIT_NONE, 2,
		  "range that marks it; by period: the call or range that begins each"},
	[THREAD] = {"thread", "thread", TABLE_INTEGER, UNIT_NONE, 3, "kernel id of the thread that marked it"},
	[UNIT] = {"unit", "unit", TABLE_TEXT, UNIT_NONE, 3, "step; where there are none: request, call, whole"},
	[ROLE] = {"role", "role", TABLE_TEXT, UNIT_NONE, 1,
		  "evaluation = of a function or eager batch without a backward pass, though others have one: inferred"},
	[FORWARD_START] = {"forward_start_ns", "forward at", TABLE_INTEGER, UNIT_NS, 3,
			   "when the first kernel that its forward pass launched began, from the start of the run; where none was "
			   "recorded the first op of that pass: of PyTorch, or with that phase by its name; empty = none is known"},
	[BACKWARD_END] = {"backward_end_ns", "backward to", TABLE_INTEGER, UNIT_NS, 3,
			  "likewise when the last of its backward pass ended; of a device it may lie behind the step's end"},
	[BEFORE_FORWARD] = {"before_forward_ns", "before", TABLE_INTEGER, UNIT_NS, 3,
			    "from the step's start to forward_start_ns: getting the batch ready"},
	[PASSES] = {"forward_backward_ns", "passes", TABLE_INTEGER, UNIT_NS, 2, "from forward_start_ns to backward_end_ns"},
	[AFTER_BACKWARD] = {"after_backward_ns", "after", TABLE_INTEGER, UNIT_NS, 3,
			    "from backward_end_ns to the step's end: gradients are joined, weights change; empty = it ended later"},
	[FLOPS] = {"flops", "flop", TABLE_INTEGER, UNIT_FLOPS, 2,
		   "arithmetic of the ops and library calls that began in it, each counted once (docs/flops.md); empty = none is known, or "
		   "it launched CUDA graphs, whose part is not"},
	[FLOPS_RATE] = {"flops_per_s", "flop/s", TABLE_INTEGER, UNIT_FLOPS_PER_S, 1, "flops by total"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static void put_values(struct table *table, const struct step_row *row)
{
	for (enum step_value v = 0; v < STEP_VALUES; v++)
		table_integer(table, VALUES + (size_t)v, (int64_t)step_value(row, v));
}

/* Times of the device where it did either pass, else of the host: never of both. */
static void put_passes(struct table *table, const struct step_row *row)
{
	const struct step_edges *device = &row->edges[EDGES_DEVICE];
	bool is_device = device->forward_ns != TIME_UNKNOWN || device->backward_ns != TIME_UNKNOWN;
	const struct step_edges edges = row->edges[is_device ? EDGES_DEVICE : EDGES_HOST];
	int64_t end_ns = row->start_ns + (int64_t)row->total_ns;

	if (edges.forward_ns != TIME_UNKNOWN) {
		table_integer(table, FORWARD_START, edges.forward_ns);
		table_integer(table, BEFORE_FORWARD, edges.forward_ns - row->start_ns);
	}
	if (edges.backward_ns == TIME_UNKNOWN)
		return;
	table_integer(table, BACKWARD_END, edges.backward_ns);
	if (edges.forward_ns != TIME_UNKNOWN && edges.backward_ns >= edges.forward_ns)
		table_integer(table, PASSES, edges.backward_ns - edges.forward_ns);
	if (edges.backward_ns <= end_ns)
		table_integer(table, AFTER_BACKWARD, end_ns - edges.backward_ns);
}

static void put_row(struct table *table, const struct request *request, const struct step_rows *rows, size_t i)
{
	const struct step_row *row = rows->items[i];
	/* Of all, not of those that --step and --window want. */
	const struct steps *all = analyses_process(request->analyses, &analysis_steps, row->process);
	const struct step_row *next = row + 1 < all->rows + all->count ? row + 1 : NULL;
	const struct process *process = &request->run->processes[row->process];
	const struct unit *unit = &row->unit;
	const struct thread *thread = unit->thread ? process_thread(process, unit->thread) : NULL;

	table_row(table);
	table_integer(table, STEP, (int64_t)unit->number);
	table_process(table, PROCESS, MACHINE, process);
	table_integer(table, START, row->start_ns);
	if (step_rows_counts(rows, row)) {
		put_values(table, row);
		put_passes(table, row);
	} else if (!unit->is_cut) {
		table_integer(table, VALUES + (size_t)VALUE_TOTAL, (int64_t)row->total_ns);
	}
	if (unit->marked_ns != TIME_UNKNOWN)
		table_integer(table, MARKED, unit->marked_ns - unit->start_ns);
	if (next && next->unit.thread == unit->thread)
		table_integer(table, PERIOD, next->unit.start_ns - unit->start_ns);
	if (unit->step != SIZE_MAX) {
		table_string(table, SOURCE, range_source_name(process->steps[unit->step].source));
		if (process->steps[unit->step].source != SOURCE_repeats) /* who found them kept no measure of it */
			table_real(table, CONFIDENCE, process->steps[unit->step].confidence);
		table_string(table, NAME, process->steps[unit->step].name);
	}
	if (thread)
		table_integer(table, THREAD, thread->tid);
	table_string(table, UNIT, unit_kind_name(row->kind));
	table_string(table, ROLE, row->is_evaluation ? "evaluation" : NULL);
	flops_put(table, FLOPS, FLOPS_RATE, flops_add_up(row->flops) != 0 && !row->replays, flops_add_up(row->flops),
		  step_rows_counts(rows, row) ? row->total_ns : 0);
}

static void note_no_steps(struct table *table, const struct request *request)
{
	const char *lost = notes_is_lossy(request) ? " Events were lost (-t losses): those that mark steps may be among them." : "";

	table_note(table, NOTE_INFO, "%s%s",
		   notes_is_foreign(request)
			   ? "No steps: nobody marked any while the other profiler recorded (TensorFlow's Trace with step_num and _r=1, "
			     "JAX's StepTraceAnnotation, step() of PyTorch's profiler), and nothing in its file repeats like steps."
			   : "No steps: nobody marked any (tfprof.step() of preload/tfprof.py, a framework, TFPROF_STEP_RANGE; JAX marks "
			     "none), and nothing in the log repeats like steps.",
		   lost);
}

static void note_measured(struct table *table, const struct request *request, const struct process *process)
{
	if (process->has_measured && request_wants_process(request, process))
		table_note(table, NOTE_INFERRED,
			   "Process %s: what repeats most regularly there are rounds of Triton's do_bench, which measures kernels (an "
			   "autotuner, or a benchmark): by the looks at its Python code. They are no steps.",
			   process->called);
}

/* Returns whether the steps of the process are replays. */
static bool note_replays(struct table *table, const struct request *request, const struct process *process)
{
	size_t replays = 0, others = 0;
	unsigned turns = 0;

	for (size_t i = 0; i < process->step_count; i++) {
		replays += process->steps[i].trained == TRAINED_REPLAY;
		turns = process->steps[i].trained == TRAINED_REPLAY ? process->steps[i].turns : turns;
		others += process->steps[i].source == SOURCE_record_function && process->steps[i].end_ns != TIME_UNKNOWN;
	}
	if (replays > 0 && turns > 0 && request_wants_process(request, process))
		table_note(table, NOTE_INFERRED,
			   "Process %s: its %zu steps are rounds of %u launches of CUDA graphs that take turns, in each of which an "
			   "Optimizer.step was captured, each from the end of the round before it. %zu that PyTorch marked (warming up, "
			   "the captures themselves) are left out.",
			   process->called, replays, turns, others);
	else if (replays > 0 && request_wants_process(request, process))
		table_note(table, NOTE_INFERRED,
			   "Process %s: its %zu steps are the launches of a CUDA graph in which an Optimizer.step was captured, each from "
			   "the end of the launch before it. %zu that PyTorch marked (warming up, the capture itself) are left out.",
			   process->called, replays, others);
	return replays > 0;
}

/* Steps found while the program ran. Returns how many of them were given up again. */
static size_t tell_met(struct table *table, const struct request *request, const struct process *process)
{
	size_t met = 0, given_up = 0;

	for (size_t i = 0; i < process->step_count; i++)
		if (process->steps[i].source == SOURCE_repeats)
			*(process->steps[i].is_chosen ? &met : &given_up) += 1;
	if (met == 0)
		return 0;
	if (!request_wants_process(request, process))
		return given_up;
	table_note(table, NOTE_INFERRED,
		   "Process %s: nobody marked its steps; they were found while the program ran, for its window of steps, from what "
		   "repeated among its GPU calls and JAX's calls into XLA. Numbers count from the first round; the rounds until "
		   "three were seen to be alike are not in the log. Where in the loop a step begins is a guess.",
		   process->called);
	if (given_up > 0)
		table_note(table, NOTE_INFERRED,
			   "Process %s: %zu " BY_COUNT("step that had been found before was", "steps that had been found before were")
			   " given up when something else repeated: layers give way to whole steps, and a loop to the next one, also to an "
			   "evaluation between. tfprof.step() says what is meant.",
			   process->called, given_up);
	return given_up;
}

static void note_process(struct table *table, const struct request *request, const struct process *process)
{
	size_t passed_over = 0, estimated = 0, joined = 0, calls = 0, updates = 0, trained = 0, counted = 0;
	const char *name = NULL; /* of the last call */

	for (size_t i = 0; i < process->step_count; i++) {
		passed_over += !process->steps[i].is_chosen && !process->steps[i].is_empty;
		calls += process->steps[i].is_call || process->steps[i].is_batch;
		updates += process->steps[i].is_update;
		name = process->steps[i].is_call ? process->steps[i].name : name;
		trained += process->steps[i].trained == TRAINED_ON_JAX;
		counted += process->steps[i].trained == COUNTED_ON_JAX;
		joined += process->steps[i].turns > 1 ? process->steps[i].turns - 1 : 0;
		estimated += process->steps[i].is_chosen && process->steps[i].source == STEP_BY_PERIOD;
	}
	size_t given_up = tell_met(table, request, process);
	passed_over -= joined < passed_over ? joined : passed_over;
	passed_over -= process->beside_count + process->unseen_count + given_up;
	if (process->unseen_count > 0 && request_wants_process(request, process))
		table_note(table, NOTE_MISSING,
			   "Process %s: %zu " BY_COUNT("step", "steps") " that nobody marked began inside of a capture window and ended "
			   "outside: when is not in the log, nor how many came until the next window. Left out.",
			   process->called, process->unseen_count);
	if (process->beside_count > 0 && request_wants_process(request, process))
		table_note(table, NOTE_INFERRED,
			   "Process %s only predicts (no backward pass ran in it) while another one trains: what repeats in it, %zu "
			   BY_COUNT("time", "times") ", is no step of the job.",
			   process->called, process->beside_count);
	if (calls > 0 && name == NULL && request_wants_process(request, process))
		table_note(table, NOTE_INFERRED,
			   "Process %s: nobody marked its steps; they are the batches that it took of tf.data (IteratorGetNext), from "
			   "one to the next, those that it evaluates among them (role).",
			   process->called);
	if (updates > 0 && request_wants_process(request, process))
		table_note(table, NOTE_INFERRED,
			   "Process %s: nobody marked its steps; %zu are rounds of learning of eager ops, from one change of weights to "
			   "the next: where several optimizers learn from one batch, each has its own.",
			   process->called, updates);
	if (calls > 0 && name != NULL && request_wants_process(request, process))
		table_note(table, NOTE_INFERRED,
			   "Process %s: nobody marked its steps; they are the calls of %s, a function with a backward pass%s.",
			   process->called, process->steps[0].name,
			   name == process->steps[0].name ? "" : ", and of others like it");
	if (passed_over > 0 && request_wants_process(request, process))
		table_note(table, NOTE_INFO, "Process %s: %zu " BY_COUNT("step", "steps") " that a less trusted source marked, left out.",
			   process->called, passed_over);
	if (estimated > 0 && request_wants_process(request, process))
		table_note(
			table, NOTE_INFERRED,
			"Process %s: nobody marked its steps; these %zu %s. Where in the loop a step begins is a guess.%s",
			process->called, estimated,
			trained > 0   ? "are what Keras' fit or train_on_batch ran of JAX's"
			: counted > 0 ? "are the calls of a line that runs a compiled function of JAX (where it runs several, a "
					"step may be one of them)"
				      : "follow from what repeats among its ranges, ops and GPU calls",
			process_only_predicts(process) ? " As no backward pass ran in it, a step may be a batch, a request, or a token "
						 "that a language model generates; a range around each request (record_function, "
						 "NVTX) makes requests of them."
					       : "");
}

#define OPTIMIZER "Optimizer.step#" /* what PyTorch calls one of class Adam is this and "Adam.step" */
#define OTHERS_LEAST 5u		    /* steps of another optimizer that are worth a word */

/* Optimizers of several classes: the ends of one of them count, and where another one steps more or less often either may be meant. */
static void note_optimizers(struct table *table, const struct request *request, const struct process *process)
{
	uint64_t ends = 0, all = 0;
	struct text names = {0};
	bool differs = false;

	for (size_t i = 0; i < process->step_count; i++)
		ends += process->steps[i].source == SOURCE_record_function && process->steps[i].end_ns != TIME_UNKNOWN;
	for (size_t i = 0; i < process->ops.count; i++) {
		const struct op *op = &process->ops.items[i];
		const char *name = op->name + sizeof(OPTIMIZER) - 1;
		if (strncmp(op->name, OPTIMIZER, sizeof(OPTIMIZER) - 1) != 0)
			continue;
		text_format(&names, "%s%.*s %llu", all ? ", " : "", (int)strcspn(name, "."), name, (unsigned long long)op->occurrences);
		all += op->occurrences;
		differs |= op->occurrences * 10 < ends * 9 && op->occurrences > 0;
	}
	if (differs && all >= ends + OTHERS_LEAST && request_wants_process(request, process))
		table_note(table, NOTE_INFERRED,
			   "Process %s: its optimizers stepped so many times: %s. Of these %llu ends are the steps, those of the class "
			   "that stepped first on its thread; what another one does lies in them, though it may be what the program calls "
			   "a step.",
			   process->called, names.bytes, (unsigned long long)ends);
	text_free(&names);
}

static bool calls_xla(const struct request *request)
{
	for (size_t p = 0; p < request->run->process_count; p++)
		for (size_t i = 0; i < request->run->processes[p].ops.count; i++)
			if (request_wants_process(request, &request->run->processes[p]) &&
			    strncmp(request->run->processes[p].ops.items[i].name, "XLA call: ", 10) == 0)
				return true;
	return false;
}

static void fill(struct table *table, const struct request *request)
{
	struct step_rows rows;
	bool has_flops = false;

	step_rows_find(&rows, request);
	for (size_t i = 0; i < rows.count; i++) {
		put_row(table, request, &rows, i);
		has_flops |= flops_add_up(rows.items[i]->flops) != 0;
	}
	if (rows.kind == UNIT_WHOLE && calls_xla(request))
		table_note(table, NOTE_INFO,
			   "No steps: the calls into XLA do not repeat as steps do. What jax.lax.scan, fori_loop or while_loop repeat is "
			   "inside one call, and several compiled functions that one line calls have one name. A function called once a "
			   "step in a line of its own shows the steps, or tfprof.step() does.");
	if (rows.kind != UNIT_STEP)
		note_no_steps(table, request);
	notes_ops(table, request);
	if (rows.kind != UNIT_STEP)
		notes_unheard(table, request);
	for (size_t p = 0; p < request->run->process_count; p++)
		note_measured(table, request, &request->run->processes[p]);
	for (size_t p = 0; p < request->run->process_count; p++)
		if (!note_replays(table, request, &request->run->processes[p]))
			note_process(table, request, &request->run->processes[p]);
	for (size_t p = 0; p < request->run->process_count; p++)
		note_optimizers(table, request, &request->run->processes[p]);
	notes_aside(table, request);
	step_rows_notes(table, request, &rows);
	if (rows.count)
		flops_note(table, request);
	if (has_flops)
		flops_note_replays(table, request);
	notes_recording(table, request);
	step_rows_free(&rows);
}

static const struct analysis_kind *const needs[] = {&analysis_steps, NULL};
const struct table_kind table_step_stats = {
	.id = "step_stats",
	.title = "Steps",
	.help = "When each training step began, how long it took, what its time went into, who marked it, and how sure that is.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_WINDOW | FILTER_STEP | FILTER_DEVICE | FILTER_STREAM | FILTER_THREAD,
	.text_rows = 30,
	.needs_scan = true,
	.is_long = true,
	.analyses = needs,
	.fill = fill,
};

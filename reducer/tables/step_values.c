/* SPDX-License-Identifier: Apache-2.0 */
/* Steps and what they are split into; see reducer/tables/step_values.h. */
#include "reducer/tables/step_values.h"

#include "reducer/model/gpu.h"
#include "reducer/model/losses.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/step_cover.h"
#include "reducer/tables/step_unusual.h"
#include "reducer/tables/steps_ahead.h"
#include "reducer/tables/steps_between.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *step_value_id(enum step_value value)
{
	static const char *const ids[STEP_VALUES] = {
#define STEP_VALUE(symbol, id, header, detail, help) id,
#include "reducer/tables/step_values.def"
#undef STEP_VALUE
	};

	return ids[value];
}

const char *step_value_help(enum step_value value)
{
	static const char *const helps[STEP_VALUES] = {
#define STEP_VALUE(symbol, id, header, detail, help) help,
#include "reducer/tables/step_values.def"
#undef STEP_VALUE
	};

	return helps[value];
}

/* Which parts make up a value; those of VALUE_..._HIDDEN are overlapped_ns. */
static uint32_t parts_of(enum step_value value)
{
	switch (value) {
	case VALUE_COMPILATION:
	case VALUE_COMPILATION_HIDDEN:
		return CLASS_BIT(PART_COMPILATION);
	case VALUE_OUTPUT:
	case VALUE_OUTPUT_HIDDEN:
		return CLASS_BIT(PART_OUTPUT);
	case VALUE_INPUT:
	case VALUE_INPUT_HIDDEN:
		return CLASS_BIT(PART_INPUT_WAIT) | CLASS_BIT(PART_INPUT_COPY);
	case VALUE_KERNEL_LAUNCH:
	case VALUE_KERNEL_LAUNCH_HIDDEN:
		return CLASS_BIT(PART_KERNEL_LAUNCH);
	case VALUE_HOST_COMPUTE:
	case VALUE_HOST_COMPUTE_HIDDEN:
		return CLASS_BIT(PART_HOST_COMPUTE);
	case VALUE_HOST_COMMUNICATION:
	case VALUE_HOST_COMMUNICATION_HIDDEN:
		return CLASS_BIT(PART_COMMUNICATION);
	case VALUE_COLLECTIVES:
	case VALUE_COLLECTIVES_HIDDEN:
		return CLASS_BIT(PART_COLLECTIVES);
	case VALUE_DEVICE_TO_DEVICE:
	case VALUE_DEVICE_TO_DEVICE_HIDDEN:
		return CLASS_BIT(PART_DEVICE_TO_DEVICE);
	case VALUE_COMPUTE_16:
		return CLASS_BIT(PART_COMPUTE_16);
	case VALUE_COMPUTE_32:
		return CLASS_BIT(PART_COMPUTE_32);
	case VALUE_COMPUTE:
		return CLASS_BIT(PART_COLLECTIVES) - 1;
	case VALUE_OTHER:
		return CLASS_BIT(PART_OTHER);
	case VALUE_INPUT_WAIT:
		return CLASS_BIT(PART_INPUT_WAIT);
	case VALUE_INPUT_COPY:
		return CLASS_BIT(PART_INPUT_COPY);
	case VALUE_COMPUTE_TF32:
		return CLASS_BIT(PART_COMPUTE_TF32);
	case VALUE_COMPUTE_8:
		return CLASS_BIT(PART_COMPUTE_8);
	case VALUE_COMPUTE_64:
		return CLASS_BIT(PART_COMPUTE_64);
	case VALUE_COMPUTE_UNKNOWN:
		return CLASS_BIT(PART_COMPUTE_UNKNOWN);
	default:
		return 0;
	}
}

uint64_t step_value(const struct step_row *row, enum step_value value)
{
	const uint64_t *times = value >= VALUE_COMPILATION_HIDDEN ? row->overlapped_ns : row->exposed_ns;
	uint64_t sum = 0;

	if (value == VALUE_TOTAL)
		return row->total_ns;
	if (value >= VALUE_FORWARD && value <= VALUE_COMMUNICATION)
		return row->phase_ns[PHASE_FORWARD + (value - VALUE_FORWARD)];
	for (uint32_t left = parts_of(value); left; left &= left - 1)
		sum += times[__builtin_ctz(left)];
	return sum;
}

static bool is_wanted(const struct request *request, const struct step_row *row)
{
	if (row->unit.start_ns < request->from_ns || row->unit.start_ns > request->to_ns)
		return false;
	return !request->has_steps || (row->unit.number >= request->first_step && row->unit.number <= request->last_step);
}

static void add_process(struct step_rows *rows, size_t *room, const struct request *request, const struct steps *steps)
{
	if (!steps->count)
		return;
	if (rows->all_count && steps->rows[0].kind > rows->kind) {
		rows->left_out++;
		return;
	}
	if (rows->all_count && steps->rows[0].kind < rows->kind) {
		rows->left_out += rows->processes;
		rows->count = rows->all_count = rows->processes = 0;
		rows->late_ns = rows->unlooked = 0;
		rows->has_whole = false;
	}
	rows->processes++;
	rows->kind = steps->rows[0].kind;
	rows->late_ns += steps->late_ns;
	rows->unlooked += steps->unlooked;
	rows->all_count += steps->count;
	for (size_t i = 0; i < steps->count; i++) {
		rows->has_whole |= !steps->rows[i].unit.is_cut && !steps->rows[i].is_unrecorded;
		if (!is_wanted(request, &steps->rows[i]))
			continue;
		rows->items = base_grow(rows->items, room, rows->count + 1, sizeof(*rows->items));
		rows->items[rows->count++] = &steps->rows[i];
	}
}

void step_rows_say_none(struct text *text, const struct step_rows *rows)
{
	if (rows->count)
		text_format(text, "No %s in the logs took any time: of %zu that began each ended at once, or not at all",
			    unit_kind_name(rows->kind), rows->count);
	else if (rows->all_count && rows->kind != UNIT_WHOLE)
		text_format(text, "No %s began in what was asked for; the run as a whole has %zu", unit_kind_name(rows->kind),
			    rows->all_count);
	else if (rows->all_count)
		text_string(text, "Nothing of what was asked for has steps, requests or work of a framework or a GPU");
	else if (rows->has_ops)
		text_string(text, "No step, no request and no op of a framework is whole in the logs");
	else if (rows->has_ranges)
		text_string(text, "No steps, no work of a framework or a GPU and no range that repeats on its thread, one after the other, "
				  "are in the logs");
	else
		text_string(text, "No steps, no requests and no work of a framework or a GPU are in the logs");
}

/* Did the step begin when its process's device had failed, for good? */
static bool began_dead(const struct request *request, const struct step_row *row)
{
	const struct gpu *gpu = request->run->processes[row->process].gpu;

	return gpu && gpu->fault.result && row->unit.start_ns >= gpu->fault.returned_ns &&
	       gpu->fault.last_called_ns <= gpu->fault.returned_ns && !row->has_device;
}

static bool is_dead(const struct step_rows *rows, size_t i)
{
	return rows->is_dead && rows->is_dead[i];
}

/*
 * Whether the first step that is known is none of the program's first: of steps found while the program ran the rounds before are not in
 * the log, and of a log that gave up its oldest events, or another profiler's file whose first has a later number, neither.
 */
static bool has_others_before(const struct request *request, const struct step_row *row)
{
	const struct process *process = &request->run->processes[row->process];

	if (row->kind != UNIT_STEP || row->unit.step == SIZE_MAX)
		return false;
	return process->steps[row->unit.step].source == SOURCE_repeats ||
	       (row->unit.number > 1 && (losses_gave_up(process) || process_is_foreign(process)));
}

static void find_judged(struct step_rows *rows, const struct request *request)
{
	bool is_asked_for = request->has_steps || request->from_ns != INT64_MIN || request->to_ns != INT64_MAX;

	rows->is_first = base_alloc(rows->count + 1, sizeof(*rows->is_first));
	if (is_asked_for || request->analysis.split != SPLIT_OURS)
		return; /* whom the user names, and where other tools count, all are judged */
	for (size_t i = 0; i < rows->count; i++) {
		const struct step_row *row = rows->items[i];
		const struct steps *steps = analyses_process(request->analyses, &analysis_steps, row->process);
		rows->is_first[i] = row == &steps->rows[0] && steps->count > STEPS_FEW && !has_others_before(request, row);
		if (began_dead(request, row)) {
			rows->is_dead = rows->is_dead ? rows->is_dead : base_alloc(rows->count, sizeof(*rows->is_dead));
			rows->is_dead[i] = true;
			rows->dead_count++;
		}
		rows->judged_count += step_rows_counts(rows, row) && !rows->is_first[i] && !is_dead(rows, i) && !row->is_evaluation;
	}
}

/* Steps, or something that they were found to do. */
static bool has_work(const struct steps *steps)
{
	size_t i = 0;

	while (i < steps->count && steps->rows[i].kind != UNIT_STEP && !steps->rows[i].has_work)
		i++;
	return i < steps->count;
}

/* Of any process. Requests in which nothing was recorded are told where there is nothing else to tell. */
static bool any_has_work(const struct request *request)
{
	for (size_t p = 0; p < request->run->process_count; p++) {
		const struct steps *steps = analyses_process(request->analyses, &analysis_steps, p);
		if (steps && has_work(steps))
			return true;
	}
	return false;
}

void step_rows_find(struct step_rows *rows, const struct request *request)
{
	bool wants_work = any_has_work(request);
	size_t room = 0;

	*rows = (struct step_rows){.kind = UNIT_WHOLE};
	for (size_t p = 0; p < request->run->process_count; p++) {
		const struct steps *steps = analyses_process(request->analyses, &analysis_steps, p);
		if (steps && (!wants_work || has_work(steps)))
			add_process(rows, &room, request, steps);
		rows->has_ops |= request->run->processes[p].ops.count > 0;
		rows->has_ranges |= request->run->processes[p].range_rows.count > 0;
	}
	for (size_t i = 0; i < rows->count; i++) {
		const struct step_row *row = rows->items[i];
		rows->unrecorded += row->is_unrecorded;
		rows->unended += row->is_unrecorded && row->unit.is_cut;
		rows->whole_count += !row->unit.is_cut && !row->is_unrecorded;
		rows->hides_roles |= row->is_unrecorded && row->kind == UNIT_STEP &&
				     request->run->processes[row->process].steps[row->unit.step].source == SOURCE_eager;
	}
	rows->is_cut_counted = rows->count > rows->unrecorded && !rows->has_whole;
	if (rows->is_cut_counted)
		rows->whole_count = rows->count - rows->unrecorded;
	find_judged(rows, request);
}

void step_rows_free(struct step_rows *rows)
{
	free(rows->items);
	free(rows->is_first);
	free(rows->is_dead);
	*rows = (struct step_rows){0};
}

static bool is_before(const void *rows, size_t i, uint64_t process)
{
	return ((const struct step_rows *)rows)->items[i]->process < process;
}

size_t step_rows_of(const struct step_rows *rows, size_t process, size_t *end)
{
	*end = base_count_before(rows, rows->count, process + 1, is_before);
	return base_count_before(rows, rows->count, process, is_before);
}

bool step_rows_ran(const struct step_rows *rows, size_t process, size_t *end, int64_t *from_ns, int64_t *to_ns)
{
	*from_ns = INT64_MAX;
	*to_ns = INT64_MIN;
	for (size_t i = step_rows_of(rows, process, end); i < *end; i++) {
		const struct step_row *row = rows->items[i];
		int64_t stop = row->start_ns + (int64_t)row->total_ns;
		if (!step_rows_judges(rows, i))
			continue;
		*from_ns = row->start_ns < *from_ns ? row->start_ns : *from_ns;
		*to_ns = stop > *to_ns ? stop : *to_ns;
	}
	return *from_ns < *to_ns;
}

double step_rows_between(const struct step_rows *rows, size_t process, int64_t from_ns, int64_t to_ns)
{
	double steps = 0;
	size_t end;

	for (size_t i = step_rows_of(rows, process, &end); i < end; i++) {
		const struct step_row *row = rows->items[i];
		int64_t start = row->start_ns, stop = start + (int64_t)row->total_ns;
		bool is_whole = step_rows_judges(rows, i) || (row->is_unrecorded && !row->unit.is_cut);
		if (!is_whole || start >= to_ns || stop <= from_ns || stop == start)
			continue;
		steps += (double)((stop < to_ns ? stop : to_ns) - (start > from_ns ? start : from_ns)) / (double)(stop - start);
	}
	return steps;
}

bool step_rows_counts(const struct step_rows *rows, const struct step_row *row)
{
	return !row->is_unrecorded && (rows->is_cut_counted || !row->unit.is_cut);
}

bool step_rows_judges(const struct step_rows *rows, size_t i)
{
	return step_rows_counts(rows, rows->items[i]) &&
	       !((rows->is_first[i] || is_dead(rows, i) || rows->items[i]->is_evaluation) && rows->judged_count);
}

/* The first screen says it, too: steps may be fast and the job slow all the same. */
static void note_outside(struct table *table, const struct request *request, const struct step_rows *rows)
{
	struct step_outside outside;

	for (size_t i = 0, next; i < rows->count; i = next)
		if (step_rows_outside(rows, request, i, &next, &outside))
			table_note(table, NOTE_INFO,
				   "Of the %.3f s that process %s lasted %.3f s are in no %s: %.3f s before, %.3f s between, "
				   "%.3f s after.",
				   (double)outside.life / 1e9, request->run->processes[rows->items[i]->process].called,
				   (double)outside.all / 1e9, unit_kind_name(rows->kind), (double)outside.before / 1e9,
				   (double)outside.between / 1e9, (double)outside.after / 1e9);
}

/* What was made of several ends of Optimizer.step. */
static void note_turns(struct table *table, const struct request *request, const struct step_rows *rows)
{
	const struct step *step = NULL;

	for (size_t i = 0; i < rows->count && (step == NULL || step->turns == 0); i++)
		if (rows->items[i]->unit.step != SIZE_MAX)
			step = &request->run->processes[rows->items[i]->process].steps[rows->items[i]->unit.step];
	if (step == NULL || step->turns == 0 || step->trained == TRAINED_REPLAY) /* step_stats.c tells of those */
		return;
	if (step->as == STEP_OF_TURNS)
		table_note(table, NOTE_INFERRED,
			   "%u optimizers of one name take turns, or one takes %u to another's one, by their backward passes: a step "
			   "is one round of them. One optimizer whose loss takes turns looks the same where it keeps no state (SGD "
			   "without momentum).",
			   step->turns, step->turns);
	else if (step->as == STEP_OF_ROUND)
		table_note(table, NOTE_INFERRED,
			   "An optimizer steps %u times, each time with data of its own, before another one of its name steps once: a "
			   "step is one round of them.",
			   step->turns - 1);
	else
		table_note(table, NOTE_INFERRED, "%s",
			   step->as == STEP_OF_PASS
				   ? "Optimizers step in hooks of the backward pass: a step is one pass, to the last of them."
				   : "An optimizer steps for some batches only, without one of its own: it belongs to the step before it.");
}

/* Compilation that was seen on Python stacks alone. */
static void note_tracing(struct table *table, const struct request *request, const struct step_rows *rows)
{
	size_t count = 0, next = 0;

	for (size_t i = 0; i < rows->count && rows->kind != UNIT_WHOLE; i++) {
		const struct step_row *row = rows->items[i];
		const struct python_rows *python = &request->run->processes[row->process].python;
		if (i == 0 || rows->items[i - 1]->process != row->process)
			next = 0;
		while (next < python->tracing_count && python->tracings[next].to_ns <= row->unit.start_ns)
			next++;
		for (; next < python->tracing_count && python->tracings[next].to_ns <= row->unit.end_ns; next++)
			count++;
	}
	if (count)
		table_note(table, NOTE_INFERRED,
			   "Tracing and compiling in Python (torch.compile, jit, tf.function) is taken to last between stacks that "
			   "hold its frames: %zu stretch%s.",
			   count, count == 1 ? "" : "es");
}

static void note_ahead(struct table *table, const struct process *process, uint64_t ahead_ns)
{
	if (ahead_ns)
		table_note(table, NOTE_INFERRED,
			   "Process %s: its judged steps launched work faster than devices did it. These were at it for %.3f s more "
			   "behind the last one: steps took longer than their times say. Reading a result now and then (loss.item()) "
			   "shows how long.",
			   process->called, (double)ahead_ns / 1e9);
}

/* Work of devices, or of JAX, that no step waited for. */
static void note_awaited(struct table *table, const struct request *request, const struct step_rows *rows)
{
	for (size_t i = 0; i < rows->count && rows->kind == UNIT_STEP; i++) {
		const struct process *process = &request->run->processes[rows->items[i]->process];
		if (i > 0 && rows->items[i - 1]->process == rows->items[i]->process)
			continue;
		if (process->awaited_to_ns <= process->awaited_from_ns) {
			note_ahead(table, process, steps_ahead_much_ns(rows, rows->items[i]->process));
			continue;
		}
		table_note(table, NOTE_INFERRED,
			   "Process %s: behind its last step it waited %.3f s in one call into XLA, for work that steps only "
			   "dispatched: they took longer than their times say. Reading a result now and then (float(loss), "
			   "block_until_ready()) shows how long.",
			   process->called, (double)(process->awaited_to_ns - process->awaited_from_ns) / 1e9);
	}
}

static void note_units(struct table *table, const struct step_rows *rows)
{
	if (rows->kind == UNIT_REQUEST)
		table_note(table, NOTE_INFERRED, "Nobody marked steps: a row is a request, an outermost range that repeats.");
	if (rows->kind == UNIT_CALL)
		table_note(table, NOTE_INFERRED,
			   "Nobody marked steps: a row is a call into the framework from outside that repeats.");
	if (rows->kind == UNIT_WHOLE && rows->count)
		table_note(table, NOTE_INFERRED,
			   "Nobody marked steps and nothing repeats like one: "
			   "a row is a process, from its first op or device work to its last.");
	if (rows->unlooked)
		table_note(table, NOTE_MISSING,
			   "%" PRIu64 " outermost ranges and calls are not looked at, they are too many: %ss among them have no row.",
			   rows->unlooked, unit_kind_name(rows->kind));
	if (rows->left_out)
		table_note(table, NOTE_INFO,
			   "%zu more " BY_COUNT("process", "processes") " of the run worked without marking %ss; "
			   BY_COUNT("it is", "they are") " left out.",
			   rows->left_out, unit_kind_name(rows->kind));
}

struct step_first step_rows_first(const struct step_rows *rows)
{
	struct step_first first = {0};

	for (size_t i = 0; i < rows->count; i++)
		if (step_rows_counts(rows, rows->items[i]) && !step_rows_judges(rows, i) && !is_dead(rows, i)) {
			first.ns += rows->items[i]->is_evaluation ? 0 : rows->items[i]->total_ns;
			first.compilation_ns += rows->items[i]->is_evaluation ? 0 : rows->items[i]->exposed_ns[PART_COMPILATION];
			first.input_ns += rows->items[i]->is_evaluation ? 0 : step_value(rows->items[i], VALUE_INPUT);
			first.count += !rows->items[i]->is_evaluation;
			first.evaluation += rows->items[i]->is_evaluation;
		}
	return first;
}

void step_rows_note_first(struct table *table, const struct step_rows *rows, const struct request *request)
{
	struct step_first first = step_rows_first(rows);
	struct text warm = {0};
	uint64_t all = 0;

	for (size_t i = 0; i < rows->count; i++)
		all += step_rows_counts(rows, rows->items[i]) && !rows->items[i]->is_evaluation ? rows->items[i]->total_ns : 0;
	if (first.evaluation)
		table_note(table, NOTE_INFERRED,
			   "%zu " BY_COUNT("step is", "steps are") " of functions or eager batches without a backward pass, as "
			   "others have: evaluation, which is not judged.",
			   first.evaluation);
	if (first.count)
		table_note(table, NOTE_INFO,
			   "The first %s%s is not judged, it traces, compiles and fills caches: %.1f ms, %.1f %% of the time of "
			   "all.",
			   unit_kind_name(rows->kind), first.count > 1 ? " of each process" : "", (double)first.ns / 1e6,
			   all ? 100.0 * (double)first.ns / (double)all : 0);
	step_warm_say(&warm, rows, request, 0);
	if (warm.length)
		table_note(table, NOTE_INFERRED, "%s", warm.bytes);
	text_free(&warm);
}

struct step_unseen step_rows_unseen(const struct step_rows *rows, const struct request *request)
{
	struct step_unseen unseen = {0};

	for (size_t i = 0; i < rows->count; i++) {
		const struct process *process = &request->run->processes[rows->items[i]->process];
		uint64_t all = 0;
		if (i && rows->items[i - 1]->process == rows->items[i]->process)
			continue;
		unseen.has_strange |= process_has_strange_devices(process);
		unseen.is_off |= strcmp(process_setting(process, "CUDA"), "off") == 0;
		unseen.launches += process->gpu ? gpu_unseen_launches(&process->gpu->counts, &all) : 0;
		unseen.of_launches += all;
	}
	unseen.is_much = unseen.has_strange || (double)unseen.launches > GPU_UNSEEN_FROM * (double)unseen.of_launches;
	return unseen;
}

static void note_unseen(struct table *table, const struct request *request, const struct step_rows *rows)
{
	struct step_unseen unseen = step_rows_unseen(rows, request);

	if (unseen.launches)
		table_note(table, NOTE_MISSING,
			   "What devices did for %" PRIu64 " of %" PRIu64 " launches was not recorded: where no device seems to work, one "
			   "may have.",
			   unseen.launches, unseen.of_launches);
	if (unseen.has_strange)
		table_note(table, NOTE_MISSING,
			   "The file tells of devices as ranges alone (they are no GPUs, or it was written for viewers): what they "
			   "did counts in no part, and stands in range_stats.");
}

void step_rows_notes(struct table *table, const struct request *request, const struct step_rows *rows)
{
	static const char *const splits[] = {
		[SPLIT_OURS] = NULL,
		[SPLIT_TF] = "Split by the priorities of the TensorFlow Profiler (--split=tf): where a device was recorded, host "
			     "time does not "
			     "count, and every kernel is of 16 or 32 bit.",
		[SPLIT_TORCH] =
			"Split by the priorities of the PyTorch plugin (--split=torch): kernels, copies, memsets, communication, "
			"calls, input, ops."};

	if (!rows->count)
		return;
	note_units(table, rows);
	note_unseen(table, request, rows);
	steps_between_note(table, request, rows);
	note_outside(table, request, rows);
	note_turns(table, request, rows);
	note_tracing(table, request, rows);
	note_awaited(table, request, rows);
	notes_collectives(table, request);
	if (splits[request->analysis.split])
		table_note(table, NOTE_INFO, "%s", splits[request->analysis.split]);
	if (request->analysis.step_time == STEP_TIME_SPAN)
		table_note(table, NOTE_INFO,
			   "A step lasts from its first device work to its last (--step-time=span): gaps between steps do not "
			   "count.");
	if (rows->dead_count && rows->judged_count)
		table_note(table, NOTE_INFERRED,
			   "%zu " BY_COUNT("step", "steps") " began after work on the device had failed, and had none of it any more: not "
			   "judged.", rows->dead_count);
	if (rows->is_cut_counted)
		table_note(table, NOTE_INFERRED,
			   "The log has no end of any of them: they are taken to last to the end of the records.");
	if (rows->unrecorded > rows->unended)
		table_note(table, NOTE_MISSING,
			   "%zu of %zu %ss lie outside of the capture windows, or in part: how long they took is known, not what filled "
			   "them%s. They count in no sum.",
			   rows->unrecorded - rows->unended, rows->count - rows->unended, unit_kind_name(rows->kind),
			   rows->hides_roles ? ", nor which of them are evaluation" : "");
	if (rows->late_ns)
		table_note(table, NOTE_MISSING,
			   "%" PRIu64 " ns of work were told too late to be split: they are part of 'other'.", rows->late_ns);
}

void step_time_put(struct text *text, double ns)
{
	if (ns < 999.5e3)
		text_digits(text, ns / 1e3, "us");
	else if (ns < 0.9995e9)
		text_digits(text, ns / 1e6, "ms");
	else
		text_digits(text, ns / 1e9, "s");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What PyTorch's records say of its steps beside the ends of Optimizer.step: evaluation between them, a first step that nothing
 * announced, optimizers that take turns. See scan.h; learning.h follows the ops.
 *
 * Rule: all of it is inferred from ops, scopes and sequence numbers, never from times. Forward layers that no backward pass came
 * for, in front of the first layer that one came for, are evaluation, where that is so in less than half of a training's steps: what
 * each step does is part of it. Where more do it, it is evaluation if it stands behind each step rather than in front of it: not before
 * the first, and behind the last. Else, where most act with as many layers, what stands before that many is evaluation in steps that have
 * at least twice as many. Steps that others mark are left alone.
 */
#include "reducer/model/learning.h"
#include "reducer/model/scan.h"
#include "reducer/model/skips.h"
#include "reducer/model/trainings.h"
#include "reducer/model/turns.h"
#include "reducer/model/windows.h"

#include <stdlib.h>
#include <string.h>

#define BEHIND_LEAST 3	/* steps: of fewer it is not said what stands behind each */
#define TAKES_OVER 3u	/* as collectors/pytorch.c has it */

/*
 * Optimizer.step called by hooks of a backward pass, once for each parameter: the pass is the step, and over when the next layer begins.
 */
struct pass {
	size_t step; /* that began with the last of them; NO_STEP = none is open */
	size_t stream;
};

/*
 * Ends of one optimizer's step that no record of a step has followed yet: another one's count until this one stepped TAKES_OVER times in
 * a row (collectors/pytorch.c).
 */
struct unsaid {
	uint64_t name, key; /* key: of the step that is open; 0 = none */
	uint64_t times[TAKES_OVER];
	unsigned count;
};

/* Periods of one training, and of its steps those that learnt and those with forward work alone before that. */
struct training {
	size_t from, to, trained, evaluated;
};

struct evaluation {
	struct scan *scan;
	struct unsaid *unsaid; /* by stream */
	struct learning *threads; /* by stream */
	struct learning_names names; /* of all of them */
	size_t *steps;		  /* by stream: that the period began with */
	struct period *periods;	  /* in time order */
	size_t count;
	struct pass pass;
	size_t *parts; /* steps that only go on with the pass of the one before; rising */
	size_t part_count;
	struct skip *skips; /* in time order */
	size_t skip_count;
};

/* Whose layers the pass went through: on a GPU it is called on a thread that has none. */
static struct learning *learner_of(struct evaluation *taken, size_t stream)
{
	for (size_t s = 0; taken->threads[stream].least == UINT64_MAX && s < taken->scan->process->log->stream_count; s++)
		if (taken->threads[s].least != UINT64_MAX)
			return &taken->threads[s];
	return &taken->threads[stream];
}

/* An Optimizer.step of a stream ended, and `step` began. */
static void end_period(struct evaluation *taken, struct learning *learner, size_t stream, size_t step)
{
	struct period *periods = model_room(taken->periods, taken->count, sizeof *periods), *period;

	if (periods != NULL) {
		taken->periods = periods;
		period = &periods[taken->count++];
		*period = (struct period){.step = taken->steps[stream],
					  .stream = stream,
					  .thread = taken->scan->process->log->streams[stream].thread,
					  .found = learning_found(learner)};
		period->is_after = period->found.evaluated_to != 0;
		learning_note_acts(learner, &period->found);
		period->found.has_stepped = taken->threads[stream].has_stepped;
		period->found.updates = taken->threads[stream].updates;
	}
	taken->scan->process->layers_beyond += learner->beyond;
	learning_again(learner);
	learning_again(&taken->threads[stream]);
	taken->steps[stream] = step;
}

static void end_pass(struct evaluation *taken)
{
	struct pass pass = taken->pass;

	if (pass.step == NO_STEP)
		return;
	taken->pass.step = NO_STEP;
	end_period(taken, learner_of(taken, pass.stream), pass.stream, pass.step);
}

static void add_skip(struct evaluation *taken, size_t stream, uint64_t time)
{
	struct skip *skips = model_room(taken->skips, taken->skip_count, sizeof *skips);

	if (skips == NULL)
		return;
	taken->skips = skips;
	skips[taken->skip_count++] = (struct skip){.time = time, .thread = taken->scan->process->log->streams[stream].thread};
}

/* An Optimizer.step begins that is of no other. */
static void begin_unsaid(struct unsaid *unsaid, uint64_t name, uint64_t key)
{
	if (unsaid->name != name)
		unsaid->count = 0;
	unsaid->name = name;
	unsaid->key = key;
}

/* It is over; a record of its step comes next, or none. */
static void end_unsaid(struct unsaid *unsaid, uint64_t time)
{
	unsaid->key = 0;
	if (unsaid->count == TAKES_OVER)
		memmove(unsaid->times, unsaid->times + 1, --unsaid->count * sizeof *unsaid->times);
	unsaid->times[unsaid->count++] = time;
}

/* The record: from now on this optimizer's steps count, and those just before this one were steps, too. */
static void say_steps(struct evaluation *taken, size_t stream)
{
	struct unsaid *unsaid = &taken->unsaid[stream];

	for (unsigned i = 0; i + 1 < unsaid->count; i++)
		add_skip(taken, stream, unsaid->times[i]);
	unsaid->count = 0;
}

static void take_begin(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct evaluation *taken = state;
	uint64_t name = batch_value(batch, i, fields[0]);
	const struct scan_ops *ops = &taken->scan->ops;
	uint64_t stepping;
	size_t skips;

	if (batch_value(batch, i, fields[2]) != SOURCE_record_function || ops->name == NULL)
		return;
	if (!learning_knows(&taken->threads[stream], name))
		learning_name(&taken->threads[stream], name, ops->name(ops->name_state, name));
	skips = taken->threads[stream].skips;
	stepping = taken->threads[stream].stepping;
	learning_begin(&taken->threads[stream], name, batch_value(batch, i, fields[1]), (unsigned)batch_value(batch, i, fields[3]),
		       batch->times[i]);
	if (taken->threads[stream].skips != skips)
		add_skip(taken, stream, batch->times[i]);
	if (stepping == 0 && taken->threads[stream].stepping != 0)
		begin_unsaid(&taken->unsaid[stream], name, taken->threads[stream].stepping);
	if (taken->pass.step != NO_STEP && learning_is_layer(&taken->threads[stream], batch_value(batch, i, fields[1])))
		end_pass(taken);
}

static void take_end(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct evaluation *taken = state;

	if (batch_value(batch, i, fields[1]) != SOURCE_record_function)
		return;
	learning_end(&taken->threads[stream], batch_value(batch, i, fields[0]));
	if (taken->unsaid[stream].key != 0 && taken->unsaid[stream].key == batch_value(batch, i, fields[0]))
		end_unsaid(&taken->unsaid[stream], batch->times[i]);
}

static void take_thread(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct evaluation *taken = state;

	if (batch_value(batch, i, fields[1]) == SOURCE_record_function)
		taken->threads[stream].framework_id = batch_value(batch, i, fields[0]);
}

/* A backward function names the thread of the op that it goes with. */
static void take_link(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct evaluation *taken = state;
	uint64_t sequence = batch_value(batch, i, fields[0]), forward = batch_value(batch, i, fields[1]);
	struct learning *own = &taken->threads[stream];

	if (forward == 0) {
		learning_sequence(own, sequence);
		return;
	}
	if (own->framework_id == forward) {
		learning_backward(own, own->last_name, sequence);
		return;
	}
	for (size_t s = 0; s < taken->scan->process->log->stream_count; s++)
		if (taken->threads[s].framework_id == forward) {
			learning_backward(&taken->threads[s], own->last_name, sequence);
			return;
		}
}

/* One more Optimizer.step of a pass: what began with the one before is no step. */
static void go_on(struct evaluation *taken, size_t stream, size_t step)
{
	size_t *parts;

	if (taken->pass.step != NO_STEP) {
		parts = model_room(taken->parts, taken->part_count, sizeof *parts);
		if (parts == NULL)
			return;
		taken->parts = parts;
		parts[taken->part_count++] = taken->pass.step;
	}
	taken->pass = (struct pass){.step = step, .stream = stream};
}

static void take_step(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct evaluation *taken = state;
	struct process *process = taken->scan->process;

	if (batch_value(batch, i, fields[0]) != SOURCE_record_function || batch_value(batch, i, fields[1]) != 0 ||
	    process->step_count == 0)
		return; /* one with a name is a range of PyTorch's profiler */
	say_steps(taken, stream);
	if (taken->steps[stream] == NO_STEP && (!taken->threads[stream].has_stepped || taken->threads[stream].stepping != 0)) {
		/* The first, begun by zero_grad, be it in what Optimizer.step calls back for: its forward pass may lie before. */
		taken->steps[stream] = process->step_count - 1;
		return;
	}
	if (taken->threads[stream].is_within) {
		taken->threads[stream].is_within = 0; /* outside of a window the next one tells nothing of itself */
		go_on(taken, stream, process->step_count - 1);
		return;
	}
	end_pass(taken);
	end_period(taken, &taken->threads[stream], stream, process->step_count - 1);
}

static void take_window(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct evaluation *taken = state;

	(void)stream;
	for (size_t s = 0; s < taken->scan->process->log->stream_count && batch_value(batch, i, fields[0]) != 0; s++) {
		learning_reopen(&taken->threads[s]);
		taken->unsaid[s] = (struct unsaid){.count = 0};
	}
}

static const struct scan_record records[] = {
	{"op_begin", take_begin, NULL, {"name", "key", "source", "scope"}},
	{"op_end", take_end, NULL, {"key", "source"}},
	{"op_link", take_link, NULL, {"sequence", "forward_thread"}},
	{"framework_thread", take_thread, NULL, {"id", "source"}},
	{"step", take_step, NULL, {"source", "name"}},
	{"window", take_window, NULL, {"is_open"}},
};

static void drop(void *state)
{
	struct evaluation *taken = state;

	for (size_t s = 0; taken->threads != NULL && s < taken->scan->process->log->stream_count; s++)
		learning_free(&taken->threads[s]);
	learning_free_names(&taken->names);
	free(taken->threads);
	free(taken->unsaid);
	free(taken->steps);
	free(taken->periods);
	free(taken->parts);
	free(taken->skips);
	free(taken);
}

static void *begin(struct scan *scan)
{
	struct evaluation *taken = calloc(1, sizeof *taken);
	size_t streams = scan->process->log->stream_count + 1;

	if (taken == NULL)
		return NULL;
	taken->scan = scan;
	taken->pass.step = NO_STEP;
	taken->threads = calloc(streams, sizeof *taken->threads);
	taken->unsaid = calloc(streams, sizeof *taken->unsaid);
	taken->steps = calloc(streams, sizeof *taken->steps);
	for (size_t s = 0; taken->threads != NULL && taken->steps != NULL && s < streams; s++) {
		learning_again(&taken->threads[s]);
		taken->threads[s].names = &taken->names;
		taken->steps[s] = NO_STEP;
	}
	if (taken->threads != NULL && taken->unsaid != NULL && taken->steps != NULL)
		return taken;
	drop(taken);
	return NULL;
}

/* The step that the end of period k began: the next one of its thread. SIZE_MAX = none. */
static size_t step_behind(const struct evaluation *taken, size_t k)
{
	const struct process *process = taken->scan->process;

	for (size_t i = 0; i < process->step_count; i++)
		if (process->steps[i].source == SOURCE_record_function && process->steps[i].thread == taken->periods[k].thread)
			return i;
	return SIZE_MAX;
}

/*
 * A thread's first step began with nothing that says so, no loader and no zero_grad, or another thread trained before: it began with its
 * first layer. All that came after it counts one more.
 */
static void add_first(struct evaluation *taken, size_t k)
{
	struct process *process = taken->scan->process;
	struct period *first = &taken->periods[k];
	size_t next, at = 0;
	struct step *steps;

	if (first->step != NO_STEP || !first->found.has_stepped || first->found.trained_from == 0)
		return;
	next = step_behind(taken, k);
	if (next == SIZE_MAX)
		return;
	steps = model_room(process->steps, process->step_count, sizeof *steps);
	if (steps == NULL) {
		process->steps_beyond++;
		return;
	}
	process->steps = steps;
	while (at < next && steps[at].time_ns <= (int64_t)first->found.trained_from)
		at++;
	struct step added = {.time_ns = (int64_t)first->found.trained_from,
			     .end_ns = steps[next].time_ns,
			     .thread = first->thread,
			     .source = SOURCE_record_function,
			     .confidence = 1,
			     .is_chosen = steps[next].is_chosen};
	for (size_t i = next + 1; i-- > at;)
		added.number = steps[i].source == SOURCE_record_function ? steps[i].number : added.number;
	for (size_t i = process->step_count++; i > at; i--) {
		steps[i] = steps[i - 1];
		steps[i].number += steps[i].source == SOURCE_record_function;
	}
	steps[at] = added;
	for (size_t p = 0; p < taken->count; p++)
		taken->periods[p].step += taken->periods[p].step != NO_STEP && taken->periods[p].step >= at;
	for (size_t p = 0; p < taken->part_count; p++)
		taken->parts[p] += taken->parts[p] >= at;
	first->step = at;
	first->found.evaluated_to = 0;
}

static void join_passes(struct evaluation *taken)
{
	struct process *process = taken->scan->process;
	struct step *first = NULL;
	size_t part = 0;

	for (size_t i = 0; i < process->step_count && taken->part_count > 0; i++) {
		struct step *step = &process->steps[i];
		int is_part = part < taken->part_count && taken->parts[part] == i;
		part += is_part;
		if (step->source != SOURCE_record_function || !step->is_chosen)
			continue;
		if (!is_part)
			first = step;
		else if (first != NULL && first->thread == step->thread)
			turns_add(first, step, STEP_OF_PASS);
		else
			step->is_chosen = 0; /* where its pass began is not known */
	}
	if (taken->part_count > 0)
		turns_count_again(process);
}

static int by_time(const void *a, const void *b)
{
	const struct step *one = a, *other = b;

	if (one->time_ns != other->time_ns)
		return one->time_ns < other->time_ns ? -1 : 1;
	return one->number < other->number ? -1 : one->number > other->number;
}

/* Some call zero_grad between the forward pass and the backward pass: then the first step began with its first layer. */
static void move_first(struct evaluation *taken)
{
	const struct period *first = taken->count > 0 ? &taken->periods[0] : NULL;
	struct step *step = first == NULL || first->step == NO_STEP ? NULL : &taken->scan->process->steps[first->step];

	if (step != NULL && first->found.trained_from != 0 && (int64_t)first->found.trained_from < step->time_ns)
		step->time_ns = (int64_t)first->found.trained_from;
}

/*
 * Most steps of a training have forward work before them that nobody learnt from. Acting before learning, or a teacher, comes before
 * its first step too, and not behind the last; evaluation after each epoch of one batch is the other way round. What comes before the
 * first may be evaluation behind the last step of the training before it (is_followed).
 */
static int is_behind_each(const struct evaluation *taken, const struct training *training, int is_followed)
{
	const struct period *first = NULL, *next = NULL;

	for (size_t k = 0; k < taken->count; k++) {
		const struct period *period = &taken->periods[k];
		if (period->stream != taken->periods[0].stream)
			return 0;
		if (period->found.trained_from == 0)
			continue;
		if (first == NULL && k >= training->from)
			first = period;
		if (next == NULL && k >= training->to)
			next = period;
	}
	return first != NULL && training->trained >= BEHIND_LEAST && (is_followed || !first->is_after) &&
	       taken->scan->process->window_count == 0 &&
	       (next != NULL ? next->is_after : learning_is_forward(&taken->threads[first->stream]));
}

/* A window's edge lies in there: forward work may be without its backward pass because nobody recorded that. Times are ticks. */
static int has_edge(const struct process *process, int64_t from, int64_t to)
{
	size_t i = windows_edge_at(process, from);

	return i < process->window_count && process->windows[i].time_ns <= to;
}

#define NO_ACTS SIZE_MAX /* all forward work before a step is evaluation */

/*
 * Up to when forward work before the step was not learnt from, ticks; 0 = none is known. All but `acts` layers without gradients; with 0
 * those that have gradients act.
 */
static int64_t evaluated_to(const struct evaluation *taken, size_t k, size_t acts)
{
	struct process *process = taken->scan->process;
	size_t i = taken->periods[k].step;
	const struct step *before = turns_step_before(process, i);
	const struct learning_found *found = &taken->periods[k].found;
	int64_t to = (int64_t)found->evaluated_to;

	if (acts == 0)
		to = (int64_t)found->unacted_from;
	else if (acts != NO_ACTS)
		to = found->usual_acts == acts && found->acted / 2 >= acts ? (int64_t)found->acted_from : 0;
	return to && has_edge(process, before != NULL ? before->time_ns : 0, process->steps[i].time_ns) ? 0 : to;
}

static int has_trained(const struct evaluation *taken, size_t k)
{
	size_t step = taken->periods[k].step;

	return step != NO_STEP && taken->scan->process->steps[step].is_chosen && taken->periods[k].found.trained_from != 0;
}

static void count_evaluated(const struct evaluation *taken, struct training *training)
{
	training->trained = training->evaluated = 0;
	for (size_t k = training->from; k < training->to; k++) {
		training->trained += has_trained(taken, k);
		training->evaluated += has_trained(taken, k) && evaluated_to(taken, k, NO_ACTS) != 0;
	}
}

static int compare_counts(const void *a, const void *b)
{
	const size_t *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

/* How many layers without gradients more than half of a training's steps have before them; NO_ACTS = they differ. */
static size_t usual_acts(const struct evaluation *taken, const struct training *training)
{
	size_t *acted = calloc(training->to - training->from + 1, sizeof *acted), count = 0, usual, same = 0;

	if (acted == NULL)
		return NO_ACTS;
	for (size_t k = training->from; k < training->to; k++)
		if (has_trained(taken, k))
			acted[count++] = taken->periods[k].found.acted;
	qsort(acted, count, sizeof *acted, compare_counts);
	usual = acted[count / 2]; /* what more than half have stands in the middle */
	for (size_t i = 0; i < count; i++)
		same += acted[i] == usual;
	free(acted);
	return same * 2 > count ? usual : NO_ACTS;
}

/* acts: as of evaluated_to. Returns whether there was something to split off. */
static int split_training(const struct evaluation *taken, const struct training *training, size_t acts)
{
	struct process *process = taken->scan->process;
	int is_split = 0;

	for (size_t k = training->from; k < training->to; k++) {
		size_t i = taken->periods[k].step;
		int64_t to = i != NO_STEP && process->steps[i].is_chosen ? evaluated_to(taken, k, acts) : 0;
		if (to == 0 || to <= process->steps[i].time_ns)
			continue;
		struct step *before = turns_step_before(process, i);
		if (before != NULL) {
			before->rest_ns = process->steps[i].time_ns;
			before->is_evaluated = 1;
		}
		process->steps[i].time_ns = to;
		is_split = 1;
	}
	return is_split;
}

/* What came between the last step of a training and the first one of another is of neither. */
static int split_trainings(const struct evaluation *taken, const uint8_t *begins)
{
	struct process *process = taken->scan->process;
	int is_split = 0;

	for (size_t k = 1; k < taken->count; k++) {
		size_t i = begins[k] ? taken->periods[k].step : NO_STEP;
		int64_t to = (int64_t)taken->periods[k].found.began;
		struct step *before = i != NO_STEP && process->steps[i].is_chosen ? turns_step_before(process, i) : NULL;
		if (before == NULL || before->rest_ns != 0 || to <= process->steps[i].time_ns)
			continue;
		before->rest_ns = process->steps[i].time_ns;
		process->steps[i].time_ns = to;
		is_split = 1;
	}
	return is_split;
}

/* begins: of trainings_find. */
static void split_evaluation(struct evaluation *taken, const uint8_t *begins)
{
	struct process *process = taken->scan->process;
	struct training training = {.to = 0};
	int is_behind = 0, is_split = 0;

	while (begins != NULL && training.to < taken->count) {
		training.from = training.to++;
		while (training.to < taken->count && !begins[training.to])
			training.to++;
		count_evaluated(taken, &training);
		is_behind = training.evaluated * 2 >= training.trained && is_behind_each(taken, &training, is_behind);
		int is_all = is_behind || training.evaluated * 2 < training.trained;
		size_t acts = is_all ? NO_ACTS : usual_acts(taken, &training);
		if (is_all || acts != NO_ACTS)
			is_split |= split_training(taken, &training, acts);
	}
	if (begins != NULL && split_trainings(taken, begins))
		is_split = 1;
	if (is_split)
		qsort(process->steps, process->step_count, sizeof *process->steps, by_time);
}

static int finish(void *state)
{
	struct evaluation *taken = state;
	uint8_t *begins;

	end_pass(taken);
	for (size_t k = 0; k < taken->count; k++)
		add_first(taken, k);
	join_passes(taken);
	begins = trainings_find(taken->periods, taken->count);
	turns_join(taken->scan->process, taken->periods, taken->count, begins);
	move_first(taken);
	skips_split(taken->scan->process, taken->skips, taken->skip_count, taken->periods, taken->count);
	if (taken->skip_count > 0)
		turns_count_again(taken->scan->process);
	split_evaluation(taken, begins);
	free(begins);
	return 0;
}

const struct scan_subject evaluation_subject = {
	.records = records,
	.record_count = sizeof records / sizeof *records,
	.begin = begin,
	.finish = finish,
	.free = drop,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorFlow's functions that train, whatever they are called: where nobody marked a step, a call of one is a step; and what other
 * functions do between steps, again and again, is in none. See scan.h.
 *
 * JAX marks no steps, nor does TensorFlow that runs eagerly or only predicts; where such a loop is fed by tf.data, a batch is a step.
 * Of an eager loop that trains in its own thread, batches for which no op of a gradient or of an optimizer ran are evaluation.
 *
 * Rule: a function trains if an op of a gradient or of an optimizer ran while it alone was being called; one that has both makes those
 * with gradients alone evaluation (what a model looks at, an attack on it). Its numbers (a new one for each trace) do not count. Where it
 * was traced for a call, that call's step begins with the tracing.
 * Inferred, and said so.
 */
#include "reducer/base/base.h"
#include "reducer/model/function_names.h"
#include "reducer/model/functions_internal.h"
#include "reducer/model/op_typed.h"
#include "reducer/model/step_choice.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 65536u /* as in ops_scan.c */
#define SCOPE_USER 7	 /* of an eager op: a function */
#define CALLS_LEAST 2	 /* a call is a step where it comes again; evaluation is more than one call */

static const char *name_of(const struct functions *taken, uint64_t id)
{
	const struct scan_ops *ops = &taken->scan->ops;

	return ops->name == NULL ? "" : ops->name(ops->name_state, id);
}

/* The group of a name that an id stands for. MODEL_FUNCTIONS_MAX where there are too many. */
static size_t group_of(struct functions *taken, uint64_t id, const char *name)
{
	size_t length, at = 0;

	if (id < NAMES_MAX && taken->groups_of[id] != 0)
		return (size_t)taken->groups_of[id] - 1;
	name = function_plain_name(name, &length);
	while (at < taken->group_count && (strlen(taken->groups[at].name) != length ||
					   memcmp(taken->groups[at].name, name, length) != 0))
		at++;
	if (at == taken->group_count && at < MODEL_FUNCTIONS_MAX)
		taken->groups[taken->group_count++].name = (char *)(uintptr_t)run_text(taken->scan->run, name, length);
	if (id < NAMES_MAX)
		taken->groups_of[id] = (uint16_t)(at + 1);
	return at;
}

static uint8_t known_kind(struct functions *taken, uint64_t id)
{
	if (id >= NAMES_MAX)
		return NAME_OTHER;
	if (taken->names[id] == NAME_UNKNOWN)
		taken->names[id] = function_op_kind(name_of(taken, id));
	return taken->names[id];
}

/* An op of a graph ran: of which call is known where only one is open. */
static void take_graph_op(struct functions *taken, uint64_t name)
{
	struct open_call *open = &taken->open[taken->last_open];
	struct group *group = &taken->groups[open->call.group];
	uint8_t kind;

	if (taken->open_count != 1 || open->key == 0 || (group->has_gradients && group->updates))
		return;
	kind = known_kind(taken, name);
	group->has_gradients |= kind == NAME_OF_TAPE;
	group->updates |= kind == NAME_OF_OPTIMIZER || kind == NAME_OF_UPDATE;
	group->trains |= kind == NAME_OF_TAPE || kind == NAME_OF_OPTIMIZER;
}

static uint32_t thread_of(const struct functions *taken, size_t stream)
{
	return taken->scan->process->log->streams[stream].thread;
}

/* What is known of the thread of a stream. Streams lie by thread; asked for each op, so nothing is looked through. */
static struct open_call *first_of(struct functions *taken, size_t stream)
{
	while (stream > 0 && thread_of(taken, stream - 1) == thread_of(taken, stream))
		stream--;
	return &taken->open[stream];
}

static struct batch_call *last_batch(struct functions *taken, size_t stream)
{
	size_t place = first_of(taken, stream)->last_batch;

	return place == 0 ? NULL : &taken->batches[place - 1];
}

/* Something ran for the batch that its thread took last. `what`: not 0, as a rule the same from batch to batch. */
static void use_batch(struct functions *taken, size_t stream, uint64_t what, int trains, uint64_t time)
{
	struct batch_call *batch = last_batch(taken, stream);

	if (batch == NULL)
		return;
	if (batch->used++ == 0)
		batch->first = what;
	if (batch->used == batch->wanted)
		batch->reached = time;
	if (trains)
		batch->trained = time;
}

static void add_batch(struct functions *taken, size_t stream, int makes_iterator, uint64_t time)
{
	const struct batch_call *before = last_batch(taken, stream);
	struct batch_call batch = {.begin = time,
				   .before = before == NULL ? 0 : (size_t)(before - taken->batches) + 1,
				   .thread = thread_of(taken, stream),
				   .makes_iterator = makes_iterator};
	struct batch_call *batches;

	if (before != NULL && !before->makes_iterator && !makes_iterator) {
		batch.wanted = before->used > 0 ? before->used : before->wanted;
		batch.wanted_first = before->used > 0 ? before->first : before->wanted_first;
	}
	batches = model_room(taken->batches, taken->batch_count, sizeof *batches);
	if (batches == NULL) {
		taken->batches_beyond++;
		return;
	}
	taken->batches = batches;
	batches[taken->batch_count++] = batch;
	if (batch.before != 0)
		batches[batch.before - 1].next = taken->batch_count;
	first_of(taken, stream)->last_batch = taken->batch_count;
}

static void take_eager_op(struct functions *taken, size_t stream, uint64_t name, uint64_t time)
{
	uint8_t kind = known_kind(taken, name);
	int trains = kind == NAME_OF_GRADIENT || kind == NAME_OF_CHANGE || kind == NAME_OF_TAPE || kind == NAME_OF_OPTIMIZER;

	updates_take(&taken->updates, (size_t)(first_of(taken, stream) - taken->open), kind, time);
	taken->trains_eagerly |= trains;
	if (trains)
		first_of(taken, stream)->trains = 1;
	if (kind != NAME_OF_BATCH && kind != NAME_OF_ITERATOR) {
		use_batch(taken, stream, name + 1, trains, time);
		return;
	}
	add_batch(taken, stream, kind == NAME_OF_ITERATOR, time);
	function_traced_leave(&first_of(taken, stream)->traced);
}

/* The record before it began a step on that thread. */
static int begins_step(const struct process *process, size_t stream)
{
	const struct step *last = process->step_count > 0 ? &process->steps[process->step_count - 1] : NULL;

	return last != NULL && last->source == SOURCE_eager && last->end_ns == TIME_UNKNOWN &&
	       last->thread == process->log->streams[stream].thread;
}

/* A step that its function's name told begins with what was traced for it, unless another thread's began in between. */
static void begin_step_at(struct process *process, uint64_t from)
{
	struct step *last = &process->steps[process->step_count - 1];

	if (process->step_count == 1 || last[-1].time_ns <= (int64_t)from)
		last->time_ns = (int64_t)from;
}

static void take_begin(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct functions *taken = state;
	uint64_t name = batch_value(batch, i, fields[0]), source = batch_value(batch, i, fields[2]);
	struct open_call *open = &taken->open[stream];
	size_t group;

	taken->xla_calls += source == SOURCE_xla;
	if (source == SOURCE_annotation)
		take_graph_op(taken, name);
	if (source != SOURCE_eager || open->key != 0)
		return;
	if (batch_value(batch, i, fields[3]) != SCOPE_USER) {
		take_eager_op(taken, stream, name, batch->times[i]);
		return;
	}
	group = group_of(taken, name, name_of(taken, name));
	use_batch(taken, stream, UINT64_MAX - group, 0, batch->times[i]);
	taken->scan->process->calls_beyond += group == MODEL_FUNCTIONS_MAX;
	if (group == MODEL_FUNCTIONS_MAX)
		return;
	open->key = batch_value(batch, i, fields[1]);
	open->call = (struct call){.begin = batch->times[i], .thread = thread_of(taken, stream), .group = (uint16_t)group};
	open->call.from = function_traced_begin(&first_of(taken, stream)->traced, (uint32_t)group, batch->times[i]);
	if (begins_step(taken->scan->process, stream)) {
		taken->groups[group].is_step = 1;
		begin_step_at(taken->scan->process, open->call.from);
	}
	taken->open_count += open->key != 0;
	taken->last_open = stream;
}

static void take_end(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct functions *taken = state;
	struct open_call *open = &taken->open[stream];
	struct batch_call *used;
	struct call *calls;

	if (open->key == 0 || batch_value(batch, i, fields[1]) != SOURCE_eager || batch_value(batch, i, fields[0]) != open->key)
		return;
	open->key = 0;
	open->call.end = batch->times[i];
	used = last_batch(taken, stream);
	if (used != NULL && used->reached == open->call.begin)
		used->reached = open->call.end;
	taken->open_count--;
	taken->groups[open->call.group].calls++;
	calls = model_room(taken->calls, taken->count, sizeof *calls);
	if (calls == NULL) {
		taken->groups[open->call.group].beyond++;
		return;
	}
	taken->calls = calls;
	calls[taken->count++] = open->call;
}

static void take_clock(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct functions *taken = state;
	const struct tfp_file_header *header = &taken->scan->process->log->header;

	(void)stream;
	function_clock_read(&taken->clock, batch_value(batch, i, fields[0]) - header->origin.ticks, batch_value(batch, i, fields[1]),
			    header->clock_hz);
}

/* Before 2.17 ops of graphs are told when they are over, and of each release that a function was traced. */
static void take_trace(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct functions *taken = state;
	uint64_t name = batch_value(batch, i, fields[0]), begin;
	size_t group;

	if (known_kind(taken, name) != NAME_OF_TRACING) {
		take_graph_op(taken, name);
		return;
	}
	group = group_of(taken, name, name_of(taken, name) + sizeof OP_TRACED - 1);
	begin = function_clock_ticks(&taken->clock, batch_value(batch, i, fields[1]));
	if (group != MODEL_FUNCTIONS_MAX)
		function_traced_add(&first_of(taken, stream)->traced, (uint32_t)group, begin, batch->times[i]);
}

static const struct scan_record records[] = {
	{"op_begin", take_begin, NULL, {"name", "key", "source", "scope"}},
	{"op_end", take_end, NULL, {"key", "source"}},
	{"trace", take_trace, NULL, {"name", "start"}},
	{"clock", take_clock, NULL, {"ticks", "realtime"}},
};

static void drop(void *state)
{
	struct functions *taken = state;

	free(taken->names);
	free(taken->groups_of);
	free(taken->open);
	free(taken->calls);
	free(taken->batches);
	updates_free(&taken->updates);
	free(taken);
}

static void *begin(struct scan *scan)
{
	struct functions *taken = calloc(1, sizeof *taken);

	if (taken == NULL)
		return NULL;
	taken->scan = scan;
	taken->names = calloc(NAMES_MAX, sizeof *taken->names);
	taken->groups_of = calloc(NAMES_MAX, sizeof *taken->groups_of);
	taken->open = calloc(scan->process->log->stream_count + 1, sizeof *taken->open);
	if (taken->names != NULL && taken->groups_of != NULL && taken->open != NULL &&
	    updates_begin(&taken->updates, scan->process) == 0)
		return taken;
	drop(taken);
	return NULL;
}

/* The function whose calls are steps: of those that train the one called most; MODEL_FUNCTIONS_MAX = there is none. */
static size_t find_stepping(const struct functions *taken)
{
	size_t best = MODEL_FUNCTIONS_MAX;

	for (size_t g = 0; g < taken->group_count; g++)
		if (taken->groups[g].trains && taken->groups[g].calls >= CALLS_LEAST &&
		    (best == MODEL_FUNCTIONS_MAX || taken->groups[g].calls > taken->groups[best].calls))
			best = g;
	return best;
}

static int is_marked(const struct process *process)
{
	for (size_t i = 0; i < process->step_count; i++)
		if (process->steps[i].source != STEP_BY_PERIOD || process->steps[i].trained == TRAINED_ON_JAX ||
		    process->steps[i].trained == TRAINED_BACKWARD)
			return 1;
	return 0;
}

/* Keras' evaluate in a loop that trains by itself marks steps, too: nothing to count where another function trains, and it does not. */
static int is_only_scored(const struct functions *taken)
{
	const struct process *process = taken->scan->process;

	for (size_t i = 0; i < process->step_count; i++)
		if (process->steps[i].source != SOURCE_eager)
			return 0;
	for (size_t g = 0; g < taken->group_count; g++)
		if (taken->groups[g].is_step && taken->groups[g].trains)
			return 0;
	return find_stepping(taken) != MODEL_FUNCTIONS_MAX || taken->trains_eagerly;
}

/*
 * Which functions' calls are steps beside those of `group`: such as train, too, but before the first call of each other one, or behind its
 * last (warming up, tuning); what takes turns with it is part of its steps.
 */
static void find_phases(const struct functions *taken, size_t group, char *is_phase)
{
	uint64_t first[MODEL_FUNCTIONS_MAX] = {0}, last[MODEL_FUNCTIONS_MAX] = {0};

	memset(is_phase, 0, MODEL_FUNCTIONS_MAX);
	for (size_t i = taken->count; i > 0; i--) {
		const struct call *call = &taken->calls[i - 1];
		first[call->group] = call->begin;
		last[call->group] = last[call->group] == 0 ? call->end : last[call->group];
	}
	is_phase[group] = 1;
	for (size_t g = 0; g < taken->group_count; g++) {
		int is_apart = taken->groups[g].trains && taken->groups[g].calls >= CALLS_LEAST && !is_phase[g];
		for (size_t other = 0; other < taken->group_count; other++)
			if (is_apart && is_phase[other] && first[g] < last[other] && first[other] < last[g])
				is_apart = 0;
		is_phase[g] |= (char)is_apart;
	}
}

static void make_steps(struct functions *taken, size_t group)
{
	struct process *process = taken->scan->process;
	char is_phase[MODEL_FUNCTIONS_MAX];

	find_phases(taken, group, is_phase);
	step_choice_drop(process);
	for (size_t i = 0; i < taken->count; i++)
		if (is_phase[taken->calls[i].group])
			step_choice_add(process, (struct step){.time_ns = (int64_t)taken->calls[i].from,
							       .end_ns = (int64_t)taken->calls[i].end,
							       .thread = taken->calls[i].thread,
							       .source = SOURCE_eager,
							       .name = taken->groups[taken->calls[i].group].name,
							       .confidence = 1,
							       .is_call = 1});
	for (size_t g = 0; g < taken->group_count; g++)
		process->steps_beyond += is_phase[g] ? taken->groups[g].beyond : 0;
	step_choice(process);
}

static int has_jax(const struct process *process)
{
	for (size_t i = 0; i < process->module_count; i++)
		if (process->modules[i].path != NULL && strstr(process->modules[i].path, "/jaxlib/") != NULL)
			return 1;
	return 0;
}

/* The first of several calls of a function that does not train, between the end of a step and the next; 0 = there are none. */
static uint64_t find_other_work(const struct functions *taken, size_t *next, const struct step *step, const struct step *after)
{
	size_t first = SIZE_MAX, count = 0;

	for (; *next < taken->count && (int64_t)taken->calls[*next].end <= after->time_ns; ++*next) {
		const struct call *call = &taken->calls[*next];
		if ((int64_t)call->begin < step->end_ns || call->thread != step->thread || taken->groups[call->group].trains)
			continue;
		if (first == SIZE_MAX)
			first = *next;
		count += call->group == taken->calls[first].group;
	}
	return count >= CALLS_LEAST ? taken->calls[first].begin : 0;
}

/* Only where less than half of the steps are followed by it: else it is part of a step. `is_counting`: changes nothing. */
static size_t split_other_work(struct functions *taken, int is_counting)
{
	struct process *process = taken->scan->process;
	size_t next = 0, found = 0, before = SIZE_MAX;

	for (size_t i = 0; i < process->step_count; i++) {
		struct step *step = before == SIZE_MAX ? NULL : &process->steps[before];
		if (!process->steps[i].is_chosen || process->steps[i].source != SOURCE_eager)
			continue;
		before = i;
		if (step == NULL || step->thread != process->steps[i].thread || step->end_ns == TIME_UNKNOWN)
			continue;
		uint64_t from = find_other_work(taken, &next, step, &process->steps[i]);
		found += from != 0;
		if (from == 0 || is_counting)
			continue;
		if (step->rest_ns == 0 || (int64_t)from < step->rest_ns)
			step->rest_ns = (int64_t)from;
		step->is_evaluated = 1;
	}
	return found;
}

static bool is_asked_before(const void *batches, size_t i, uint64_t time)
{
	return ((const struct batch_call *)batches)[i].begin < time;
}

/* Whether most of the time from a step to the next one of its thread went by behind the asking for one more batch of the same iterator. */
static int is_wait(const struct functions *taken, const struct step *step, const struct step *next)
{
	uint64_t from = (uint64_t)step->end_ns, to = (uint64_t)next->time_ns, asked = 0;
	size_t i = base_count_before(taken->batches, taken->batch_count, from, is_asked_before);

	for (; i < taken->batch_count && taken->batches[i].begin < to; i++) {
		if (taken->batches[i].thread == step->thread && taken->batches[i].makes_iterator)
			return 0;
		asked = taken->batches[i].thread == step->thread ? taken->batches[i].begin : asked;
	}
	return asked != 0 && (to - asked) * 2 > to - from;
}

/* What step_choice.c takes for a pause is none where the loop waited for its batch: of an epoch that fills a cache, say. */
static void keep_waits(const struct functions *taken)
{
	struct process *process = taken->scan->process;
	struct step *step = NULL;

	for (size_t i = 0; i < process->step_count; i++) {
		struct step *next = &process->steps[i];
		if (!next->is_chosen || next->source != SOURCE_eager)
			continue;
		if (step != NULL && step->thread == next->thread && step->rest_ns != 0 && step->rest_ns == step->end_ns &&
		    is_wait(taken, step, next))
			step->rest_ns = 0;
		step = next;
	}
}

static int makes_iterator_between(const struct functions *taken, const struct step *step, const struct step *next)
{
	size_t i = base_count_before(taken->batches, taken->batch_count, (uint64_t)step->end_ns, is_asked_before);

	while (i < taken->batch_count && taken->batches[i].begin < (uint64_t)next->time_ns &&
	       (taken->batches[i].thread != step->thread || !taken->batches[i].makes_iterator))
		i++;
	return i < taken->batch_count && taken->batches[i].begin < (uint64_t)next->time_ns;
}

/*
 * Where an iterator is made between a step and the next, another pass over the data begins there, or an evaluation: Keras, which counts
 * batches, lets no data run out. That is in no step, however short. But what more than half of the steps do (next(iter(data))) is part
 * of them. `is_counting`: changes nothing.
 */
static size_t split_passes(const struct functions *taken, int is_counting)
{
	struct process *process = taken->scan->process;
	struct step *step = NULL;
	size_t found = 0;

	for (size_t i = 0; i < process->step_count; i++) {
		struct step *next = &process->steps[i];
		if (!next->is_chosen || next->source != SOURCE_eager)
			continue;
		if (step != NULL && step->thread == next->thread && step->end_ns != TIME_UNKNOWN && next->time_ns > step->end_ns &&
		    makes_iterator_between(taken, step, next)) {
			found++;
			if (!is_counting && step->rest_ns == 0)
				step->rest_ns = step->end_ns;
		}
		step = next;
	}
	return found;
}

/* Where a function takes gradients and changes weights by them, one that only takes them does something else: it evaluates. */
static void tell_evaluation(struct functions *taken)
{
	int is_whole = 0;

	for (size_t g = 0; g < taken->group_count; g++)
		is_whole |= taken->groups[g].has_gradients && taken->groups[g].updates;
	for (size_t g = 0; is_whole && g < taken->group_count; g++)
		taken->groups[g].trains &= taken->groups[g].updates;
}

static int finish(void *state)
{
	struct functions *taken = state;
	struct process *process = taken->scan->process;
	size_t stepping, chosen = 0;
	int is_open_to;

	tell_evaluation(taken);
	is_open_to = !is_marked(process) || is_only_scored(taken);
	process->calls_beyond = is_open_to ? process->calls_beyond : 0; /* elsewhere they are no steps anyway */
	stepping = is_open_to ? find_stepping(taken) : MODEL_FUNCTIONS_MAX;
	if (stepping != MODEL_FUNCTIONS_MAX) {
		make_steps(taken, stepping);
	} else if (is_open_to) {
		taken->is_jax = taken->xla_calls > 0 || (taken->count == 0 && !taken->trains_eagerly && has_jax(process));
		updates_end(&taken->updates, process);
		functions_make_batches(taken);
		if (updates_make_steps(&taken->updates, process))
			step_choice(process);
	} else {
		process->batches_aside = functions_batches_aside(taken);
	}
	keep_waits(taken);
	for (size_t i = 0; i < process->step_count; i++)
		chosen += process->steps[i].is_chosen && process->steps[i].source == SOURCE_eager;
	if (split_passes(taken, 1) * 2 < chosen)
		split_passes(taken, 0);
	if (split_other_work(taken, 1) * 2 < chosen)
		split_other_work(taken, 0);
	if (!is_open_to)
		functions_find_aside(taken);
	return 0;
}

const struct scan_subject functions_subject = {
	.records = records,
	.record_count = sizeof records / sizeof *records,
	.begin = begin,
	.finish = finish,
	.free = drop,
};

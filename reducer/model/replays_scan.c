/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that are launches of a CUDA graph: where PyTorch ended an Optimizer.step while its thread captured, whoever launches what was
 * captured trains, and PyTorch, which is not asked again, marks nothing. See scan.h.
 *
 * Rule: only such graphs; where the optimizer stays outside (make_graphed_callables, torch.compile), PyTorch marks the steps. Those that
 * it marked before (warming up, and the capture, in which nothing ran) are left out. Never where a program marks its own. Graphs that
 * take turns all the time (a generator's and a discriminator's) make one step together, as their optimizers do without graphs: turns.h.
 */
#include "reducer/model/number_map.h"
#include "reducer/model/scan.h"

#include <stdlib.h>
#include <string.h>

#define REPLAYS_LEAST 5u /* as periods.c has it of steps */
#define TURNS_MOST 6u	 /* launches in a round of graphs that take turns */
#define ROUNDS_LEAST 8u	 /* of them: fewer may alternate by chance */
#define NO_THREAD UINT32_MAX

/* What a function does to graphs. */
enum work { WORK_NONE, WORK_BEGIN, WORK_END, WORK_MAKE, WORK_OTHER, WORK_LAUNCH };

/* Of a stream of records: what stands before the next call, and the capture that is open. */
struct capturing {
	uint64_t object, other;
	int is_open, has_ended; /* has_ended: a step did, in it */
	int has_stepped;
};

struct replay {
	uint64_t begin, end;
	uint64_t graph; /* executable one: its address */
};

struct replays {
	struct scan *scan;
	struct number_map works;    /* of a function's number: enum work */
	struct number_map training; /* of the address of a graph, or an executable one: was a step captured in it? */
	struct capturing *streams;
	struct replay *items;
	size_t count;
	unsigned turns; /* launches that make one of `items`; 0 = one */
	uint64_t ready; /* when the last graph was made, or the last step's launch was over */
	uint32_t thread;
};

static void drop(void *state)
{
	struct replays *taken = state;

	if (taken == NULL)
		return;
	number_map_free(&taken->works);
	number_map_free(&taken->training);
	free(taken->streams);
	free(taken->items);
	free(taken);
}

static void *begin(struct scan *scan)
{
	struct replays *taken = calloc(1, sizeof *taken);

	if (taken == NULL)
		return NULL;
	taken->scan = scan;
	taken->thread = NO_THREAD;
	taken->streams = calloc(scan->process->log->stream_count + 1, sizeof *taken->streams);
	if (taken->streams != NULL)
		return taken;
	drop(taken);
	return NULL;
}

static int has(const struct fact_value *text, const char *part)
{
	return text != NULL && memmem(text->text, text->length, part, strlen(part)) != NULL;
}

static void take_function(void *state, const struct fact *fact, const int *fields)
{
	struct replays *taken = state;
	const struct fact_value *name = fact_text(fact, fields[1]);
	enum work work = has(name, "BeginCapture")	 ? WORK_BEGIN
			 : has(name, "EndCapture")	 ? WORK_END
			 : has(name, "GraphInstantiate") ? WORK_MAKE
			 : has(name, "GraphExecUpdate")	 ? WORK_MAKE
			 : has(name, "GraphClone")	 ? WORK_MAKE
			 : has(name, "GraphUpload")	 ? WORK_OTHER
			 : has(name, "GraphLaunch")	 ? WORK_LAUNCH
							 : WORK_NONE;

	if (work != WORK_NONE)
		number_map_set(&taken->works, 0, fact_number(fact, fields[0]), (uint32_t)work); /* without memory: no such call */
}

static void take_step(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct capturing *capturing = &((struct replays *)state)->streams[stream];

	if (batch_value(batch, i, fields[0]) == SOURCE_record_function && capturing->is_open)
		capturing->has_stepped |= capturing->has_ended;
}

/* Only PyTorch's Optimizer.step ends a step and begins the next one at once: take_step looks at that. */
static void take_step_end(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct capturing *capturing = &((struct replays *)state)->streams[stream];

	(void)batch, (void)i, (void)fields;
	capturing->has_ended = capturing->is_open;
}

static void take_object(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct capturing *capturing = &((struct replays *)state)->streams[stream];

	capturing->object = batch_value(batch, i, fields[0]);
	capturing->other = batch_value(batch, i, fields[1]);
}

static int trains(const struct replays *taken, uint64_t graph)
{
	return number_map_find(&taken->training, 1, graph) == 1;
}

/* An address may be another graph's by now. */
static void say(struct replays *taken, uint64_t graph, int is_training)
{
	if (graph != 0 && (is_training || trains(taken, graph)))
		number_map_set(&taken->training, 1, graph, is_training != 0); /* without memory: it does not */
}

static void add_replay(struct replays *taken, uint32_t thread, uint64_t graph, uint64_t end)
{
	struct replay *items;

	if (taken->thread == NO_THREAD)
		taken->thread = thread;
	items = taken->thread == thread ? model_room(taken->items, taken->count, sizeof *items) : NULL;
	if (items == NULL)
		return;
	taken->items = items;
	items[taken->count++] = (struct replay){.begin = taken->ready, .end = end, .graph = graph};
	taken->ready = end;
}

static void take_work(struct replays *taken, size_t stream, enum work work, uint64_t time)
{
	struct capturing *capturing = &taken->streams[stream];

	if (work == WORK_BEGIN)
		*capturing = (struct capturing){.is_open = 1};
	if (work == WORK_END)
		say(taken, capturing->object, capturing->has_stepped);
	if (work == WORK_MAKE)
		say(taken, capturing->object, trains(taken, capturing->other));
	if (work == WORK_LAUNCH && !capturing->is_open && trains(taken, capturing->object))
		add_replay(taken, taken->scan->process->log->streams[stream].thread, capturing->object, time);
	if (work == WORK_END)
		*capturing = (struct capturing){.is_open = 0};
	if (work != WORK_LAUNCH && work != WORK_BEGIN)
		taken->ready = time;
}

static void take_calls(void *state, size_t stream, const struct batch *batch, size_t from, size_t to, const int *fields)
{
	struct replays *taken = state;
	const struct batch_kind *kind = batch->kinds[batch->tags[from]];
	const uint64_t *functions = scan_values(kind, batch->rows[from], fields[0]);

	for (size_t i = 0; i < to - from && taken->works.count > 0; i++) {
		uint32_t work = number_map_find(&taken->works, 0, functions[i]);
		if (work != NUMBER_MAP_NONE)
			take_work(taken, stream, (enum work)work, batch->times[from + i]);
	}
}

static void take_call(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	take_calls(state, stream, batch, i, i + 1, fields);
}

/* The launches of a round, where graphs come in one order from the first launch to the last; 1 = they do not. */
static size_t turns_of(const struct replays *taken)
{
	for (size_t turns = 1; turns <= TURNS_MOST && turns * ROUNDS_LEAST <= taken->count; turns++) {
		size_t i = turns;
		while (i < taken->count && taken->items[i].graph == taken->items[i - turns].graph)
			i++;
		if (i == taken->count)
			return turns;
	}
	return 1;
}

/* A round becomes one; the launches of one that was not finished are left out. */
static void join_turns(struct replays *taken)
{
	size_t turns = turns_of(taken);

	if (turns == 1)
		return;
	taken->count /= turns;
	taken->turns = (unsigned)turns;
	for (size_t i = 0; i < taken->count; i++)
		taken->items[i] = (struct replay){.begin = taken->items[i * turns].begin, .end = taken->items[(i + 1) * turns - 1].end};
}

static int by_time(const void *a, const void *b)
{
	const struct step *one = a, *other = b;

	return one->time_ns < other->time_ns ? -1 : one->time_ns > other->time_ns;
}

/* Are there more replays than steps so far, and did nobody but PyTorch mark those? */
static int are_steps(const struct replays *taken)
{
	const struct process *process = taken->scan->process;
	size_t chosen = 0;

	for (size_t i = 0; i < process->step_count; i++) {
		const struct step *step = &process->steps[i];
		if (step->is_chosen && step->source != SOURCE_record_function && step->source != STEP_BY_PERIOD)
			return 0;
		chosen += (size_t)step->is_chosen;
	}
	return taken->count >= REPLAYS_LEAST && taken->count > chosen;
}

static int finish(void *state)
{
	struct replays *taken = state;
	struct process *process = taken->scan->process;

	join_turns(taken);
	if (!are_steps(taken))
		return 0;
	for (size_t i = 0; i < process->step_count; i++)
		process->steps[i].is_chosen = 0;
	for (size_t i = 0; i < taken->count; i++) {
		struct step *steps = model_room(process->steps, process->step_count, sizeof *steps);
		if (steps == NULL)
			break;
		process->steps = steps;
		steps[process->step_count++] = (struct step){.time_ns = (int64_t)taken->items[i].begin,
							     .end_ns = (int64_t)taken->items[i].end,
							     .number = i + 1,
							     .thread = taken->thread,
							     .source = STEP_BY_PERIOD,
							     .confidence = 1,
							     .is_chosen = 1,
							     .turns = taken->turns,
							     .trained = TRAINED_REPLAY};
	}
	qsort(process->steps, process->step_count, sizeof *process->steps, by_time);
	return 0;
}

static const struct scan_record records[] = {
	{"step", take_step, NULL, {"source"}},
	{"step_end", take_step_end, NULL, {NULL}},
	{"gpu_object", take_object, NULL, {"object", "other"}},
	{"gpu_call", take_call, NULL, {"function"}, take_calls},
};

static const struct scan_fact facts[] = {
	{"function", take_function, {"number", "name"}},
};

const struct scan_subject replays_subject = {
	.records = records,
	.record_count = sizeof records / sizeof *records,
	.facts = facts,
	.fact_count = sizeof facts / sizeof *facts,
	.begin = begin,
	.finish = finish,
	.free = drop,
};

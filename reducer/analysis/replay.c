/* SPDX-License-Identifier: Apache-2.0 */
/* What a step's length hangs on; see reducer/analysis/replay.h. */
#include "reducer/analysis/replay.h"

#include "reducer/analysis/parts.h"
#include "reducer/analysis/replay_graph.h"
#include "reducer/analysis/replay_run.h"
#include "reducer/analysis/replay_steps.h"
#include "reducer/base/kineto_words.h"
#include "reducer/model/number_map.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define AHEAD_SHARE 1.01 /* by more of the steps' time the device's is longer where the host runs ahead: it ends a little later always */

/* Where the step thread waited for input. */
struct input_wait {
	int64_t start_ns, end_ns;
};

struct replay_pass {
	struct parts parts;
	struct units units;
	const struct unit *first; /* of the steps that are looked at; NULL = none */
	size_t steps;
	struct replay_graph graph;
	const struct process *process;
	struct input_wait *inputs;
	size_t input_count, input_room;
};

const char *replay_part_name(enum replay_part part)
{
	static const char *const names[REPLAY_PARTS] = {"host",	  "input wait", "call", "launch delay", "queue delay", "kernel",
							"copy",	  "set",	"graph", "host wakes",	 "unexplained delay"};

	return names[part];
}

const char *replay_what_name(enum replay_what what)
{
	static const char *const names[REPLAY_WHATS] = {"device",    "collectives", "device work", "op",
							"host code", "host code",   "input waits", "calls", "waits"};

	return names[what];
}

static void set_bounds(struct replay_pass *pass)
{
	pass->graph.from_ns = pass->first->start_ns;
	pass->graph.to_ns = pass->first[pass->steps - 1].end_ns;
	pass->graph.thread = pass->first->thread;
}

static void *begin(const struct analysis_input *input)
{
	struct replay *replay = base_alloc(1, sizeof(*replay));
	struct replay_process *process;

	words_number(&replay->words, ""); /* 0: nothing is known */
	if (!input)
		return replay;
	replay->pass = base_alloc(1, sizeof(*replay->pass));
	replay->pass->process = input->process;
	units_of_steps(&replay->pass->units, input->process);
	replay->pass->steps = replay_choose(&replay->pass->units, input, &replay->pass->first);
	if (replay->pass->first)
		set_bounds(replay->pass);
	replay->pass->parts = (struct parts){.split = SPLIT_OURS,
					     .loops = input_loops_of(input->process),
					     .step_thread = replay->pass->graph.thread};
	replay->processes = base_grow(NULL, &replay->room, 1, sizeof(*replay->processes));
	process = &replay->processes[replay->count++];
	*process = (struct replay_process){.log_id = input->process->log_id, .all_steps = replay->pass->units.count,
					   .fault = replay->pass->first ? REPLAY_FINE : REPLAY_NO_STEPS};
	return replay;
}

static bool is_in(const struct replay_graph *graph, int64_t start_ns, int64_t end_ns)
{
	return end_ns > graph->from_ns && start_ns < graph->to_ns;
}

static bool wants_work(const struct replay_graph *graph, const struct replay_work *work)
{
	return is_in(graph, work->start_ns, work->end_ns) ||
	       (work->called_ns >= graph->from_ns && work->called_ns < graph->to_ns && work->called_ns != TIME_UNKNOWN);
}

/* Too much: the first half of the steps is looked at. */
static void halve(struct replay *replay)
{
	struct replay_pass *pass = replay->pass;
	struct replay_graph *graph = &pass->graph;
	size_t calls = 0, works = 0;

	if (pass->steps < 2) {
		replay->processes[0].fault = REPLAY_TOO_MUCH;
		pass->first = NULL;
		return;
	}
	pass->steps /= 2;
	set_bounds(pass);
	for (size_t i = 0; i < graph->call_count; i++)
		if (graph->calls[i].start_ns < graph->to_ns)
			graph->calls[calls++] = graph->calls[i];
	for (size_t i = 0; i < graph->work_count; i++)
		if (wants_work(graph, &graph->works[i]))
			graph->works[works++] = graph->works[i];
	graph->call_count = calls;
	graph->work_count = works;
}

static void make_room(struct replay *replay)
{
	struct replay_pass *pass = replay->pass;

	while (pass->first && pass->graph.call_count + pass->graph.work_count >= REPLAY_NODES_MOST)
		halve(replay);
}

/* Whether one of the steps is marked by a range of that name. */
static bool is_mark(const struct replay_pass *pass, const char *range)
{
	if (strncmp(range, KINETO_STEP_NAME, strlen(KINETO_STEP_NAME)) == 0)
		return true;
	for (size_t i = 0; i < pass->steps; i++) {
		const char *name = pass->process->steps[pass->first[i].step].name;
		if (name && strcmp(name, range) == 0)
			return true;
	}
	return false;
}

/* The innermost op; in none the innermost range, but for that of the step itself. NULL = neither. */
static const char *place_of(const struct replay_pass *pass, const struct span *span)
{
	if (span->op && span->op[0])
		return span->op;
	return span->range && !is_mark(pass, span->range) ? span->range : NULL;
}

static void take_call(struct replay *replay, const struct span_again *told)
{
	struct replay_graph *graph = &replay->pass->graph;
	const struct span *span = told->like;
	int64_t end = told->start_ns + (int64_t)told->duration_ns;

	/* A library's call is what it calls itself. */
	if (told->start_ns < graph->from_ns || told->start_ns >= graph->to_ns || span->call == GPU_LIBRARY)
		return;
	graph->calls = base_grow(graph->calls, &graph->call_room, graph->call_count + 1, sizeof(*graph->calls));
	graph->calls[graph->call_count++] = (struct replay_call){.start_ns = told->start_ns, .end_ns = end, .flow = told->flow,
								 .name = words_lasting(&replay->words, span->name),
								 .op = words_lasting(&replay->words, place_of(replay->pass, span)),
								 .thread = span->thread, .kind = span->call};
}

static void take_work(struct replay *replay, const struct span_again *told)
{
	struct replay_graph *graph = &replay->pass->graph;
	const struct span *span = told->like;
	struct replay_work work = {.start_ns = told->start_ns, .end_ns = told->start_ns + (int64_t)told->duration_ns,
				   .called_ns = told->called_ns, .flow = told->flow, .queue = span->track, .what = (uint8_t)span->what};

	if (!wants_work(graph, &work))
		return;
	work.name = words_lasting(&replay->words, span->name);
	work.op = words_lasting(&replay->words, place_of(replay->pass, span));
	work.is_collective = (part_classes(&replay->pass->parts, span) & CLASS_BIT(PART_COLLECTIVES)) != 0;
	graph->works = base_grow(graph->works, &graph->work_room, graph->work_count + 1, sizeof(*graph->works));
	graph->works[graph->work_count++] = work;
}

static int by_start(const void *a, const void *b)
{
	const struct input_wait *one = a, *other = b;

	return one->start_ns < other->start_ns ? -1 : one->start_ns > other->start_ns;
}

/* In order, and none in another. */
static void unite_input(struct replay_pass *pass)
{
	size_t kept = 0;

	if (pass->input_count)
		qsort(pass->inputs, pass->input_count, sizeof(*pass->inputs), by_start);
	for (size_t i = 0; i < pass->input_count; i++) {
		const struct input_wait *wait = &pass->inputs[i];
		if (!kept || wait->start_ns > pass->inputs[kept - 1].end_ns)
			pass->inputs[kept++] = *wait;
		else if (wait->end_ns > pass->inputs[kept - 1].end_ns)
			pass->inputs[kept - 1].end_ns = wait->end_ns;
	}
	pass->input_count = kept;
}

static void take_host(struct replay_pass *pass, const struct span *span)
{
	int64_t end = span->start_ns + (int64_t)span->duration_ns;

	if (!is_in(&pass->graph, span->start_ns, end) || span->thread != pass->graph.thread ||
	    !(part_classes(&pass->parts, span) & CLASS_BIT(PART_INPUT_WAIT)))
		return;
	if (pass->input_count >= REPLAY_NODES_MOST)
		unite_input(pass);
	if (pass->input_count >= REPLAY_NODES_MOST)
		return; /* of as many waits as that, none in another, the rest is told as the host's code */
	pass->inputs = base_grow(pass->inputs, &pass->input_room, pass->input_count + 1, sizeof(*pass->inputs));
	pass->inputs[pass->input_count++] = (struct input_wait){span->start_ns, end};
}

static void again(void *result, const struct span_again *spans, size_t count)
{
	struct replay *replay = result;

	for (size_t i = 0; i < count && replay->pass->first; i++) {
		if (spans[i].like->on == SPAN_QUEUE)
			take_work(replay, &spans[i]);
		else
			take_call(replay, &spans[i]);
		make_room(replay);
	}
}

static void take(void *result, const struct span *span)
{
	struct replay *replay = result;

	if (span->kind != SPAN_WHOLE || span->is_open || !replay->pass->first)
		return;
	if (span->what == SPAN_CALL || span->on == SPAN_QUEUE)
		again(result, &(struct span_again){.like = span, .start_ns = span->start_ns, .duration_ns = span->duration_ns,
						   .flow = span->flow, .called_ns = span->called_ns}, 1);
	else
		take_host(replay->pass, span);
}

static void put_marks(struct replay_pass *pass)
{
	struct replay_graph *graph = &pass->graph;

	for (size_t i = 0; i <= pass->steps; i++) {
		int64_t at = i < pass->steps ? pass->first[i].start_ns : graph->to_ns;
		graph->calls = base_grow(graph->calls, &graph->call_room, graph->call_count + 1, sizeof(*graph->calls));
		graph->calls[graph->call_count++] =
			(struct replay_call){.start_ns = at, .end_ns = at, .thread = graph->thread, .is_mark = true};
	}
}

/* Of each gap between two calls of the step thread how long it waited for input. */
static void set_input(struct replay_pass *pass)
{
	struct replay_graph *graph = &pass->graph;
	size_t first = 0;

	unite_input(pass);
	for (size_t i = 0; i < graph->call_count; i++) {
		struct replay_call *call = &graph->calls[i];
		int64_t from_ns = call->before ? graph->calls[call->before - 1].end_ns : graph->from_ns;
		if (call->thread != graph->thread)
			continue;
		while (first < pass->input_count && pass->inputs[first].end_ns <= from_ns)
			first++;
		for (size_t k = first; k < pass->input_count && pass->inputs[k].start_ns < call->start_ns; k++) {
			int64_t from = pass->inputs[k].start_ns > from_ns ? pass->inputs[k].start_ns : from_ns;
			int64_t to = pass->inputs[k].end_ns < call->start_ns ? pass->inputs[k].end_ns : call->start_ns;
			call->input_ns += to > from ? to - from : 0;
		}
	}
}

/* How long what is called so takes in all. */
struct sums {
	struct number_map places;
	struct replay_change *items;
	size_t count, room;
};

static void add_sum(struct sums *sums, enum replay_what what, enum replay_part part, uint32_t name, double ns)
{
	uint64_t key = ((uint64_t)what + 1) << 8 | part;
	uint32_t place = number_map_find(&sums->places, key, name);

	if (place == NUMBER_MAP_NONE) {
		place = (uint32_t)sums->count;
		sums->items = base_grow(sums->items, &sums->room, sums->count + 1, sizeof(*sums->items));
		sums->items[sums->count++] = (struct replay_change){.what = what, .part = part, .name = name};
		number_map_set(&sums->places, key, name, place);
	}
	sums->items[place].all_ns += ns;
}

static void sum_works(struct sums *sums, const struct replay_graph *graph)
{
	for (size_t i = 0; i < graph->work_count; i++) {
		const struct replay_work *work = &graph->works[i];
		double ns = (double)(work->end_ns - work->start_ns);
		if (!replay_is_within(graph, work))
			continue;
		add_sum(sums, REPLAY_ALL_DEVICE, 0, 0, ns);
		add_sum(sums, REPLAY_WORK_NAME, replay_part_of(work), work->name, ns);
		if (work->is_collective)
			add_sum(sums, REPLAY_COLLECTIVES, 0, 0, ns);
		if (work->op)
			add_sum(sums, REPLAY_OP, 0, work->op, ns);
	}
}

static void sum_calls(struct sums *sums, const struct replay_graph *graph)
{
	for (size_t i = 0; i < graph->call_count; i++) {
		const struct replay_call *call = &graph->calls[i];
		int64_t before_ns = call->before ? graph->calls[call->before - 1].end_ns : graph->from_ns;
		double ns = (double)(call->end_ns - call->start_ns);
		if (!call->is_mark)
			add_sum(sums, call->awaits ? REPLAY_ALL_WAITS : REPLAY_ALL_CALLS, 0, 0, ns);
		if (call->gap_awaits)
			add_sum(sums, REPLAY_ALL_WAITS, 0, 0, (double)(call->start_ns - before_ns));
		if (call->input_ns)
			add_sum(sums, REPLAY_ALL_INPUT, 0, 0, (double)call->input_ns);
	}
}

/* Most first; by number of equal ones, which is the order in which they came. */
static int by_sum(const void *a, const void *b)
{
	const struct replay_change *one = a, *other = b;

	if (one->what != other->what)
		return one->what < other->what ? -1 : 1;
	if (one->all_ns != other->all_ns)
		return one->all_ns > other->all_ns ? -1 : 1;
	if (one->part != other->part)
		return one->part < other->part ? -1 : 1;
	return one->name < other->name ? -1 : one->name > other->name;
}

static void try_changes(struct replay_process *process, struct replay_run *run, struct sums *sums)
{
	size_t of_kind = 0;

	qsort(sums->items, sums->count, sizeof(*sums->items), by_sum);
	process->changes = base_alloc(sums->count + 1, sizeof(*process->changes));
	for (size_t i = 0; i < sums->count; i++) {
		struct replay_change *change = &sums->items[i];
		of_kind = i && sums->items[i - 1].what == change->what ? of_kind + 1 : 0;
		if (of_kind >= REPLAY_NAMES_MOST)
			continue;
		change->half_ns = change->what == REPLAY_ALL_WAITS ? process->model_ns : replay_length(run, change, 0.5, false);
		change->none_ns = replay_length(run, change, 0, false);
		process->changes[process->change_count++] = *change;
	}
}

static int by_path(const void *a, const void *b)
{
	const struct replay_step *one = a, *other = b;

	if (one->ns != other->ns)
		return one->ns > other->ns ? -1 : 1;
	if (one->part != other->part)
		return one->part < other->part ? -1 : 1;
	if (one->name != other->name)
		return one->name < other->name ? -1 : 1;
	return one->op < other->op ? -1 : one->op > other->op;
}

/* Of works also what does not lie on the way. */
static void add_all(struct replay_process *process, const struct replay_graph *graph)
{
	struct number_map places = {0};

	for (size_t i = 0; i < process->path_count; i++) {
		const struct replay_step *row = &process->path[i];
		if (row->part >= REPLAY_KERNEL && row->part <= REPLAY_GRAPH)
			number_map_set(&places, ((uint64_t)row->part + 1) << 32 | row->name, row->op, (uint32_t)i);
	}
	for (size_t i = 0; i < graph->work_count; i++) {
		const struct replay_work *work = &graph->works[i];
		uint32_t place = number_map_find(&places, ((uint64_t)replay_part_of(work) + 1) << 32 | work->name, work->op);
		if (place != NUMBER_MAP_NONE && replay_is_within(graph, work))
			process->path[place].all_ns += (double)(work->end_ns - work->start_ns);
	}
	number_map_free(&places);
}

static void sum_host(struct sums *sums, const struct replay_step *row)
{
	if (row->part != REPLAY_HOST && row->part != REPLAY_INPUT)
		return;
	add_sum(sums, REPLAY_ALL_HOST, 0, 0, row->ns);
	if (row->op)
		add_sum(sums, REPLAY_HOST_OF, 0, row->op, row->ns);
}

static void solve(struct replay_process *process, struct replay_pass *pass)
{
	const struct replay_change as_it_was = {.what = REPLAY_WHATS};
	struct replay_graph *graph = &pass->graph;
	struct sums sums = {0};
	struct replay_run *run = replay_run_make(graph);

	double measured_ns = replay_measured(run);

	process->is_device_end = measured_ns > AHEAD_SHARE * process->measured_ns;
	process->measured_ns = measured_ns;
	process->usual_ns = replay_length(run, &as_it_was, 1, true);
	process->model_ns = replay_length(run, &as_it_was, 1, false);
	replay_path(run, process);
	if (process->path_count)
		qsort(process->path, process->path_count, sizeof(*process->path), by_path);
	add_all(process, graph);
	sum_works(&sums, graph);
	sum_calls(&sums, graph);
	for (size_t i = 0; i < process->path_count; i++) /* the host's code elsewhere is hidden behind other things */
		sum_host(&sums, &process->path[i]);
	try_changes(process, run, &sums);
	number_map_free(&sums.places);
	free(sums.items);
	replay_run_free(run);
}

static void end(void *result)
{
	struct replay *replay = result;
	struct replay_pass *pass = replay->pass;
	struct replay_process *process = &replay->processes[0];

	if (pass->first) {
		put_marks(pass);
		process->fault = !replay_link(&pass->graph) ? REPLAY_NO_WORK :
				 pass->graph.unfollowed ? REPLAY_MANY_THREADS : REPLAY_FINE;
		process->first_step = pass->first->number;
		process->last_step = pass->first[pass->steps - 1].number;
		process->steps = pass->steps;
		process->calls = pass->graph.call_count;
		process->works = pass->graph.work_count;
		process->waits = pass->graph.waits;
		process->guessed_waits = pass->graph.guessed_waits;
		process->guessed_orders = pass->graph.guessed_orders;
		process->guessed_streams = pass->graph.guessed_streams;
		process->guessed_turns = pass->graph.guessed_turns;
		process->measured_ns = (double)(pass->graph.to_ns - pass->graph.from_ns);
	}
	if (process->fault == REPLAY_FINE) {
		set_input(pass);
		solve(process, pass);
	}
	replay_graph_free(&pass->graph);
	parts_free(&pass->parts);
	units_free(&pass->units);
	free(pass->inputs);
	free(pass);
	replay->pass = NULL;
}

static int by_log(const void *a, const void *b)
{
	uint64_t one = ((const struct replay_process *)a)->log_id, other = ((const struct replay_process *)b)->log_id;

	return one < other ? -1 : one > other;
}

static void merge(void *into, const void *from)
{
	struct replay *replay = into;
	const struct replay *more = from;

	for (size_t i = 0; i < more->count; i++) {
		struct replay_process *process;
		replay->processes = base_grow(replay->processes, &replay->room, replay->count + 1, sizeof(*replay->processes));
		process = &replay->processes[replay->count++];
		*process = more->processes[i];
		process->path = base_alloc(process->path_count + 1, sizeof(*process->path));
		process->changes = base_alloc(process->change_count + 1, sizeof(*process->changes));
		process->pieces = base_alloc(process->piece_count + 1, sizeof(*process->pieces));
		for (size_t k = 0; k < process->piece_count; k++) {
			process->pieces[k] = more->processes[i].pieces[k];
			process->pieces[k].name = words_number(&replay->words, more->words.items[process->pieces[k].name]);
			process->pieces[k].op = words_number(&replay->words, more->words.items[process->pieces[k].op]);
		}
		for (size_t k = 0; k < process->path_count; k++) {
			process->path[k] = more->processes[i].path[k];
			process->path[k].name = words_number(&replay->words, more->words.items[process->path[k].name]);
			process->path[k].op = words_number(&replay->words, more->words.items[process->path[k].op]);
		}
		for (size_t k = 0; k < process->change_count; k++) {
			process->changes[k] = more->processes[i].changes[k];
			process->changes[k].name = words_number(&replay->words, more->words.items[process->changes[k].name]);
		}
	}
	if (replay->count)
		qsort(replay->processes, replay->count, sizeof(*replay->processes), by_log);
}

static void print(const void *result, struct text *text)
{
	const struct replay *replay = result;
	const char *const *words = replay->words.items;

	for (size_t i = 0; i < replay->count; i++) {
		const struct replay_process *process = &replay->processes[i];
		text_format(text, "%" PRIx64 " fault %d, steps %" PRIu64 " of %" PRIu64 " from %" PRIu64, process->log_id,
			    (int)process->fault, process->steps, process->all_steps, process->first_step);
		text_format(text, ": %.0f, %.0f, %.0f ns\n", process->measured_ns, process->model_ns, process->usual_ns);
		for (size_t k = 0; k < process->path_count; k++)
			text_format(text, " %s %s %s: %" PRIu64 " %.0f of %.0f\n", replay_part_name(process->path[k].part),
				    words[process->path[k].name], words[process->path[k].op], process->path[k].count, process->path[k].ns,
				    process->path[k].all_ns);
		for (size_t k = 0; k < process->change_count; k++)
			text_format(text, " %s %s: %.0f, %.0f, %.0f\n", replay_what_name(process->changes[k].what),
				    words[process->changes[k].name], process->changes[k].all_ns, process->changes[k].half_ns,
				    process->changes[k].none_ns);
	}
}

static void free_replay(void *result)
{
	struct replay *replay = result;

	for (size_t i = 0; i < replay->count; i++) {
		free(replay->processes[i].path);
		free(replay->processes[i].pieces);
		free(replay->processes[i].changes);
	}
	free(replay->processes);
	words_free(&replay->words);
	free(replay);
}

const struct analysis_kind analysis_replay = {
	.name = "replay",
	.wants = SPAN_BIT(SPAN_CALL) | SPAN_BIT(SPAN_KERNEL) | SPAN_BIT(SPAN_COPY) | SPAN_BIT(SPAN_SET) | SPAN_BIT(SPAN_GRAPH) |
		 SPAN_BIT(SPAN_RANGE) | SPAN_BIT(SPAN_OP) | SPAN_BIT(SPAN_TRACE),
	.is_of_all_times = true,
	.is_of_all_places = true,
	.begin = begin,
	.span = take,
	.again = again,
	.end = end,
	.merge = merge,
	.print = print,
	.free = free_replay,
};

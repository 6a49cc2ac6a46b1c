/* SPDX-License-Identifier: Apache-2.0 */
/* How long the steps would take; see reducer/analysis/replay_run.h. */
#include "reducer/analysis/replay_run.h"

#include "reducer/model/number_map.h"
#include "reducer/model/spans.h"

#include <stdlib.h>

/* What let something begin, or end, last. */
enum replay_cause { BY_NOTHING, BY_INSIDE, BY_BEFORE, BY_HANDED, BY_AWAITED, BY_ITSELF, BY_CALL, BY_QUEUE, BY_OTHER };

struct replay_run *replay_run_make(const struct replay_graph *graph)
{
	struct replay_run *run = base_alloc(1, sizeof(*run));

	run->graph = graph;
	run->call_begin = base_alloc(graph->call_count, sizeof(*run->call_begin));
	run->call_end = base_alloc(graph->call_count, sizeof(*run->call_end));
	run->work_start = base_alloc(graph->work_count, sizeof(*run->work_start));
	run->work_end = base_alloc(graph->work_count, sizeof(*run->work_end));
	run->call_cause = base_alloc(graph->call_count, sizeof(*run->call_cause));
	run->end_cause = base_alloc(graph->call_count, sizeof(*run->end_cause));
	run->work_cause = base_alloc(graph->work_count, sizeof(*run->work_cause));
	return run;
}

void replay_run_free(struct replay_run *run)
{
	free(run->call_begin);
	free(run->call_end);
	free(run->work_start);
	free(run->work_end);
	free(run->call_cause);
	free(run->end_cause);
	free(run->work_cause);
	free(run);
}

static double work_ns(const struct replay_work *work, const struct replay_change *change, double factor)
{
	double ns = (double)(work->end_ns - work->start_ns);
	bool is_meant = change->what == REPLAY_ALL_DEVICE || (change->what == REPLAY_COLLECTIVES && work->is_collective) ||
			(change->what == REPLAY_WORK_NAME && work->name == change->name && replay_part_of(work) == change->part) ||
			(change->what == REPLAY_OP && work->op == change->name);

	return is_meant ? ns * factor : ns;
}

/* Later than what it is so far: by that cause. */
static void hold(double *time, uint32_t *cause, double until, enum replay_cause by)
{
	if (*cause == BY_NOTHING || until > *time) {
		*time = until;
		*cause = by;
	}
}

/* A thread that waited for another, or for a device, did nothing itself as far as anybody knows. */
static void begin_call(struct replay_run *run, uint32_t at, const struct replay_change *change, double factor)
{
	const struct replay_graph *graph = run->graph;
	const struct replay_call *call = &graph->calls[at];
	double *begin = &run->call_begin[at];
	uint32_t *cause = &run->call_cause[at];
	bool is_meant = change->what == REPLAY_ALL_HOST || (change->what == REPLAY_HOST_OF && call->op == change->name);
	double host = is_meant ? factor : 1;
	bool is_own = !call->handed && !call->gap_awaits;

	*cause = BY_NOTHING;
	*begin = (double)call->start_ns;
	if (call->before && graph->calls[call->before - 1].end_ns > call->start_ns)
		hold(begin, cause,
		     run->call_begin[call->before - 1] + (double)(call->start_ns - graph->calls[call->before - 1].start_ns), BY_INSIDE);
	else if (call->before) {
		double gap = is_own ? (double)(call->start_ns - graph->calls[call->before - 1].end_ns) : 0;
		gap = change->what == REPLAY_ALL_INPUT ? gap - (1 - factor) * (double)call->input_ns : gap * host;
		hold(begin, cause, run->call_end[call->before - 1] + (gap > 0 ? gap : 0), BY_BEFORE);
	}
	if (call->handed)
		hold(begin, cause,
		     run->call_end[call->handed - 1] +
			     host * (call->gap_awaits ? 0 : (double)(call->start_ns - graph->calls[call->handed - 1].end_ns)),
		     BY_HANDED);
	if (call->gap_awaits && change->what != REPLAY_ALL_WAITS)
		hold(begin, cause,
		     run->work_end[call->gap_awaits - 1] +
			     host * (double)(call->start_ns - graph->works[call->gap_awaits - 1].end_ns),
		     BY_AWAITED);
	if (call->end_ns == call->start_ns)
		run->call_end[at] = *begin;
}

static void end_call(struct replay_run *run, uint32_t at, const struct replay_change *change, double factor, bool is_usual)
{
	const struct replay_graph *graph = run->graph;
	const struct replay_call *call = &graph->calls[at];
	double ns = (double)(call->awaits ? call->least_ns : call->end_ns - call->start_ns);

	run->call_end[at] = run->call_begin[at] + (change->what == REPLAY_ALL_CALLS && !call->awaits ? ns * factor : ns);
	run->end_cause[at] = BY_ITSELF;
	if (call->awaits && change->what != REPLAY_ALL_WAITS) {
		double wake = (double)(is_usual ? graph->wake_ns : call->end_ns - graph->works[call->awaits - 1].end_ns);
		hold(&run->call_end[at], &run->end_cause[at], run->work_end[call->awaits - 1] + wake, BY_AWAITED);
	}
}

static void run_work(struct replay_run *run, uint32_t at, const struct replay_change *change, double factor, bool is_usual)
{
	const struct replay_graph *graph = run->graph;
	const struct replay_work *work = &graph->works[at];
	double *start = &run->work_start[at];
	uint32_t *cause = &run->work_cause[at];

	*cause = BY_NOTHING;
	*start = (double)work->start_ns;
	if (work->called_ns != TIME_UNKNOWN) {
		double called = work->call ? run->call_begin[work->call - 1] : (double)work->called_ns;
		hold(start, cause, called + (double)(is_usual ? graph->launch_ns : work->launch_ns), BY_CALL);
	}
	if (work->before)
		hold(start, cause, run->work_end[work->before - 1] + (double)(is_usual ? graph->queue_ns : work->queue_ns), BY_QUEUE);
	if (work->other)
		hold(start, cause,
		     run->work_end[work->other - 1] +
			     (double)(is_usual ? graph->queue_ns : work->start_ns - graph->works[work->other - 1].end_ns),
		     BY_OTHER);
	if (*cause != BY_NOTHING && !work->other && !is_usual)
		*start += (double)work->late_ns;
	run->work_end[at] = *start + work_ns(work, change, factor);
}

/* The stretch in which devices did what they were asked for in the steps, behind the end of what was asked for before. */
struct stretch {
	double from, to;
	size_t last; /* place of the work that ended last; SIZE_MAX = none was asked for */
};

static struct stretch device_stretch(const struct replay_run *run)
{
	const struct replay_graph *graph = run->graph;
	struct stretch stretch = {.last = SIZE_MAX};
	double first = 0, before = -1;

	for (size_t i = 0; i < graph->work_count; i++) {
		if (!replay_is_within(graph, &graph->works[i])) {
			before = run->work_end[i] > before ? run->work_end[i] : before;
			continue;
		}
		first = stretch.last == SIZE_MAX || run->work_start[i] < first ? run->work_start[i] : first;
		if (stretch.last == SIZE_MAX || run->work_end[i] > stretch.to) {
			stretch.to = run->work_end[i];
			stretch.last = i;
		}
	}
	stretch.from = before > (double)graph->from_ns ? before : first;
	return stretch;
}

static double host_length(const struct replay_run *run)
{
	return run->call_begin[run->graph->last_mark - 1] - (double)run->graph->from_ns;
}

/* That of the devices where that is longer, else the host's. */
static struct stretch longer_stretch(const struct replay_run *run)
{
	struct stretch device = device_stretch(run);
	double from = (double)run->graph->from_ns;

	return device.to - device.from > host_length(run) ? device : (struct stretch){from, from + host_length(run), SIZE_MAX};
}

double replay_measured(struct replay_run *run)
{
	const struct replay_graph *graph = run->graph;
	struct stretch longer;

	for (size_t i = 0; i < graph->call_count; i++)
		run->call_begin[i] = (double)graph->calls[i].start_ns;
	for (size_t i = 0; i < graph->work_count; i++) {
		run->work_start[i] = (double)graph->works[i].start_ns;
		run->work_end[i] = (double)graph->works[i].end_ns;
	}
	longer = longer_stretch(run);
	run->measured_from = longer.from;
	return longer.to - longer.from;
}

double replay_length(struct replay_run *run, const struct replay_change *change, double factor, bool is_usual)
{
	const struct replay_graph *graph = run->graph;
	struct stretch longer;

	for (size_t i = 0; i < graph->event_count; i++) {
		const struct replay_event *event = &graph->events[i];
		if (event->kind == REPLAY_BEGIN)
			begin_call(run, event->place, change, factor);
		else if (event->kind == REPLAY_END)
			end_call(run, event->place, change, factor, is_usual);
		else
			run_work(run, event->place, change, factor, is_usual);
	}
	longer = longer_stretch(run);
	return longer.to - longer.from;
}

/* On the way back: at the begin or end of a call, of a work; its time. */
struct way {
	const struct replay_run *run;
	enum { AT_CALL_BEGIN, AT_CALL_END, AT_WORK_START, AT_WORK_END } at;
	uint32_t place;
	double until; /* what is told already lies behind */
	double from;
	int64_t measured_until, measured_from; /* the same as it was measured */
	struct number_map places;
	struct replay_step *rows;
	size_t count, room;
	struct replay_piece *pieces;
	size_t piece_count, piece_room;
};

/* What a piece of the way is, and of whom. */
struct told {
	enum replay_part part;
	uint32_t name, op;
	bool is_on_queue;
	uint32_t track;
};

static struct told of_call(enum replay_part part, const struct replay_call *call, uint32_t name)
{
	return (struct told){part, name, call->op, false, call->thread};
}

static struct told of_work(enum replay_part part, const struct replay_work *work)
{
	return (struct told){part, work->name, work->op, true, work->queue};
}

static void put_piece(struct way *way, struct told told, int64_t down_to)
{
	int64_t from = down_to > way->measured_from ? down_to : way->measured_from;

	if (from >= way->measured_until)
		return; /* clocks of devices and hosts differ */
	if (way->piece_count < REPLAY_PIECES_MOST) {
		way->pieces = base_grow(way->pieces, &way->piece_room, way->piece_count + 1, sizeof(*way->pieces));
		way->pieces[way->piece_count++] =
			(struct replay_piece){.part = told.part, .name = told.name, .op = told.op, .is_on_queue = told.is_on_queue,
					      .track = told.track, .start_ns = from, .duration_ns = (uint64_t)(way->measured_until - from)};
	}
	way->measured_until = from;
}

/* Down to a time of the replay, and to that at which it was measured. */
static void tell(struct way *way, struct told told, double down_to, int64_t measured)
{
	double ns = way->until - (down_to > way->from ? down_to : way->from);
	uint64_t key = ((uint64_t)told.part + 1) << 32 | told.name;
	uint32_t place = number_map_find(&way->places, key, told.op);

	put_piece(way, told, measured);
	if (ns <= 0)
		return;
	way->until -= ns;
	if (place == NUMBER_MAP_NONE) {
		place = (uint32_t)way->count;
		way->rows = base_grow(way->rows, &way->room, way->count + 1, sizeof(*way->rows));
		way->rows[way->count++] = (struct replay_step){.part = told.part, .name = told.name, .op = told.op};
		number_map_set(&way->places, key, told.op, place);
	}
	way->rows[place].ns += ns;
	way->rows[place].count++;
}

static void go_to(struct way *way, int at, uint32_t link)
{
	way->at = at;
	way->place = link - 1;
}

/* Each goes one link back; false: there is none. */
static bool leave_call_begin(struct way *way)
{
	const struct replay_run *run = way->run;
	const struct replay_call *calls = run->graph->calls, *call = &calls[way->place];
	const struct replay_work *works = run->graph->works;
	int64_t input;

	switch (run->call_cause[way->place]) {
	case BY_INSIDE:
		go_to(way, AT_CALL_BEGIN, call->before);
		tell(way, of_call(REPLAY_CALL, call, calls[way->place].name), run->call_begin[way->place], calls[way->place].start_ns);
		return true;
	case BY_BEFORE:
		go_to(way, AT_CALL_END, call->before);
		input = call->handed || call->gap_awaits ? 0 : call->input_ns;
		tell(way, of_call(REPLAY_HOST, call, 0), run->call_end[way->place] + (double)input, calls[way->place].end_ns + input);
		tell(way, (struct told){.part = REPLAY_INPUT, .track = call->thread}, run->call_end[way->place], calls[way->place].end_ns);
		return true;
	case BY_HANDED:
		go_to(way, AT_CALL_END, call->handed);
		tell(way, of_call(REPLAY_HOST, call, 0), run->call_end[way->place], calls[way->place].end_ns);
		return true;
	case BY_AWAITED:
		go_to(way, AT_WORK_END, call->gap_awaits);
		tell(way, of_call(REPLAY_WAKE, call, 0), run->work_end[way->place], works[way->place].end_ns);
		return true;
	default:
		return false;
	}
}

static bool leave_call_end(struct way *way)
{
	const struct replay_run *run = way->run;
	const struct replay_call *call = &run->graph->calls[way->place];

	if (call->end_ns > call->start_ns && run->end_cause[way->place] == BY_AWAITED) {
		go_to(way, AT_WORK_END, call->awaits);
		tell(way, of_call(REPLAY_WAKE, call, call->name), run->work_end[way->place], run->graph->works[way->place].end_ns);
		return true;
	}
	tell(way, of_call(REPLAY_CALL, call, call->name), run->call_begin[way->place], call->start_ns);
	way->at = AT_CALL_BEGIN;
	return true;
}

static bool leave_work_start(struct way *way)
{
	const struct replay_run *run = way->run;
	const struct replay_work *works = run->graph->works, *work = &works[way->place];

	if (!work->other)
		tell(way, of_work(REPLAY_LATE, work), run->work_start[way->place] - (double)work->late_ns, work->start_ns - work->late_ns);
	switch (run->work_cause[way->place]) {
	case BY_CALL:
		if (!work->call)
			return false;
		go_to(way, AT_CALL_BEGIN, work->call);
		tell(way, of_work(REPLAY_LAUNCH, work), run->call_begin[way->place], run->graph->calls[way->place].start_ns);
		return true;
	case BY_QUEUE:
	case BY_OTHER:
		go_to(way, AT_WORK_END, run->work_cause[way->place] == BY_QUEUE ? work->before : work->other);
		tell(way, (struct told){.part = REPLAY_QUEUE, .is_on_queue = true, .track = work->queue}, run->work_end[way->place],
		     works[way->place].end_ns);
		return true;
	default:
		return false;
	}
}

static bool go_back(struct way *way)
{
	const struct replay_work *work = &way->run->graph->works[way->place];

	switch (way->at) {
	case AT_CALL_BEGIN:
		return leave_call_begin(way);
	case AT_CALL_END:
		return leave_call_end(way);
	case AT_WORK_END:
		tell(way, of_work(replay_part_of(work), work), way->run->work_start[way->place], work->start_ns);
		way->at = AT_WORK_START;
		return true;
	case AT_WORK_START:
		break;
	}
	return leave_work_start(way);
}

void replay_path(const struct replay_run *run, struct replay_process *process)
{
	const struct replay_graph *graph = run->graph;
	struct stretch longer = longer_stretch(run);
	struct way way = {.run = run, .at = AT_CALL_BEGIN, .place = graph->last_mark - 1, .from = longer.from, .until = longer.to};

	way.measured_until = graph->calls[graph->last_mark - 1].start_ns;
	way.measured_from = (int64_t)run->measured_from;
	if (longer.last != SIZE_MAX) {
		way.at = AT_WORK_END;
		way.place = (uint32_t)longer.last;
		way.measured_until = graph->works[longer.last].end_ns;
	}
	while (way.until > way.from && go_back(&way))
		;
	/* Nothing known comes before. */
	tell(&way, (struct told){.part = REPLAY_LATE, .track = graph->thread}, way.from, way.measured_from);
	number_map_free(&way.places);
	process->path = way.rows;
	process->path_count = way.count;
	process->pieces = way.pieces;
	process->piece_count = way.piece_count;
}

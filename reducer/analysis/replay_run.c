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

static double longer_length(const struct replay_run *run)
{
	struct stretch device = device_stretch(run);

	return host_length(run) > device.to - device.from ? host_length(run) : device.to - device.from;
}

double replay_measured(struct replay_run *run)
{
	const struct replay_graph *graph = run->graph;

	for (size_t i = 0; i < graph->call_count; i++)
		run->call_begin[i] = (double)graph->calls[i].start_ns;
	for (size_t i = 0; i < graph->work_count; i++) {
		run->work_start[i] = (double)graph->works[i].start_ns;
		run->work_end[i] = (double)graph->works[i].end_ns;
	}
	return longer_length(run);
}

double replay_length(struct replay_run *run, const struct replay_change *change, double factor, bool is_usual)
{
	const struct replay_graph *graph = run->graph;

	for (size_t i = 0; i < graph->event_count; i++) {
		const struct replay_event *event = &graph->events[i];
		if (event->kind == REPLAY_BEGIN)
			begin_call(run, event->place, change, factor);
		else if (event->kind == REPLAY_END)
			end_call(run, event->place, change, factor, is_usual);
		else
			run_work(run, event->place, change, factor, is_usual);
	}
	return longer_length(run);
}

/* On the way back: at the begin or end of a call, of a work; its time. */
struct way {
	const struct replay_run *run;
	enum { AT_CALL_BEGIN, AT_CALL_END, AT_WORK_START, AT_WORK_END } at;
	uint32_t place;
	double until; /* what is told already lies behind */
	double from;
	struct number_map places;
	struct replay_step *rows;
	size_t count, room;
};

static void tell(struct way *way, enum replay_part part, uint32_t name, uint32_t op, double down_to)
{
	double ns = way->until - (down_to > way->from ? down_to : way->from);
	uint64_t key = ((uint64_t)part + 1) << 32 | name;
	uint32_t place = number_map_find(&way->places, key, op);

	if (ns <= 0)
		return;
	way->until -= ns;
	if (place == NUMBER_MAP_NONE) {
		place = (uint32_t)way->count;
		way->rows = base_grow(way->rows, &way->room, way->count + 1, sizeof(*way->rows));
		way->rows[way->count++] = (struct replay_step){.part = part, .name = name, .op = op};
		number_map_set(&way->places, key, op, place);
	}
	way->rows[place].ns += ns;
	way->rows[place].count++;
}

/* Each goes one link back; false: there is none. */
static bool leave_call_begin(struct way *way)
{
	const struct replay_run *run = way->run;
	const struct replay_call *call = &run->graph->calls[way->place];
	double input;

	switch (run->call_cause[way->place]) {
	case BY_INSIDE:
		way->place = call->before - 1;
		tell(way, REPLAY_CALL, run->graph->calls[way->place].name, call->op, run->call_begin[way->place]);
		return true;
	case BY_BEFORE:
		input = call->handed || call->gap_awaits ? 0 : (double)call->input_ns;
		tell(way, REPLAY_HOST, 0, call->op, run->call_end[call->before - 1] + input);
		tell(way, REPLAY_INPUT, 0, 0, run->call_end[call->before - 1]);
		way->place = call->before - 1;
		way->at = AT_CALL_END;
		return true;
	case BY_HANDED:
		tell(way, REPLAY_HOST, 0, call->op, run->call_end[call->handed - 1]);
		way->place = call->handed - 1;
		way->at = AT_CALL_END;
		return true;
	case BY_AWAITED:
		tell(way, REPLAY_WAKE, 0, call->op, run->work_end[call->gap_awaits - 1]);
		way->place = call->gap_awaits - 1;
		way->at = AT_WORK_END;
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
		tell(way, REPLAY_WAKE, call->name, call->op, run->work_end[call->awaits - 1]);
		way->place = call->awaits - 1;
		way->at = AT_WORK_END;
		return true;
	}
	tell(way, REPLAY_CALL, call->name, call->op, run->call_begin[way->place]);
	way->at = AT_CALL_BEGIN;
	return true;
}

static bool leave_work_start(struct way *way)
{
	const struct replay_run *run = way->run;
	const struct replay_work *work = &run->graph->works[way->place];

	if (!work->other)
		tell(way, REPLAY_LATE, work->name, work->op, run->work_start[way->place] - (double)work->late_ns);
	switch (run->work_cause[way->place]) {
	case BY_CALL:
		if (!work->call)
			return false;
		tell(way, REPLAY_LAUNCH, work->name, work->op, run->call_begin[work->call - 1]);
		way->place = work->call - 1;
		way->at = AT_CALL_BEGIN;
		return true;
	case BY_QUEUE:
	case BY_OTHER:
		way->place = (run->work_cause[way->place] == BY_QUEUE ? work->before : work->other) - 1;
		tell(way, REPLAY_QUEUE, 0, 0, run->work_end[way->place]);
		way->at = AT_WORK_END;
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
		tell(way, replay_part_of(work), work->name, work->op, way->run->work_start[way->place]);
		way->at = AT_WORK_START;
		return true;
	case AT_WORK_START:
		break;
	}
	return leave_work_start(way);
}

size_t replay_path(const struct replay_run *run, struct replay_step **rows)
{
	const struct replay_graph *graph = run->graph;
	struct stretch device = device_stretch(run);
	struct way way = {.run = run, .at = AT_CALL_BEGIN, .place = graph->last_mark - 1, .from = (double)graph->from_ns};

	way.until = run->call_begin[graph->last_mark - 1];
	if (device.to - device.from > host_length(run)) {
		way.at = AT_WORK_END;
		way.place = (uint32_t)device.last;
		way.until = device.to;
		way.from = device.from;
	}
	while (way.until > way.from && go_back(&way))
		;
	tell(&way, REPLAY_LATE, 0, 0, way.from); /* what nothing known comes before */
	number_map_free(&way.places);
	*rows = way.rows;
	return way.count;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What waited for what; see reducer/analysis/replay_graph.h. */
#include "reducer/analysis/replay_graph.h"

#include "reducer/model/number_map.h"
#include "reducer/model/run.h"
#include "reducer/model/spans.h"

#include <stdlib.h>
#include <string.h>

#define LATE_LEAST_NS 2000	   /* what a work may be late for no reason */
#define OTHER_NEAR_NS 10000	   /* so soon behind the end of another queue's work one begins that waited for it */
#define AWAIT_NEAR_NS 20000	   /* so soon behind the end of a work a call returns that waited for it, if nothing says that it waits */
#define AWAIT_TIMES 5		   /* and that many times as long as such calls take */
#define GAP_LEAST_NS 200000	   /* a thread that waits for a device without a call */
#define GAP_NEAR_NS 100000
#define TURN_CALLS 3		   /* of another thread in a gap, over half of it: the gap's thread waited for it */
#define THREADS_MOST 64
#define LOOK_BACK 64
#define DELAYS_MOST 4096	   /* of each kind, for their median */
#define LAUNCH_USUAL_NS 5000
#define QUEUE_USUAL_NS 1000

static int by_call_start(const void *a, const void *b)
{
	const struct replay_call *one = a, *other = b;

	if (one->start_ns != other->start_ns)
		return one->start_ns < other->start_ns ? -1 : 1;
	if (one->end_ns != other->end_ns)
		return one->end_ns > other->end_ns ? -1 : 1;
	if (one->thread != other->thread)
		return one->thread < other->thread ? -1 : 1;
	return one->flow < other->flow ? -1 : one->flow > other->flow;
}

static int by_work_start(const void *a, const void *b)
{
	const struct replay_work *one = a, *other = b;

	if (one->start_ns != other->start_ns)
		return one->start_ns < other->start_ns ? -1 : 1;
	if (one->end_ns != other->end_ns)
		return one->end_ns < other->end_ns ? -1 : 1;
	if (one->queue != other->queue)
		return one->queue < other->queue ? -1 : 1;
	return one->flow < other->flow ? -1 : one->flow > other->flow;
}

static int by_time(const void *a, const void *b)
{
	const struct replay_event *one = a, *other = b;

	if (one->time_ns != other->time_ns)
		return one->time_ns < other->time_ns ? -1 : 1;
	if (one->kind != other->kind)
		return one->kind < other->kind ? -1 : 1;
	return one->place < other->place ? -1 : one->place > other->place;
}

/* What each thread did last, and what the others did since. */
struct turns {
	uint32_t serials[THREADS_MOST];
	uint32_t last[THREADS_MOST]; /* link */
	struct turn {
		uint32_t calls, last;	  /* link */
		bool has_mark;
		int64_t start_ns, end_ns; /* of the first, of the last */
	} since[THREADS_MOST][THREADS_MOST];
	struct turn all[THREADS_MOST]; /* since the steps began */
	size_t count;
};

static size_t thread_place(struct turns *turns, uint32_t serial)
{
	size_t place = 0;

	while (place < turns->count && turns->serials[place] != serial)
		place++;
	if (place == turns->count && turns->count < THREADS_MOST)
		turns->serials[turns->count++] = serial;
	return place;
}

/* The call of another thread that this one waited for since its last call; 0 = none. */
static uint32_t handed_by(const struct replay_graph *graph, const struct turns *turns, size_t at, const struct replay_call *call)
{
	int64_t from = turns->last[at] ? graph->calls[turns->last[at] - 1].end_ns : graph->from_ns, last = INT64_MIN;
	uint32_t handed = 0;

	for (size_t other = 0; other < turns->count; other++) {
		const struct turn *turn = turns->last[at] ? &turns->since[at][other] : &turns->all[other];
		bool is_turn = turn->calls >= TURN_CALLS && 2 * (turn->end_ns - turn->start_ns) > call->start_ns - from;
		is_turn |= turns->last[at] && turn->has_mark;
		if (turn->calls && is_turn && turn->end_ns <= call->start_ns && turn->end_ns > last) {
			handed = turn->last;
			last = turn->end_ns;
		}
	}
	return handed;
}

static void add_to_turn(struct turn *turn, const struct replay_call *call, uint32_t link)
{
	if (!turn->calls)
		turn->start_ns = call->start_ns;
	turn->calls++;
	turn->has_mark |= call->is_mark;
	turn->end_ns = call->end_ns;
	turn->last = link;
}

/* A thread that asks again and again whether something is over hands on nothing: what starts work or waits for it does, and a mark. */
static void note_turn(const struct replay_graph *graph, struct turns *turns, size_t at, const struct replay_call *call, uint32_t link)
{
	bool is_work = call->is_mark || (call->kind >= GPU_LAUNCH && call->kind <= GPU_GRAPH) || call->kind == GPU_SYNC;

	for (size_t other = 0; other < turns->count && is_work; other++)
		if (other != at)
			add_to_turn(&turns->since[other][at], call, link);
	if (is_work)
		add_to_turn(&turns->all[at], call, link);
	memset(turns->since[at], 0, sizeof(turns->since[at]));
	if (!call->before || graph->calls[call->before - 1].end_ns <= call->end_ns)
		turns->last[at] = link; /* else it is a mark inside that one */
}

/*
 * The first call of a thread is handed on by another that waits for it, as long as it has its turn: one that goes on making calls meanwhile
 * gave nothing away.
 */
static void take_back_turns(struct replay_graph *graph)
{
	for (size_t i = 0; i < graph->call_count; i++) {
		struct replay_call *call = &graph->calls[i];
		uint32_t other = call->handed ? graph->calls[call->handed - 1].thread : 0;
		size_t calls = 0;
		if (!call->handed || call->before)
			continue;
		for (size_t k = i; k < graph->call_count && graph->calls[k].thread != other; k++)
			calls += graph->calls[k].thread == call->thread;
		if (calls < TURN_CALLS)
			call->handed = 0;
	}
	for (size_t i = 0; i < graph->call_count; i++)
		graph->guessed_turns += graph->calls[i].handed != 0;
}

/* Of each thread the outermost calls, in order; `flows` knows the ids of all. */
static void link_calls(struct replay_graph *graph, struct number_map *flows)
{
	struct turns *turns = base_alloc(1, sizeof(*turns));
	size_t kept = 0;

	if (graph->call_count)
		qsort(graph->calls, graph->call_count, sizeof(*graph->calls), by_call_start);
	for (size_t i = 0; i < graph->call_count; i++) {
		struct replay_call *call = &graph->calls[kept];
		size_t at;
		*call = graph->calls[i];
		at = thread_place(turns, call->thread);
		if (at == THREADS_MOST) {
			graph->unfollowed++;
			continue;
		}
		call->before = turns->last[at];
		if (call->before && call->end_ns <= graph->calls[call->before - 1].end_ns && !call->is_mark) {
			number_map_set(flows, 1, call->flow, call->before - 1);
			continue; /* inside that one */
		}
		call->handed = handed_by(graph, turns, at, call);
		if (call->flow)
			number_map_set(flows, 1, call->flow, (uint32_t)kept);
		note_turn(graph, turns, at, call, (uint32_t)++kept);
		if (call->is_mark && call->start_ns == graph->to_ns)
			graph->last_mark = (uint32_t)kept;
	}
	graph->call_count = kept;
	free(turns);
	take_back_turns(graph);
}

/* Delays of one kind, some of all. */
struct delays {
	double *items;
	size_t count, room;
	int64_t middle_ns;
};

static void note_delay(struct delays *delays, int64_t ns)
{
	if (delays->count >= DELAYS_MOST)
		return;
	delays->items = base_grow(delays->items, &delays->room, delays->count + 1, sizeof(*delays->items));
	delays->items[delays->count++] = (double)ns;
}

/* `per_cent` of them are shorter. */
static int64_t usual_delay(struct delays *delays, unsigned per_cent, int64_t otherwise)
{
	if (!delays->count)
		return otherwise;
	base_median(delays->items, delays->count); /* sorts them */
	return (int64_t)delays->items[delays->count * per_cent / 100];
}

/* The work before it in its queue; where several run at once there, the last that was over. */
static uint32_t before_in_queue(const struct replay_graph *graph, uint32_t last, int64_t start_ns)
{
	for (int steps = 0; last && steps < LOOK_BACK; steps++) {
		if (graph->works[last - 1].end_ns <= start_ns)
			return last;
		last = graph->works[last - 1].before;
	}
	return 0;
}

static void link_works(struct replay_graph *graph, const struct number_map *flows)
{
	struct number_map queues = {0};
	struct delays launch = {0}, queue = {0};

	if (graph->work_count)
		qsort(graph->works, graph->work_count, sizeof(*graph->works), by_work_start);
	for (size_t i = 0; i < graph->work_count; i++) {
		struct replay_work *work = &graph->works[i];
		uint32_t last = number_map_find(&queues, 0, work->queue), call = number_map_find(flows, 1, work->flow);
		work->before = before_in_queue(graph, last == NUMBER_MAP_NONE ? 0 : last, work->start_ns);
		if (work->flow && call != NUMBER_MAP_NONE) {
			work->call = call + 1;
			work->called_ns = graph->calls[call].start_ns; /* of what it is a part of */
		}
		number_map_set(&queues, 0, work->queue, (uint32_t)i + 1);
		if (work->called_ns == TIME_UNKNOWN)
			continue;
		int64_t free_ns = work->before ? graph->works[work->before - 1].end_ns : INT64_MIN;
		if (free_ns <= work->called_ns)
			note_delay(&launch, work->start_ns - work->called_ns);
		else if (free_ns - work->called_ns > 2 * LAUNCH_USUAL_NS)
			note_delay(&queue, work->start_ns - free_ns);
	}
	/* Some waited for more than their call, or the work before them: the median would be theirs where they are many. */
	graph->launch_ns = usual_delay(&launch, 25, LAUNCH_USUAL_NS);
	graph->queue_ns = usual_delay(&queue, 25, QUEUE_USUAL_NS);
	number_map_free(&queues);
	free(launch.items);
	free(queue.items);
}

static int64_t least(int64_t one, int64_t other)
{
	return one < other ? one : other;
}

/* When the work could have begun, by what it is linked to. */
static int64_t earliest_ns(const struct replay_graph *graph, const struct replay_work *work)
{
	int64_t called = work->called_ns == TIME_UNKNOWN ? INT64_MIN : work->called_ns + work->launch_ns;
	int64_t queue = work->before ? graph->works[work->before - 1].end_ns + work->queue_ns : INT64_MIN;

	return called > queue ? called : queue;
}

/* Works by when they ended: places, and for a time how many ended by then. */
struct ends {
	const struct replay_graph *graph;
	uint32_t *places;
};

static int by_end(const void *a, const void *b, void *context)
{
	const struct replay_work *works = context;
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	if (works[one].end_ns != works[other].end_ns)
		return works[one].end_ns < works[other].end_ns ? -1 : 1;
	return one < other ? -1 : one > other;
}

static bool is_over_before(const void *context, size_t i, uint64_t key)
{
	const struct ends *ends = context;

	return ends->graph->works[ends->places[i]].end_ns <= (int64_t)key;
}

static size_t over_by(const struct ends *ends, int64_t time_ns)
{
	return base_count_before(ends, ends->graph->work_count, (uint64_t)time_ns, is_over_before);
}

static void explain_works(struct replay_graph *graph, const struct ends *ends)
{
	for (size_t i = 0; i < graph->work_count; i++) {
		struct replay_work *work = &graph->works[i];
		int64_t earliest;
		if (work->called_ns != TIME_UNKNOWN)
			work->launch_ns = least(graph->launch_ns, work->start_ns - work->called_ns);
		if (work->before)
			work->queue_ns = least(graph->queue_ns, work->start_ns - graph->works[work->before - 1].end_ns);
		earliest = earliest_ns(graph, work);
		if (earliest == INT64_MIN)
			continue; /* nothing is known: it is where it was */
		work->late_ns = work->start_ns - earliest;
		if (work->late_ns < LATE_LEAST_NS)
			continue;
		for (size_t k = over_by(ends, work->start_ns), seen = 0; k-- > 0 && seen < LOOK_BACK && !work->other; seen++) {
			const struct replay_work *last = &graph->works[ends->places[k]];
			if (last->end_ns < earliest || last->end_ns < work->start_ns - OTHER_NEAR_NS)
				break;
			if (last->queue != work->queue && last->start_ns < work->start_ns)
				work->other = ends->places[k] + 1;
		}
		graph->guessed_orders += work->other != 0;
	}
}

enum whose { OF_ALL, OF_CALL };

/* The last work that ended in that time and was asked for before it, or by that call itself (OF_CALL: by it alone); 0 = none. */
static uint32_t ended_within(const struct ends *ends, int64_t from_ns, int64_t to_ns, uint32_t call, enum whose whose)
{
	const struct replay_graph *graph = ends->graph;

	for (size_t k = over_by(ends, to_ns), seen = 0; k-- > 0 && seen < LOOK_BACK; seen++) {
		const struct replay_work *work = &graph->works[ends->places[k]];
		if (work->end_ns <= from_ns)
			return 0;
		if ((call && work->call == call) ||
		    (whose == OF_ALL && work->called_ns != TIME_UNKNOWN && work->called_ns < from_ns))
			return ends->places[k] + 1;
	}
	return 0;
}

/* Whether work of another queue ended so soon before this one, within that time, that it may be the one that was waited for. */
static bool is_one_of_many(const struct ends *ends, int64_t from_ns, uint32_t work)
{
	const struct replay_work *last = &ends->graph->works[work - 1];
	size_t seen = 0;

	for (size_t k = over_by(ends, last->end_ns); k-- > 0 && seen < LOOK_BACK; seen++) {
		const struct replay_work *other = &ends->graph->works[ends->places[k]];
		if (other->end_ns <= from_ns || other->end_ns < last->end_ns - AWAIT_NEAR_NS)
			return false;
		if (other->queue != last->queue)
			return true;
	}
	return false;
}

/* How long calls of a name take, some of them. */
struct usual {
	struct number_map places; /* by name */
	struct delays *items;
	size_t count, room;
};

static struct delays *usual_of(struct usual *usual, uint32_t name)
{
	uint32_t place = number_map_find(&usual->places, 0, name);

	if (place == NUMBER_MAP_NONE) {
		place = (uint32_t)usual->count;
		usual->items = base_grow(usual->items, &usual->room, usual->count + 1, sizeof(*usual->items));
		usual->items[usual->count++] = (struct delays){0};
		number_map_set(&usual->places, 0, name, place);
	}
	return &usual->items[place];
}

static void find_usual(const struct replay_graph *graph, struct usual *usual)
{
	for (size_t i = 0; i < graph->call_count; i++)
		note_delay(usual_of(usual, graph->calls[i].name), graph->calls[i].end_ns - graph->calls[i].start_ns);
	for (size_t i = 0; i < usual->count; i++)
		usual->items[i].middle_ns = usual_delay(&usual->items[i], 50, 0);
}

/*
 * What a call waited for: one that is made to wait for what ended last in it; a copy for itself, where it ended in the call; any other one,
 * which took far longer than such calls do, for what ended just before it returned. 0 = nothing.
 */
static uint32_t awaited_by(const struct replay_graph *graph, const struct ends *ends, size_t at, int64_t middle_ns)
{
	const struct replay_call *call = &graph->calls[at];
	int64_t ns = call->end_ns - call->start_ns;
	uint32_t work = 0;

	if (call->kind == GPU_SYNC)
		return ended_within(ends, call->start_ns, call->end_ns, (uint32_t)at + 1, OF_ALL);
	if (call->kind == GPU_COPY)
		work = ended_within(ends, call->start_ns, call->end_ns, (uint32_t)at + 1, OF_CALL);
	if (work || ns < AWAIT_NEAR_NS || ns < AWAIT_TIMES * middle_ns)
		return work;
	work = ended_within(ends, call->start_ns, call->end_ns, (uint32_t)at + 1, OF_ALL);
	return work && call->end_ns - graph->works[work - 1].end_ns <= AWAIT_NEAR_NS ? work : 0;
}

static void find_awaited(struct replay_graph *graph, const struct ends *ends)
{
	struct usual usual = {0};
	struct delays wake = {0};

	find_usual(graph, &usual);
	for (size_t i = 0; i < graph->call_count; i++) {
		struct replay_call *call = &graph->calls[i];
		int64_t middle = usual_of(&usual, call->name)->middle_ns;
		uint32_t work = call->is_mark ? 0 : awaited_by(graph, ends, i, middle);
		int64_t woken;
		if (!work)
			continue;
		woken = call->end_ns - graph->works[work - 1].end_ns;
		call->awaits = work;
		call->least_ns = call->kind == GPU_SYNC || call->kind == GPU_COPY ? woken : least(middle, call->end_ns - call->start_ns);
		note_delay(&wake, woken);
		graph->waits++;
		graph->guessed_streams += call->kind == GPU_SYNC && is_one_of_many(ends, call->start_ns, work);
	}
	graph->wake_ns = usual_delay(&wake, 50, 0);
	number_map_free(&usual.places);
	for (size_t i = 0; i < usual.count; i++)
		free(usual.items[i].items);
	free(usual.items);
	free(wake.items);
}

/* Where no call says that somebody waits: a thread that goes on soon after devices have done all that was asked of them. */
static void guess_awaited(struct replay_graph *graph, const struct ends *ends)
{
	for (size_t i = 0; i < graph->call_count && graph->waits == 0; i++) {
		struct replay_call *call = &graph->calls[i];
		uint32_t last = call->handed ? call->handed : call->before;
		int64_t from = last ? graph->calls[last - 1].end_ns : graph->from_ns, gap = call->start_ns - from;
		size_t over = over_by(ends, call->start_ns);
		uint32_t work = gap < GAP_LEAST_NS ? 0 : ended_within(ends, from, call->start_ns, 0, OF_ALL);
		if (!work || call->start_ns - graph->works[work - 1].end_ns > least(GAP_NEAR_NS, gap / 4))
			continue;
		while (over < graph->work_count && graph->works[ends->places[over]].called_ns >= call->start_ns)
			over++;
		if (over < graph->work_count && graph->works[ends->places[over]].start_ns < call->start_ns)
			continue; /* one was still running */
		call->gap_awaits = work;
		graph->guessed_waits++;
	}
}

static void put_event(struct replay_graph *graph, int64_t time_ns, enum replay_kind kind, size_t place)
{
	graph->events[graph->event_count++] = (struct replay_event){time_ns, kind, (uint32_t)place};
}

/* When a work comes in the replay: when it began, but not before what it is linked to, where clocks disagree. */
static void time_works(const struct replay_graph *graph, int64_t *times)
{
	for (size_t i = 0; i < graph->work_count; i++) {
		const struct replay_work *work = &graph->works[i];
		times[i] = work->start_ns;
		if (work->call && graph->calls[work->call - 1].start_ns >= times[i])
			times[i] = graph->calls[work->call - 1].start_ns + 1;
		if (work->before && times[work->before - 1] > times[i])
			times[i] = times[work->before - 1];
		if (work->other && times[work->other - 1] > times[i])
			times[i] = times[work->other - 1];
	}
}

static void order_events(struct replay_graph *graph)
{
	int64_t *times = base_alloc(graph->work_count + 1, sizeof(*times));

	time_works(graph, times);
	graph->events = base_alloc(2 * graph->call_count + graph->work_count + 1, sizeof(*graph->events));
	for (size_t i = 0; i < graph->call_count; i++) {
		struct replay_call *call = &graph->calls[i];
		if (call->awaits && times[call->awaits - 1] > call->end_ns)
			call->awaits = 0;
		if (call->gap_awaits && times[call->gap_awaits - 1] > call->start_ns)
			call->gap_awaits = 0;
		put_event(graph, call->start_ns, REPLAY_BEGIN, i);
		if (call->end_ns > call->start_ns)
			put_event(graph, call->end_ns, REPLAY_END, i);
	}
	for (size_t i = 0; i < graph->work_count; i++)
		put_event(graph, times[i], REPLAY_WORK, i);
	qsort(graph->events, graph->event_count, sizeof(*graph->events), by_time);
	free(times);
}

bool replay_link(struct replay_graph *graph)
{
	struct number_map flows = {0};
	struct ends ends = {.graph = graph, .places = base_alloc(graph->work_count + 1, sizeof(*ends.places))};

	link_calls(graph, &flows);
	link_works(graph, &flows);
	number_map_free(&flows);
	for (size_t i = 0; i < graph->work_count; i++)
		ends.places[i] = (uint32_t)i;
	if (graph->work_count)
		qsort_r(ends.places, graph->work_count, sizeof(*ends.places), by_end, graph->works);
	explain_works(graph, &ends);
	find_awaited(graph, &ends);
	guess_awaited(graph, &ends);
	free(ends.places);
	order_events(graph);
	return graph->last_mark && graph->work_count;
}

enum replay_part replay_part_of(const struct replay_work *work)
{
	switch (work->what) {
	case SPAN_KERNEL:
		return REPLAY_KERNEL;
	case SPAN_SET:
		return REPLAY_SET;
	case SPAN_GRAPH:
		return REPLAY_GRAPH;
	default:
		return REPLAY_COPY;
	}
}

void replay_graph_free(struct replay_graph *graph)
{
	free(graph->calls);
	free(graph->works);
	free(graph->events);
	*graph = (struct replay_graph){0};
}

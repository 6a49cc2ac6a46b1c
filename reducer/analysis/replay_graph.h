/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Some steps as a graph: what each call of the host and each piece of device work had to wait for. Private to replay.c.
 *
 * Rule: of what nothing records why it waited, the likeliest is taken, and counted; replayed with the delays that were measured the
 * graph gives the measured times. Links are places + 1 in `calls` or `works`, 0 = none; what is linked to comes earlier.
 */
#ifndef REDUCER_ANALYSIS_REPLAY_GRAPH_H
#define REDUCER_ANALYSIS_REPLAY_GRAPH_H

#include "reducer/analysis/replay.h"
#include "reducer/base/base.h"
#include "reducer/model/gpu.h"

/* Of a thread; what a call makes inside itself is a part of it. */
struct replay_call {
	int64_t start_ns, end_ns;
	int64_t input_ns;	/* of the time since the call before it on its thread: waiting for input */
	int64_t least_ns;	/* of one that waits for a device: what it takes where nothing is left to wait for */
	uint64_t flow;		/* correlation id, 0 = none */
	uint32_t name, op;	/* numbers of the caller's words */
	uint32_t thread;	/* serial */
	uint32_t before;	/* link: the call before it on its thread; a mark may lie in that one, calls may overlap */
	uint32_t handed;	/* link: the last call of another thread that took its turn since then: it waited for that one */
	uint32_t gap_awaits;	/* link: work whose end the thread waited for before the call, in no call that says so */
	uint32_t awaits;	/* link: work whose end the call waited for */
	enum gpu_kind kind;
	bool is_mark; /* no call, a step begins */
};

struct replay_work {
	int64_t start_ns, end_ns;
	int64_t called_ns;	/* of `call` the begin; TIME_UNKNOWN = by no call that is known */
	uint64_t flow;
	uint32_t name, op;
	uint32_t queue;
	uint32_t call;		/* link: that started it; 0 = made before the steps, or not known */
	uint32_t before;	/* link: the work before it in its queue */
	uint32_t other;		/* link: work of another queue that it waited for, inferred */
	uint8_t what;		/* enum span_what */
	uint8_t is_collective;
	int64_t launch_ns; /* least delay behind the call, as far as it held here; below 0 where clocks disagree */
	int64_t queue_ns;  /* likewise behind the work before it */
	int64_t late_ns;	/* what no link explains */
};

/* An instant of the replay, in the order in which they happened. */
enum replay_kind { REPLAY_WORK, REPLAY_END, REPLAY_BEGIN };
struct replay_event {
	int64_t time_ns;
	uint32_t kind, place;
};

struct replay_graph {
	struct replay_call *calls;
	struct replay_work *works;
	size_t call_count, call_room, work_count, work_room;
	struct replay_event *events;
	size_t event_count;
	int64_t from_ns, to_ns; /* from the mark of the first step to that behind the last */
	uint32_t thread;	/* that marks them */
	uint32_t last_mark;	/* link: of to_ns */
	/* Usual delays: of a call until its work begins, between two works, of a work's end until the call that waited returns. */
	int64_t launch_ns, queue_ns, wake_ns;
	uint64_t waits, guessed_waits; /* of calls for devices; of threads in no call */
	uint64_t guessed_turns;	  /* calls that waited for another thread's */
	uint64_t guessed_streams; /* of calls: work of more than one queue ended just before they returned */
	uint64_t unfollowed; /* calls of more threads than are followed */
	uint64_t guessed_orders; /* works taken to have waited for another queue */
};

/* Puts in order and links what stands in `calls`, `works`, `from_ns`, `to_ns`, `thread`. False: no mark or no work is among them. */
bool replay_link(struct replay_graph *graph);

/* Whether a work was asked for in the steps; one that no known call asked for: whether it began in them. */
static inline bool replay_is_within(const struct replay_graph *graph, const struct replay_work *work)
{
	int64_t asked = work->called_ns == TIME_UNKNOWN ? work->start_ns : work->called_ns;

	return asked >= graph->from_ns && asked < graph->to_ns;
}

enum replay_part replay_part_of(const struct replay_work *work);
void replay_graph_free(struct replay_graph *graph);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the analysis of steps knows while the spans pass: which unit a time lies in. Rule: for the files steps*.c alone. */
#ifndef REDUCER_ANALYSIS_STEPS_PASS_H
#define REDUCER_ANALYSIS_STEPS_PASS_H

#include "reducer/analysis/steps.h"
#include "reducer/model/number_map.h"

#define DEVICES_MOST 16 /* devices whose first and last work is kept apart; further ones share the last place */

/* Units of one thread: from `from` to below `to`; `hints`: where the last one was found, of hosts and of devices, which are behind. */
enum { HINT_HOST, HINT_DEVICE, HINT_PASSES, HINTS };
struct lane {
	size_t from, to, hints[HINTS];
};

#define LANES_TOGETHER 64u

/* When their units are. */
struct lane_times {
	int64_t from_ns, to_ns;
};

struct steps_pass {
	const struct analysis_input *input;
	struct units units;
	struct parts parts;
	struct looked_pass looked;
	struct lane *lanes; /* by thread */
	size_t lane_count, lane_room;
	struct lane_times *lane_times; /* of each LANES_TOGETHER lanes */
	uint64_t *functions;	      /* by unit: of TensorFlow's function that it is a call of, a hash; 0 = none was seen */
	struct waiting **waiting;     /* by unit; NULL = nothing came yet, or is settled */
	bool *is_settled;	      /* by unit */
	size_t pending;		      /* intervals in all */
	size_t oldest;		      /* first unit that may not be settled */
	size_t last_of[DEVICES_MOST]; /* unit of the work before, by device; SIZE_MAX = none */
	bool is_span;
	struct number_map given; /* with is_span: number + 1 of a unit -> its place, of equal ones the last */
};

/*
 * The first lane from `lane` on that may have a unit in these times (a moment: from_ns = to_ns); lane_count = none. A server with a thread
 * for each request has as many lanes as those: such as live at other times, which are neighbours, are passed over together.
 */
static inline size_t steps_lane_at(const struct steps_pass *pass, size_t lane, int64_t from_ns, int64_t to_ns)
{
	for (; lane < pass->lane_count; lane = (lane / LANES_TOGETHER + 1) * LANES_TOGETHER) {
		const struct lane_times *times = &pass->lane_times[lane / LANES_TOGETHER];
		if (from_ns < times->to_ns && to_ns >= times->from_ns)
			return lane;
	}
	return pass->lane_count;
}

/* The lane of a thread; lane_count = it has no units. */
static inline size_t steps_lane_of(const struct steps_pass *pass, uint32_t thread)
{
	size_t low = 0, high = pass->lane_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (pass->units.items[pass->lanes[middle].from].thread < thread)
			low = middle + 1;
		else
			high = middle;
	}
	return low < pass->lane_count && pass->units.items[pass->lanes[low].from].thread == thread ? low : pass->lane_count;
}

/* The last unit of a lane that begins by then; SIZE_MAX = none does. */
static inline size_t steps_find_unit(const struct steps_pass *pass, struct lane *lane, unsigned hints, int64_t time_ns)
{
	const struct unit *units = pass->units.items;
	size_t low = lane->from, high = lane->to, *hint = &lane->hints[hints];

	/* Most spans are of the unit of the one before, or of the next. */
	for (size_t at = *hint; at < lane->to && at <= *hint + 1 && units[at].start_ns <= time_ns; at++)
		if (at + 1 == lane->to || units[at + 1].start_ns > time_ns)
			return *hint = at;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (units[middle].start_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == lane->from)
		return SIZE_MAX;
	return *hint = low - 1;
}

/* What no sweep adds up: the function of TensorFlow that a unit calls, its arithmetic, the edges of its passes. */
void steps_note_function(struct steps_pass *pass, const struct span *span);
void steps_add_flops(struct steps *steps, const struct span *span);
/* `mask`: of the span that it is like, with a bit of PASS_CLASSES. */
void steps_add_edges(struct steps *steps, const struct span_again *again, uint32_t mask);

#endif

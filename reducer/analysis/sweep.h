/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From intervals of several classes, in any order, to the stretches of time in which the same classes are active.
 *
 * Rule: an interval has a set of classes (bits of a mask); a stretch is told once, in the order of time, with every class of
 * which an interval covers it. Nothing is told of what was told before: what comes later for it is counted as late.
 */
#ifndef REDUCER_ANALYSIS_SWEEP_H
#define REDUCER_ANALYSIS_SWEEP_H

#include "reducer/base/base.h"

#define SWEEP_CLASSES 32

struct sweep_interval {
	int64_t start_ns, end_ns;
	uint32_t mask;
};

/*
 * Intervals that begin one after the other. Work of one thread or queue comes in order, of several in turn, and of a device in
 * long pieces behind its calls: each finds a run of its own, and nothing needs sorting.
 */
struct sweep_run {
	struct sweep_interval *items;
	size_t count, room;
	int64_t end_ns; /* the greatest end */
	bool is_mixed;	/* out of order: nothing fitted and there were too many runs */
	bool overlaps;	/* one began before another had ended */
};
#define SWEEP_RUNS 32

/* Start from {.told_ns = INT64_MIN}. */
struct sweep {
	struct sweep_run *runs;
	size_t run_count, run_room;
	size_t count;	  /* intervals in all */
	uint8_t recent[4]; /* by lowest class modulo 4: the run that got one last */
	int64_t told_ns;  /* all before it was told */
	uint64_t late_ns; /* of intervals that came for it afterwards */
	uint64_t steps;	  /* of work: intervals and heads of runs that were looked at, for the test of its growth */
};

/* A stretch in which something is active. */
typedef void sweep_tell(void *context, int64_t from_ns, int64_t to_ns, uint32_t mask);

/* The part of sweep_add for what does not simply follow the interval before it. */
void sweep_add_any(struct sweep *sweep, int64_t start_ns, int64_t end_ns, uint32_t mask);

/* An interval in which the classes of `mask`, which is not 0, are active. */
static inline void sweep_add(struct sweep *sweep, int64_t start_ns, int64_t end_ns, uint32_t mask)
{
	size_t place = sweep->recent[(unsigned)__builtin_ctz(mask) % 4];
	struct sweep_run *run = place < sweep->run_count ? &sweep->runs[place] : NULL;

	/* Most begin behind the end of the one before of their class; count - 1 < room - 1: it is neither 0 nor the room. */
	if (!run || run->end_ns >= start_ns || start_ns >= end_ns || start_ns < sweep->told_ns ||
	    run->is_mixed || run->count - 1 >= run->room - 1) {
		sweep_add_any(sweep, start_ns, end_ns, mask);
		return;
	}
	run->end_ns = end_ns;
	run->items[run->count++] = (struct sweep_interval){start_ns, end_ns, mask};
	sweep->count++;
}

/* Tells all up to that time and keeps the rest. */
void sweep_flush(struct sweep *sweep, int64_t until_ns, sweep_tell *tell, void *context);

/* How long just these classes were active, in stretches that are not told apart. */
typedef void sweep_add_up(void *context, uint64_t ns, uint32_t mask);

/* Of what sweep_flush would tell the sums, of what lies in [from_ns, to_ns): of a mask in one piece or in several. */
void sweep_sum(struct sweep *sweep, int64_t until_ns, int64_t from_ns, int64_t to_ns, sweep_add_up *add, void *context);
/* The time before which half of the intervals begin: a fair place to flush to. */
int64_t sweep_middle(struct sweep *sweep);
void sweep_free(struct sweep *sweep);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ticks to nanoseconds: piecewise linear through the bracketed clock readings. Private to the model.
 *
 * Rule: one map for all processes that share a counter (same boot, same kind of clock), so that their times compare to
 * the tick; maps of different machines are joined by CLOCK_REALTIME and are only as good as its synchronisation.
 */
#ifndef REDUCER_MODEL_CLOCK_H
#define REDUCER_MODEL_CLOCK_H

#include "reducer/read/log.h"
#include "writer/format.h"

#include <stddef.h>
#include <stdint.h>

struct clock_knot {
	uint64_t ticks, ns; /* absolute counter, CLOCK_MONOTONIC_RAW */
};

struct clock_map {
	uint8_t boot_id[16];
	uint32_t kind;
	struct clock_knot *knots; /* after clock_settle: by ticks, at least CLOCK_APART_NS apart */
	size_t count, capacity;
	double ns_per_tick;       /* mean; before the first and behind the last knot */
	double first_ns;          /* of first_ticks behind knot 0, once settled */
	double knots_per_tick;    /* on average, once settled */
	uint64_t first_ticks;     /* earliest origin of a process; its time is first_realtime_ns */
	uint64_t first_realtime_ns;
	int64_t offset_ns;        /* of first_ticks from the run's start */
	uint64_t clock_hz;        /* as a process measured it; 0 = none */
};

/* Closer readings say nothing about the slope: each is only exact to some 50 ns. 100 ms apart that is 1 in a million. */
#define CLOCK_APART_NS 100000000u

/* Adds a reading. Returns -1 without memory. */
int clock_add(struct clock_map *map, uint64_t ticks, uint64_t raw_ns);

/*
 * Whether the process of this log has the clock of those that use the map: in a time namespace of its own (a container that was restored,
 * unshare -T) CLOCK_MONOTONIC_RAW says something else beside the same counter.
 */
int clock_fits(const struct clock_map *map, const struct log *log);

/* The process of this log uses the map. */
int clock_add_origin(struct clock_map *map, const struct log *log);

/*
 * A map for the pass over one process: knows its origin, and from then on its own readings. In the scale of `shared`, which is
 * settled. Returns -1 without memory.
 */
int clock_begin_own(struct clock_map *own, const struct clock_map *shared, const struct tfp_file_header *header);

/* Adds the readings of such a map, while there is room. */
void clock_join(struct clock_map *shared, const struct clock_map *own);

/* Sorts and thins the knots and computes the mean slope. Call again after more readings. */
void clock_settle(struct clock_map *map);

/* ns since the run's start of an absolute counter value. */
int64_t clock_ns(const struct clock_map *map, uint64_t ticks);

/* The stretch between two knots of a settled map in which one asked last: who asks for many times keeps one. Start from {0}. */
struct clock_near {
	uint64_t from, length; /* ticks */
	double base, rise, run;	/* ns behind knot 0 at `from`; it rises by that much while so many ticks run */
};

/* Makes `near` the stretch of that time; where it stays empty clock_ns must be asked. */
void clock_near_find(const struct clock_map *map, struct clock_near *near, uint64_t ticks);

/* The same as clock_ns. */
static inline int64_t clock_ns_near(const struct clock_map *map, struct clock_near *near, uint64_t ticks)
{
	double ns;

	if (ticks - near->from >= near->length)
		clock_near_find(map, near, ticks);
	if (near->length == 0)
		return clock_ns(map, ticks);
	ns = near->base + (double)(ticks - near->from) * near->rise / near->run - map->first_ns;
	return map->offset_ns + (int64_t)(ns + (ns < 0 ? -0.5 : 0.5));
}

void clock_free(struct clock_map *map);

#endif

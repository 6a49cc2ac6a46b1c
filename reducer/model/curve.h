/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A live curve while it grows: stretches of equal width, widened whenever there are too many. Private to the model.
 *
 * Rule: bounded memory whatever the length of the log; no maximum is ever lost. Times are ticks since origin.
 */
#ifndef REDUCER_MODEL_CURVE_H
#define REDUCER_MODEL_CURVE_H

#include <stddef.h>
#include <stdint.h>

struct curve_point {
	uint64_t start, max_time; /* ticks */
	uint64_t live, max;       /* bytes: at the end of the stretch, most inside it */
};

struct curve {
	struct curve_point *points;
	size_t count, capacity;
	uint64_t end;   /* of the last stretch, ticks; exclusive */
	unsigned width; /* log2 of ticks */
};

/* The out-of-line part of curve_add: a new stretch. Returns -1 without memory. */
int curve_open(struct curve *curve, uint64_t time, uint64_t live);

/* The live bytes are `live` from `time` on. Times that run backwards a little count as the current stretch. */
static inline int curve_add(struct curve *curve, uint64_t time, uint64_t live)
{
	struct curve_point *last;

	if (time >= curve->end)
		return curve_open(curve, time, live);
	last = &curve->points[curve->count - 1];
	last->live = live;
	if (live > last->max) {
		last->max = live;
		last->max_time = time;
	}
	return 0;
}

/* Widens until at most TIMELINE_POINTS stretches are left. */
void curve_finish(struct curve *curve);

void curve_free(struct curve *curve);

#endif

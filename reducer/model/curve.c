/* SPDX-License-Identifier: Apache-2.0 */
/* A live curve while it grows. See curve.h. */
#include "reducer/model/curve.h"

#include "reducer/model/heap.h"

#include <stdlib.h>

/* Joins stretches that begin in the same 2^width ticks. */
static void join(struct curve *curve)
{
	size_t kept = 0;

	for (size_t i = 1; i < curve->count; i++) {
		struct curve_point *last = &curve->points[kept], *next = &curve->points[i];

		if (last->start >> curve->width != next->start >> curve->width) {
			curve->points[++kept] = *next;
			continue;
		}
		last->live = next->live;
		if (next->max > last->max) {
			last->max = next->max;
			last->max_time = next->max_time;
		}
	}
	curve->count = kept + 1;
}

void curve_finish(struct curve *curve)
{
	while (curve->count > TIMELINE_POINTS && curve->width < 63) {
		curve->width++;
		join(curve);
	}
}

static int make_room(struct curve *curve)
{
	size_t capacity = curve->capacity == 0 ? 64 : curve->capacity * 2;
	struct curve_point *points;

	if (curve->count < curve->capacity)
		return 0;
	if (capacity <= 2 * TIMELINE_POINTS) {
		points = realloc(curve->points, capacity * sizeof *points);
		if (points == NULL)
			return -1;
		curve->points = points;
		curve->capacity = capacity;
		return 0;
	}
	curve_finish(curve);
	return 0;
}

int curve_open(struct curve *curve, uint64_t time, uint64_t live)
{
	struct curve_point point = {.start = time, .max_time = time, .live = live, .max = live};

	if (make_room(curve) != 0)
		return -1;
	if (curve->count > 0 && curve->points[curve->count - 1].start >> curve->width == time >> curve->width) {
		/* The stretches were widened just now: it belongs to the last one. */
		curve->points[curve->count++] = point;
		join(curve);
	} else {
		curve->points[curve->count++] = point;
	}
	curve->end = ((time >> curve->width) + 1) << curve->width;
	return 0;
}

void curve_free(struct curve *curve)
{
	free(curve->points);
	*curve = (struct curve){0};
}

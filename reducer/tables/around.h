/* SPDX-License-Identifier: Apache-2.0 */
/* The readings of a total around a stretch of time, or the nearest that there are: of those that are given, in their order. */
#ifndef REDUCER_TABLES_AROUND_H
#define REDUCER_TABLES_AROUND_H

#include <stdbool.h>
#include <stdint.h>

/* Start from {.from_ns, .to_ns}. */
struct around {
	int64_t from_ns, to_ns;	   /* the stretch */
	int64_t first_ns, last_ns; /* when the two were read */
	double first, last;
	bool is_any;
};

/* Whether further readings would add nothing. */
static inline bool around_is_whole(const struct around *around)
{
	return around->is_any && around->last_ns >= around->to_ns;
}

static inline void around_add(struct around *around, int64_t time_ns, double value)
{
	if (!around->is_any || time_ns <= around->from_ns) {
		around->first_ns = time_ns;
		around->first = value;
	}
	around->last_ns = time_ns;
	around->last = value;
	around->is_any = true;
}

/* Whether there are two, and some of the stretch lies between them. */
static inline bool around_is_known(const struct around *around)
{
	return around->is_any && around->last_ns > around->first_ns && around->first_ns < around->to_ns &&
	       around->last_ns > around->from_ns;
}

#endif

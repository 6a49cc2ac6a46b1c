/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the last of what went on in a process was over, by when it began: the last step that nobody marked ends with its own work.
 *
 * Rule: of so many only; what ended before them is not known any more.
 */
#ifndef REDUCER_MODEL_LAST_ENDS_H
#define REDUCER_MODEL_LAST_ENDS_H

#include <stddef.h>
#include <stdint.h>

#define LAST_ENDS 4096u /* 64 KiB: seldom does as much come behind a loop */

struct last_ends {
	struct {
		uint64_t begin, end;
	} items[LAST_ENDS];
	size_t count; /* that were said */
};

static inline void last_ends_say(struct last_ends *ends, uint64_t begin, uint64_t end)
{
	ends->items[ends->count % LAST_ENDS].begin = begin;
	ends->items[ends->count++ % LAST_ENDS].end = end;
}

/* When what began then was over; `begin` = not known, or it had no end. */
static inline uint64_t last_ends_find(const struct last_ends *ends, uint64_t begin)
{
	size_t kept = ends->count < LAST_ENDS ? ends->count : LAST_ENDS;

	for (size_t i = 0; i < kept; i++)
		if (ends->items[i].begin == begin && ends->items[i].end > begin)
			return ends->items[i].end;
	return begin;
}

#endif

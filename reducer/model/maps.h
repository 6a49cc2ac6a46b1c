/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address space that is mapped now: ranges by address, cut by partial unmaps and by maps on top. Private to the model.
 *
 * Rule: live bytes are the bytes of the ranges. A range is one mapping or what is left of it.
 */
#ifndef REDUCER_MODEL_MAPS_H
#define REDUCER_MODEL_MAPS_H

#include "reducer/model/tally.h"

#define MAPS_MAX (1u << 20) /* ranges at one moment; the kernel's own limit is 65530 unless it was raised */

struct map_range {
	uint64_t start, end; /* end exclusive */
	uint32_t stack;
};

struct maps {
	struct map_range *ranges; /* by start, none overlap */
	size_t count, capacity;
	struct tally tally;
	uint64_t unmaps, unmapped_bytes; /* as asked for */
	uint64_t unknown_unmaps;         /* nothing of the range was known to be mapped */
};

/* Of [start, start + bytes): mapped at `time` from `stack`, on top of what was there; unmapped at `time`, in part or whole. */
void maps_begin(struct maps *maps);
void maps_free(struct maps *maps);
void maps_map(struct maps *maps, uint64_t start, uint64_t bytes, uint32_t stack, uint64_t time);
void maps_unmap(struct maps *maps, uint64_t start, uint64_t bytes, uint64_t time);

#endif

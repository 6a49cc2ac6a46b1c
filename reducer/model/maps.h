/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address space that is mapped now: ranges by address, cut by partial unmaps and by maps on top. Private to the model.
 *
 * Rule: live bytes are the bytes of the ranges that can be touched. A range is one mapping or what is left of it. Address space that is
 * mapped without access (PROT_NONE) holds no memory until the program makes it usable: by a map on top, which is seen, or by mprotect,
 * which is not. A large piece of it (heap_scan.c) is counted as allocated and is never live.
 */
#ifndef REDUCER_MODEL_MAPS_H
#define REDUCER_MODEL_MAPS_H

#include "reducer/model/tally.h"

#define MAPS_MAX (1u << 20) /* ranges at one moment; the kernel's own limit is 65530 unless it was raised */

struct map_range {
	uint64_t start, end; /* end exclusive */
	uint32_t stack;
	int is_no_access;
};

struct maps {
	struct map_range *ranges; /* by start, none overlap */
	size_t count, capacity;
	struct tally tally;
	uint64_t no_access, no_access_peak; /* bytes now, and most at one time */
	uint64_t unmaps, unmapped_bytes; /* as asked for */
	uint64_t unknown_unmaps;         /* nothing of the range was known to be mapped */
};

void maps_begin(struct maps *maps);
void maps_free(struct maps *maps);
/* Of [start, start + bytes): mapped at `time` from `stack`, on top of what was there; unmapped at `time`, in part or whole. */
void maps_map(struct maps *maps, uint64_t start, uint64_t bytes, uint32_t stack, uint64_t time);
void maps_map_no_access(struct maps *maps, uint64_t start, uint64_t bytes, uint32_t stack, uint64_t time);
void maps_unmap(struct maps *maps, uint64_t start, uint64_t bytes, uint64_t time);

#endif

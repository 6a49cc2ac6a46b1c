/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single allocations and releases of the frameworks' allocators: of each stretch of time the largest one.
 *
 * Rule: at most BLOCK_EVENTS_MOST of an allocator whatever the run's length: stretches are powers of two of ns, doubled when
 * there are too many; of one stretch the event of most bytes stays, of equal ones the first. `told` says how many there were.
 */
#ifndef REDUCER_ANALYSIS_BLOCK_EVENTS_H
#define REDUCER_ANALYSIS_BLOCK_EVENTS_H

#include "reducer/analysis/allocators.h"

#define BLOCK_EVENTS_MOST 1000u

struct block_event {
	int64_t time_ns;
	uint64_t requested, bytes;  /* 0 = not said */
	uint64_t live;		    /* handed out after it, as the allocator says, else of blocks in the log */
	double fragmentation;	    /* valid with has_room */
	uint32_t op, region, shape; /* in words */
	uint32_t type;		    /* TensorFlow's DataType; 0 = not said */
	bool is_release, has_room;
};

/* One allocator of one process: an item of the result, a struct allocator_list. */
struct block_events {
	struct allocator of;
	unsigned width;		   /* log2 of ns of a stretch */
	struct block_event *items; /* by time */
	size_t count, room;
	uint64_t told;
	struct block_pass *pass; /* during the pass only */
};

#endif

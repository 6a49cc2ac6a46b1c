/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the frameworks' allocators held: most of it, when, and by which op, region, type and shape at that moment.
 *
 * Rule: the peak is that of what the allocator itself says it handed out (with what it reserves outside its heap); where it
 * says nothing, of the blocks in the log. Of equal peaks the last one counts (here and in lifetimes.h; model/tally.h has
 * the first): so it does in xprof, whose figures these equal. Blocks without a region get one that is inferred from the phase in
 * which they were made, and is marked so.
 */
#ifndef REDUCER_ANALYSIS_HOLDINGS_H
#define REDUCER_ANALYSIS_HOLDINGS_H

#include "reducer/analysis/allocators.h"
#include "reducer/model/live.h"

enum region { REGION_UNKNOWN, REGION_TEMPORARY, REGION_OUTPUT, REGION_PERSISTENT, REGIONS };
const char *region_name(enum region region);

/* Of TensorFlow's DataType; NULL = not said. */
const char *holding_type_name(uint32_t type);

struct amounts {
	uint64_t blocks, requested, bytes;
};

/* Blocks that are alike. */
struct holding {
	uint32_t op, region_said, shape; /* in words; "" = not said */
	uint32_t type;			 /* TensorFlow's DataType; 0 = not said */
	uint8_t region;
	uint8_t is_inferred;	   /* the region is */
	struct amounts live, peak; /* peak: private to the pass until it has ended; then at the peak */
	uint64_t mark;		   /* private: the peak that `peak` is of */
};

/* One allocator of one process: an item of the result, a struct allocator_list. */
struct holder {
	struct allocator of;
	uint64_t allocations, releases, unknown_releases;
	uint64_t peak_bytes;		      /* in what was recorded, with `stack` */
	int64_t peak_ns;		      /* TIME_UNKNOWN = nothing was handed out */
	uint64_t lifetime_peak;		      /* as the allocator says; 0 = it does not */
	uint64_t heap, stack, free, reserved; /* at the peak; free: valid with has_room */
	double fragmentation;		      /* at the peak; valid with has_room */
	bool has_room, has_total;
	uint64_t known; /* bytes of blocks at the peak whose allocation is in the log */
	struct holding *holdings;
	size_t holding_count, holding_room;
	struct holder_pass *pass; /* during the pass only */
};

#endif

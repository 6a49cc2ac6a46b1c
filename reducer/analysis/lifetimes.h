/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the blocks lived that frameworks' allocators had handed out when they held most: of each allocator the largest ones.
 *
 * Rule: the peak is that of holdings.h. At most LIFETIMES_MOST of an allocator are kept, whatever the run's length; `live_blocks`
 * and `live_bytes` are of all that were live then. A block whose allocation is not in the log has no lifetime.
 */
#ifndef REDUCER_ANALYSIS_LIFETIMES_H
#define REDUCER_ANALYSIS_LIFETIMES_H

#include "reducer/analysis/allocators.h"

#define LIFETIMES_MOST 200u

struct lifetime {
	int64_t from_ns, to_ns; /* to_ns: TIME_UNKNOWN = its release is not in the log */
	uint64_t requested, bytes;
	uint64_t begun;				 /* number of the event, from 1 on */
	uint32_t op, release_op, region, shape; /* in words */
	uint32_t type;				 /* TensorFlow's DataType; 0 = not said */
};

/* One allocator of one process: an item of the result, a struct allocator_list. */
struct lifetimes {
	struct allocator of;
	uint64_t peak_bytes;
	int64_t peak_ns; /* TIME_UNKNOWN = nothing was handed out */
	uint64_t live_blocks, live_bytes;
	struct lifetime *items; /* by bytes, the largest first, once ended */
	size_t count, room;
	struct lifetimes_pass *pass; /* during the pass only */
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array in the log that grows by live blocks and never moves: pcs, nodes, thread slots.
 *
 * Rule: segment k has first << min(k, 6) entries; a block, once published, stays. Lock-free: two threads that make the
 * same segment waste one block (its entries stay zero, which readers skip).
 */
#ifndef TFP_WRITER_SEGMENTS_H
#define TFP_WRITER_SEGMENTS_H

#include "writer/format.h"

#include <stdint.h>

#define TFP_SEGMENTS 64
#define TFP_SEGMENT_DOUBLINGS 6

struct tfp_segments {
	_Atomic(unsigned char *) base[TFP_SEGMENTS];
};

/* What a kind of segments is made of. */
struct tfp_segment_kind {
	enum tfp_block_type type;
	uint32_t entry_bytes;
	uint32_t first; /* entries of segment 0 */
};

/* The entry, making its segment if need be; NULL when there is no room. Any thread, any context. */
void *tfp_segment_entry(struct tfp_segments *segments, const struct tfp_segment_kind *kind, uint64_t index);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array in the log that grows by live blocks and never moves: pcs, nodes, thread slots.
 *
 * Rule: segment k has first << min(k, 3) entries; a block, once published, stays where it is. Lock-free: two threads that
 * make the same segment waste one block (its entries stay zero, which readers skip).
 */
#ifndef TFP_WRITER_SEGMENTS_H
#define TFP_WRITER_SEGMENTS_H

#include "writer/format.h"

#include <stdint.h>

#define TFP_SEGMENTS 1024 /* 16 million nodes */
#define TFP_SEGMENT_DOUBLINGS 3

struct tfp_segments {
	_Atomic(unsigned char *) base[TFP_SEGMENTS];
	_Atomic uint64_t offset[TFP_SEGMENTS]; /* of its block's header in the log; 0 = not known yet */
};

/* What a kind of segments is made of. */
struct tfp_segment_kind {
	enum tfp_block_type type;
	uint32_t entry_bytes;
	uint32_t first; /* entries of segment 0 */
};

/*
 * The next entry, making its segment if need be: nobody else's from then on, and counted in *count; *index: `first` + those before it.
 * NULL: there is no room for it, and it stays the next one. Any thread, any context.
 */
void *tfp_segment_take(struct tfp_segments *segments, const struct tfp_segment_kind *kind, uint64_t *count, uint32_t first,
		       uint32_t *index);

/* Which segment holds the entry; *start: the first index in it. Shifts alone where `first` is a constant power of two. */
static inline __attribute__((always_inline)) unsigned tfp_segment_of(uint64_t first, uint64_t index, uint64_t *start)
{
	uint64_t firsts = index / first + 1; /* segments of the first size, up to this entry's */
	unsigned segment = 63 - (unsigned)__builtin_clzll(firsts);

	if (segment >= TFP_SEGMENT_DOUBLINGS) {
		uint64_t whole = firsts >> TFP_SEGMENT_DOUBLINGS;
		*start = ((whole << TFP_SEGMENT_DOUBLINGS) - 1) * first;
		return whole - 1 < TFP_SEGMENTS ? TFP_SEGMENT_DOUBLINGS + (unsigned)(whole - 1) : TFP_SEGMENTS;
	}
	*start = ((UINT64_C(1) << segment) - 1) * first;
	return segment;
}

static inline uint64_t tfp_segment_entries(uint64_t first, unsigned segment)
{
	return first << (segment < TFP_SEGMENT_DOUBLINGS ? segment : TFP_SEGMENT_DOUBLINGS);
}

#endif

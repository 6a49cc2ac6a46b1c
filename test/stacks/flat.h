/* SPDX-License-Identifier: Apache-2.0 */
/* Doubles of writer/store.h keep nodes in one plain array. Rule: the array lives as long as what looks into it. */
#ifndef TFP_TEST_STACKS_FLAT_H
#define TFP_TEST_STACKS_FLAT_H

#include "writer/store.h"

/* The array of `count` nodes as the segments that collectors/stacks_index.h reads. */
static inline void flat_segments(struct tfp_segments *segments, uint64_t *nodes, uint64_t count)
{
	uint64_t start = 0;

	for (unsigned k = 0; k < TFP_SEGMENTS && start < count; k++) {
		segments->base[k] = (unsigned char *)(nodes + start);
		start += tfp_segment_entries(TFP_NODES_FIRST, k);
	}
}

#endif

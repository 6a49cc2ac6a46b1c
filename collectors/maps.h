/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address space that the host maps itself (mmap, mremap, brk, sbrk): a record of each call, and exact counters.
 *
 * Rule: such calls are rare and a partial unmap cannot be counted without its range, so they are recorded in every mode
 * but off. Unmaps are noted before the real call, maps after it. libc's own maps (thread stacks, large blocks of
 * malloc) do not pass here; the latter are counted as heap.
 */
#ifndef TFP_COLLECTORS_MAPS_H
#define TFP_COLLECTORS_MAPS_H

#include "collectors/heap.h"

/* One change of the address space, as the host asked for it. */
struct tfp_map_change {
	uintptr_t address;
	size_t length;
	uint32_t protection, flags;
	unsigned function; /* row of malloc.def */
};

/* In the hook of the call, on its thread; see the rule above for when. */
void tfp_map_added(const struct tfp_map_change *change, const struct tfp_caller *caller);
void tfp_map_removed(const struct tfp_map_change *change);

#endif

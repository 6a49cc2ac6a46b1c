/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address column of alloc and free records (TFP_ENCODE_HEAP): what an allocator does next is mostly known.
 *
 * Rule: one code per event, in event order, from what this block alone said before; nothing is carried from block to
 * block. docs/format.md, "heap addresses", is the definition; the reducer has its own decoder. No calls, no allocation:
 * all state lies in the caller's memory.
 *
 *   free    most blocks are released while their allocation is still in the same block of records:
 *           code = how many allocations ago it was, or how far from the one released before, whichever is less
 *   alloc   most addresses were released not long before with the same size class (allocators are stacks per class):
 *           code = its place in that stack; else the end of the block allocated just before (fresh memory)
 *   else    the distance to the address before, in units of 16
 */
#ifndef TFP_WRITER_HEAPCODE_H
#define TFP_WRITER_HEAPCODE_H

#include <stddef.h>
#include <stdint.h>

/* Codes of an allocation: 0 .. RANKS-1 place in its class's stack, then these; larger ones are distances. */
#define TFP_HEAPCODE_RANKS 16   /* deepest place looked for; deeper ones are rarer than 1 in 100 and cost a walk */
#define TFP_HEAPCODE_STRAYS 4   /* the same in the stack of class 0: released here, allocated in an earlier block */
#define TFP_HEAPCODE_NEXT (TFP_HEAPCODE_RANKS + TFP_HEAPCODE_STRAYS) /* where the allocation before ended */
#define TFP_HEAPCODE_NEXT_SAME (TFP_HEAPCODE_NEXT + 1) /* where the last one of the same class ended */
#define TFP_HEAPCODE_EXACT (TFP_HEAPCODE_NEXT + 2)     /* not a multiple of 16 away: a zig-zag varint of bytes follows */
#define TFP_HEAPCODE_FAR (TFP_HEAPCODE_NEXT + 3)       /* this code and larger: zig-zag distance / 16 is code - FAR */

#define TFP_HEAPCODE_CLASSES 256
#define TFP_HEAPCODE_CODE_MAX 11 /* most bytes an event can take */

struct tfp_heapcode_block; /* an address seen in this block of records */

struct tfp_heapcode {
	struct tfp_heapcode_block *blocks; /* 1 .. count; the caller's memory */
	uint32_t *index;                   /* hash of address -> newest of `blocks` with it; 0 = none */
	uint8_t *out;
	uint64_t last_alloc, last_free, next; /* addresses */
	uint32_t count, allocations;
	uint32_t last_released; /* number of the allocation released last, of those made in this block of records */
	unsigned index_shift;
	uint32_t stacks[TFP_HEAPCODE_CLASSES];  /* top of each class's released blocks; 0 = empty */
	uint64_t next_same[TFP_HEAPCODE_CLASSES];
};

/* Bytes of memory that tfp_heapcode_begin needs for that many events. 24 an event, and an index of 4 to 16. */
size_t tfp_heapcode_memory(uint32_t events);

/* Starts a block of records. `memory` is 8-byte aligned; `out` has room for TFP_HEAPCODE_CODE_MAX bytes an event. */
void tfp_heapcode_begin(struct tfp_heapcode *code, void *memory, uint32_t events, uint8_t *out);

/* The next event of the block. code->out - `out` of begin is the size so far. */
void tfp_heapcode_alloc(struct tfp_heapcode *code, uint64_t address, uint64_t requested);
void tfp_heapcode_free(struct tfp_heapcode *code, uint64_t address);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address column of alloc and free records (TFP_ENCODE_HEAP): what an allocator does next is mostly known.
 *
 * Rule: one code per event, in event order, from what this block alone said before; nothing is carried from block to
 * block, and whatever is not predicted is written as a distance, so every address can be written. docs/format.md, "heap
 * addresses", is the definition; the reducer has its own decoder. No allocation: all state lies in the caller's memory.
 * What is usual stands here, inline, because it is most of what a drained event costs; the rest is in heapcode.c.
 *
 *   free    most blocks are released while their allocation is still in the same block of records:
 *           code = how many allocations ago it was, or how far from the one released before, whichever is less
 *   alloc   most addresses were released not long before with the same size class (allocators are stacks per class):
 *           code = its place in that stack; else the end of the block allocated just before (fresh memory)
 *   else    the distance to the address before, in units of 16
 */
#ifndef TFP_WRITER_HEAPCODE_H
#define TFP_WRITER_HEAPCODE_H

#include "writer/varint.h"

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

/* An address seen in this block of records. 16 bytes, so that those of a chunk stay in the processor's cache. */
struct tfp_heapcode_block {
	uint64_t address;
	uint32_t below;      /* number of the next lower block of its stack << 8 | class; class 0: allocated in an earlier block */
	uint32_t allocation; /* number of its newest allocation in this block of records, 0 = an earlier one, << 1 | is released */
};

/* By class: where its last allocation ended, and the top of its released blocks (0 = empty). Then 1 .. count; block 0 is nobody's. */
struct tfp_heapcode_state {
	uint64_t next_same[TFP_HEAPCODE_CLASSES];
	uint32_t stacks[TFP_HEAPCODE_CLASSES];
	struct tfp_heapcode_block blocks[];
};

/* Copied by value into a local of the loop that encodes, so that the compiler keeps it in registers. */
struct tfp_heapcode {
	struct tfp_heapcode_state *state;
	uint32_t *index; /* hash of address -> newest block with it; 0, or a block of another address: not known */
	uint8_t *out;
	uint64_t last_alloc, last_free, next; /* addresses */
	uint32_t count, allocations;
	uint32_t last_released; /* number of the allocation released last, of those made in this block of records */
	unsigned index_shift;
};

/* Bytes of memory that tfp_heapcode_begin needs for that many events, at most 2^24: 3 KiB, and 22 to 28 an event. */
size_t tfp_heapcode_memory(uint32_t events);

/* Clears what a block of records begins with; the size of its index. */
void tfp_heapcode_clear(struct tfp_heapcode_state *state, uint32_t *index, unsigned index_bits);
unsigned tfp_heapcode_index_bits(uint32_t events);

/* The rare roads. The place of released block `number`, not the top of its stack, as a code; -1 when it has none. */
int tfp_heapcode_place(struct tfp_heapcode_block *blocks, uint32_t *stacks, uint32_t number, unsigned class);
/* An allocation, a release of which only the distance can be told. Return the end of the code. */
uint8_t *tfp_heapcode_far_alloc(uint8_t *out, uint64_t difference);
uint8_t *tfp_heapcode_far_free(uint8_t *out, uint64_t difference);

#define TFP_HEAPCODE_INLINE static inline __attribute__((always_inline))

/* Starts a block of records. `memory` is 8-byte aligned; `out` has room for TFP_HEAPCODE_CODE_MAX bytes an event. */
TFP_HEAPCODE_INLINE struct tfp_heapcode tfp_heapcode_begin(void *memory, uint32_t events, uint8_t *out)
{
	struct tfp_heapcode_state *state = memory;
	uint32_t *index = (uint32_t *)(void *)(state->blocks + events + 1);
	unsigned bits = tfp_heapcode_index_bits(events);

	tfp_heapcode_clear(state, index, bits);
	return (struct tfp_heapcode){.state = state, .index = index, .out = out, .index_shift = 32 - bits};
}

/* The size of the glibc chunk that serves such a request, header included; close enough to those of other allocators. */
TFP_HEAPCODE_INLINE uint64_t tfp_heapcode_chunk(uint64_t requested)
{
	uint64_t least = requested < 24 ? 24 : requested; /* a conditional move: sizes on both sides follow each other at random */

	return (least + 23) & ~UINT64_C(15);
}

/* glibc's own classes of 16 bytes; close enough to those of other allocators for stacks to work. */
TFP_HEAPCODE_INLINE unsigned tfp_heapcode_class(uint64_t chunk)
{
	uint64_t class = (chunk >> 4) - 1;

	return class < TFP_HEAPCODE_CLASSES ? (unsigned)class : TFP_HEAPCODE_CLASSES - 1;
}

TFP_HEAPCODE_INLINE uint32_t *tfp_heapcode_slot(const struct tfp_heapcode *code, uint64_t address)
{
	uint32_t hash = (uint32_t)(address >> 4) * UINT32_C(0x9e3779b1); /* 2^32 / golden ratio */

	return &code->index[hash >> code->index_shift];
}

/*
 * An allocation whose address is not on top of its class's stack. `slot` is the address's. Returns the number of its block, the old one
 * where it was found in a stack: nothing else names it any more.
 */
TFP_HEAPCODE_INLINE uint32_t tfp_heapcode_elsewhere(struct tfp_heapcode *code, uint32_t number, uint64_t address, unsigned class)
{
	struct tfp_heapcode_state *state = code->state;
	int place = -1;

	if (state->blocks[number].address == address && state->blocks[number].allocation & 1)
		place = tfp_heapcode_place(state->blocks, state->stacks, number, class);
	int is_found = place >= 0;
	if (!is_found && address == code->next)
		place = TFP_HEAPCODE_NEXT;
	else if (!is_found && address == state->next_same[class])
		place = TFP_HEAPCODE_NEXT_SAME;
	if (place >= 0)
		*code->out++ = (uint8_t)place;
	else
		code->out = tfp_heapcode_far_alloc(code->out, address - code->last_alloc);
	number = is_found ? number : ++code->count;
	state->blocks[number].address = address;
	state->blocks[number].below = class;
	return number;
}

/* The next event of the block; `chunk` as above. code->out - `out` of begin is the size so far. */
TFP_HEAPCODE_INLINE void tfp_heapcode_alloc(struct tfp_heapcode *code, uint64_t address, uint64_t chunk)
{
	struct tfp_heapcode_state *state = code->state;
	unsigned class = tfp_heapcode_class(chunk);
	uint32_t *slot = tfp_heapcode_slot(code, address), number = state->stacks[class];

	if (__builtin_expect(state->blocks[number].address == address && number, 1)) {
		state->stacks[class] = state->blocks[number].below >> 8;
		*code->out++ = 0;
	} else {
		number = tfp_heapcode_elsewhere(code, *slot, address, class);
	}
	*slot = number;
	state->blocks[number].allocation = ++code->allocations << 1;
	code->last_alloc = address;
	code->next = state->next_same[class] = address + chunk;
}

TFP_HEAPCODE_INLINE void tfp_heapcode_free(struct tfp_heapcode *code, uint64_t address)
{
	struct tfp_heapcode_state *state = code->state;
	uint32_t *slot = tfp_heapcode_slot(code, address), number = *slot;
	struct tfp_heapcode_block *block = &state->blocks[number];
	uint32_t word = block->allocation;

	if (__builtin_expect(block->address == address && !(word & 1), 1)) {
		uint32_t allocation = word >> 1;
		uint64_t age = code->allocations - allocation + 1;
		uint64_t near = tfp_zigzag((uint64_t)allocation - code->last_released - 1);
		code->out = tfp_put_varint(code->out, near < age ? 4 * near + 2 : 4 * age);
		code->last_released = allocation;
	} else {
		code->out = tfp_heapcode_far_free(code->out, address - code->last_free);
		*slot = number = ++code->count;
		block = &state->blocks[number];
		*block = (struct tfp_heapcode_block){.address = address};
		word = 0;
	}
	unsigned class = block->below & (TFP_HEAPCODE_CLASSES - 1);
	block->allocation = word | 1;
	block->below = state->stacks[class] << 8 | class;
	state->stacks[class] = number;
	code->last_free = address;
}

#endif

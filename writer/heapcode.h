/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address column of alloc and free records (TFP_ENCODE_LISTS): what an allocator does next is mostly known.
 *
 * Rule: one code per event, in event order, from what this block alone said before; nothing is carried from block to
 * block, and whatever is not predicted is written as a distance, so every address can be written. docs/format.md, "heap
 * addresses", is the definition; the reducer has its own decoder. No allocation: all state lies in the caller's memory.
 *
 *   free    most blocks are released while their allocation is still in the same block of records:
 *           code = how many allocations ago it was, or how far from the one released before, whichever is less
 *   alloc   most addresses were released not long before: on top of those released with the same size class (allocators are
 *           stacks per class), or so many releases ago; else the end of the block allocated just before (fresh memory)
 *   else    the distance to where the one before ended, in units of 16
 *
 * What comes next is not foreseeable for a processor, so there is no branch on it: all answers are worked out and one is chosen,
 * and a block is taken out of the middle of its list by two stores, wherever it stands.
 */
#ifndef TFP_WRITER_HEAPCODE_H
#define TFP_WRITER_HEAPCODE_H

#include "writer/varint.h"

#include <stddef.h>
#include <stdint.h>

/* Codes of an allocation. */
#define TFP_HEAPCODE_TOP 0      /* the block released last of its class */
#define TFP_HEAPCODE_SAME 2     /* where the last one of the same class ended */
#define TFP_HEAPCODE_EXACT 4    /* a zig-zag varint of bytes follows; of a release, the code is 0 */
#define TFP_HEAPCODE_RELEASED 6 /* and larger ones that are even: how many releases ago */

#define TFP_HEAPCODE_CLASSES 257 /* 0: allocated in an earlier block of records; else sixteenths of the chunk */
#define TFP_HEAPCODE_CODE_MAX 11 /* most bytes an event can take */

/*
 * An address seen in this block of records. The first ones are the heads of the lists, of which that of class c is number c; then
 * NOBODY, which is in no list. Offsets stand for numbers, they are cheaper.
 */
struct tfp_heapcode_block {
	uint64_t key;	       /* its address; + 1 = it is released */
	uint32_t above, below; /* in the list of its class: released later, earlier; only while it is released */
	union {
		struct {
			uint32_t stamp; /* number of its newest allocation or release, from 1; 0 = an allocation earlier on */
			uint32_t head;	/* of its class */
		};
		uint64_t next_same; /* of a head: where the last allocation of its class ended */
	};
};

#define TFP_HEAPCODE_STEP ((uint32_t)sizeof(struct tfp_heapcode_block))
#define TFP_HEAPCODE_NOBODY (TFP_HEAPCODE_CLASSES * TFP_HEAPCODE_STEP)
#define TFP_HEAPCODE_NO_KEY 2 /* no address that can be found again is that, or 1 less */

/* Copied by value into a local of the loop that encodes, so that the compiler keeps it in registers. */
struct tfp_heapcode {
	uint8_t *blocks; /* struct tfp_heapcode_block, by offset */
	uint32_t *index; /* hash of address -> newest block with it; 0, or a block of another address: not known */
	uint8_t *out;
	uint64_t last_free, next; /* addresses, rounded down to 16 */
	uint32_t fresh;           /* the next block */
	uint32_t allocations, releases;
	uint32_t last_released; /* number of the allocation released last, of those made in this block of records */
	uint32_t index_mask;
};

/* Bytes of memory that tfp_heapcode_begin needs for that many events, at most 2^24: 6 KiB, and 30 to 36 an event. */
size_t tfp_heapcode_memory(uint32_t events);

/* Clears what a block of records begins with. Returns the index; *mask: its size - 1. */
uint32_t *tfp_heapcode_clear(struct tfp_heapcode_block *blocks, uint32_t events, uint32_t *mask);

/* Addresses that are no multiple of 16. */
void tfp_heapcode_alloc_odd(struct tfp_heapcode *code, uint64_t address, uint64_t chunk);
void tfp_heapcode_free_odd(struct tfp_heapcode *code, uint64_t address);

#define TFP_HEAPCODE_INLINE static inline __attribute__((always_inline))

/* Starts a block of records. `memory` is 8-byte aligned; `out` has room for TFP_HEAPCODE_CODE_MAX bytes an event. */
TFP_HEAPCODE_INLINE struct tfp_heapcode tfp_heapcode_begin(void *memory, uint32_t events, uint8_t *out)
{
	struct tfp_heapcode_block *blocks = (void *)((struct tfp_heapcode *)memory + 1); /* in front of them: tfp_heapcode_lend */
	uint32_t mask;
	uint32_t *index = tfp_heapcode_clear(blocks, events, &mask);

	return (struct tfp_heapcode){.blocks = (uint8_t *)blocks, .index = index, .out = out, .index_mask = mask,
				     .fresh = TFP_HEAPCODE_NOBODY + TFP_HEAPCODE_STEP};
}

/* `value` where a == b, else `other`; never a branch, which compilers make of several such choices. */
TFP_HEAPCODE_INLINE uint64_t tfp_choose(uint64_t a, uint64_t b, uint64_t value, uint64_t other)
{
#if defined __x86_64__
	__asm__("cmpq %1, %2\n\tcmoveq %3, %0" : "+r"(other) : "r"(b), "r"(a), "r"(value) : "cc");
	return other;
#else
	return a == b ? value : other;
#endif
}

/* The size of the glibc chunk that serves such a request, header included; close enough to those of other allocators. */
TFP_HEAPCODE_INLINE uint64_t tfp_heapcode_chunk(uint64_t requested)
{
	uint64_t least = requested < 24 ? 24 : requested; /* a conditional move: sizes on both sides follow each other at random */

	return (least + 23) & ~UINT64_C(15);
}

TFP_HEAPCODE_INLINE struct tfp_heapcode_block *tfp_heapcode_at(const struct tfp_heapcode *code, uint64_t offset)
{
	return (struct tfp_heapcode_block *)(void *)(code->blocks + offset);
}

/* glibc's own classes of 16 bytes; close enough to those of other allocators for lists to work. */
TFP_HEAPCODE_INLINE uint32_t tfp_heapcode_head(uint64_t chunk)
{
	uint32_t most = (TFP_HEAPCODE_CLASSES - 1) * 16, size = chunk < most ? (uint32_t)chunk : most;

	return size / 16 * TFP_HEAPCODE_STEP;
}

TFP_HEAPCODE_INLINE uint32_t *tfp_heapcode_slot(const struct tfp_heapcode *code, uint64_t address)
{
	uint32_t hash = (uint32_t)(address >> 4) * UINT32_C(0x9e3779b1); /* 2^32 / golden ratio */

	return &code->index[hash >> 14 & code->index_mask];
}

/* Zig-zag of how many sixteens. */
TFP_HEAPCODE_INLINE uint64_t tfp_heapcode_distance(uint64_t to, uint64_t from)
{
	return tfp_zigzag((uint64_t)((int64_t)(to - from) >> 4));
}

/* Takes the block out of its list, where it is released; NOBODY stays in its own. */
TFP_HEAPCODE_INLINE void tfp_heapcode_take(const struct tfp_heapcode *code, uint64_t offset)
{
	const struct tfp_heapcode_block *block = tfp_heapcode_at(code, offset);
	uint32_t above = block->above, below = block->below;

	tfp_heapcode_at(code, above)->below = below;
	tfp_heapcode_at(code, below)->above = above;
}

/* `is_aligned`, a constant: the address is a multiple of 16. Of the others only multiples of 8 are found again. */
TFP_HEAPCODE_INLINE void tfp_heapcode_alloc_as(struct tfp_heapcode *code, uint64_t address, uint64_t chunk, int is_aligned)
{
	struct tfp_heapcode_block *head = tfp_heapcode_at(code, tfp_heapcode_head(chunk));
	uint32_t *slot = tfp_heapcode_slot(code, address);
	uint64_t number = *slot, released = address + 1, key = tfp_heapcode_at(code, number)->key;
	uint64_t far = 2 * tfp_heapcode_distance(address, code->next) + 1;
	uint64_t value = 2 * (uint64_t)(code->releases - tfp_heapcode_at(code, number)->stamp) + TFP_HEAPCODE_RELEASED;

	if (!is_aligned && address & 7)
		key = ~released;
	value = tfp_choose(number, head->below, TFP_HEAPCODE_TOP, value);
	far = tfp_choose(address, head->next_same, TFP_HEAPCODE_SAME, far);
	value = tfp_choose(key, released, value, far);
	if (!is_aligned && key != released)
		code->out = tfp_put_varint(tfp_put_varint(code->out, TFP_HEAPCODE_EXACT), tfp_zigzag(address - code->next));
	else
		code->out = tfp_put_any_varint(code->out, value);
	tfp_heapcode_take(code, tfp_choose(key, released, number, TFP_HEAPCODE_NOBODY));
	number = tfp_choose(key, released, number, code->fresh);
	code->fresh = (uint32_t)tfp_choose(number, code->fresh, number + TFP_HEAPCODE_STEP, code->fresh);
	struct tfp_heapcode_block *block = tfp_heapcode_at(code, number);
	*slot = (uint32_t)number;
	block->key = is_aligned || !(address & 7) ? address : TFP_HEAPCODE_NO_KEY;
	block->stamp = ++code->allocations;
	block->head = (uint32_t)((uint8_t *)head - code->blocks);
	code->next = head->next_same = is_aligned ? address + chunk : (address + chunk) & ~UINT64_C(15);
}

TFP_HEAPCODE_INLINE void tfp_heapcode_free_as(struct tfp_heapcode *code, uint64_t address, int is_aligned)
{
	uint32_t *slot = tfp_heapcode_slot(code, address);
	uint64_t number = *slot, key = tfp_heapcode_at(code, number)->key;
	uint32_t allocation = tfp_heapcode_at(code, number)->stamp;
	uint64_t far = 2 * tfp_heapcode_distance(address, code->last_free) + 1;
	uint64_t age = 4 * (uint64_t)(code->allocations - allocation + 1);
	uint64_t near = 4 * tfp_zigzag((uint64_t)allocation - code->last_released - 1) + 2;

	if (!is_aligned && address & 7)
		key = ~address;
	near = near < age ? near : age;
	if (!is_aligned && key != address)
		code->out = tfp_put_varint(tfp_put_varint(code->out, 0), tfp_zigzag(address - code->last_free));
	else
		code->out = tfp_put_any_varint(code->out, tfp_choose(key, address, near, far));
	code->last_released = (uint32_t)tfp_choose(key, address, allocation, code->last_released);
	uint32_t head = (uint32_t)tfp_choose(key, address, tfp_heapcode_at(code, number)->head, 0);
	number = tfp_choose(key, address, number, code->fresh);
	code->fresh = (uint32_t)tfp_choose(number, code->fresh, number + TFP_HEAPCODE_STEP, code->fresh);
	struct tfp_heapcode_block *block = tfp_heapcode_at(code, number);
	uint32_t below = tfp_heapcode_at(code, head)->below;
	*slot = (uint32_t)number;
	block->key = is_aligned || !(address & 7) ? address + 1 : TFP_HEAPCODE_NO_KEY;
	block->above = head;
	block->below = below;
	block->stamp = ++code->releases;
	block->head = head;
	tfp_heapcode_at(code, below)->above = (uint32_t)number;
	tfp_heapcode_at(code, head)->below = (uint32_t)number;
	code->last_free = is_aligned ? address : address & ~UINT64_C(15);
}

/* Copies what changes, word by word: a copy of the whole makes compilers keep it in memory. */
TFP_HEAPCODE_INLINE void tfp_heapcode_copy(struct tfp_heapcode *to, const struct tfp_heapcode *from)
{
	to->out = from->out;
	to->last_free = from->last_free;
	to->next = from->next;
	to->fresh = from->fresh;
	to->allocations = from->allocations;
	to->releases = from->releases;
	to->last_released = from->last_released;
}

/* One that others may be given the address of, so that *code stays in registers; in front of the blocks, off the stack. */
TFP_HEAPCODE_INLINE struct tfp_heapcode *tfp_heapcode_lend(const struct tfp_heapcode *code)
{
	struct tfp_heapcode *lent = (struct tfp_heapcode *)(void *)code->blocks - 1;

	lent->blocks = code->blocks;
	lent->index = code->index;
	lent->index_mask = code->index_mask;
	tfp_heapcode_copy(lent, code);
	return lent;
}

/* The next event of the block; `chunk` as above. code->out - `out` of begin is the size so far. */
TFP_HEAPCODE_INLINE void tfp_heapcode_alloc(struct tfp_heapcode *code, uint64_t address, uint64_t chunk)
{
	if (__builtin_expect(address & 15, 0)) {
		struct tfp_heapcode *lent = tfp_heapcode_lend(code);
		tfp_heapcode_alloc_odd(lent, address, chunk);
		tfp_heapcode_copy(code, lent);
		return;
	}
	tfp_heapcode_alloc_as(code, address, chunk, 1);
}

TFP_HEAPCODE_INLINE void tfp_heapcode_free(struct tfp_heapcode *code, uint64_t address)
{
	if (__builtin_expect(address & 15, 0)) {
		struct tfp_heapcode *lent = tfp_heapcode_lend(code);
		tfp_heapcode_free_odd(lent, address);
		tfp_heapcode_copy(code, lent);
		return;
	}
	tfp_heapcode_free_as(code, address, 1);
}

#endif

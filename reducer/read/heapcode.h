/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoder of the heap address column (TFP_ENCODE_HEAP). docs/format.md, "heap addresses", is the definition.
 *
 * Rule: every byte string decodes to something: a code that refers to nothing is address 0, a code that is cut off is 0.
 */
#ifndef REDUCER_READ_HEAPCODE_H
#define REDUCER_READ_HEAPCODE_H

#include <stddef.h>
#include <stdint.h>

#define HEAPCODE_CLASSES 256

struct heapcode_block {
	uint64_t address;
	uint32_t below; /* the next lower one of its stack, 0 = none */
	uint8_t class;
	uint8_t is_released;
};

struct heapcode {
	const uint8_t *at, *end;
	struct heapcode_block *blocks; /* 1 .. allocations and releases; those seen */
	uint32_t *by_allocation;       /* number of the allocation, from 1 -> index in blocks */
	uint32_t capacity, count, allocations, last_released;
	uint64_t last_alloc, last_free, next;
	uint32_t stacks[HEAPCODE_CLASSES];
	uint64_t next_same[HEAPCODE_CLASSES];
};

/* A decoder of the codes for at most `events` events. NULL without memory. */
struct heapcode *heapcode_make(const uint8_t *codes, size_t bytes, uint32_t events);
void heapcode_free(struct heapcode *code);

/* Address of the next event, which is an allocation of that size, or a release. At most `events` calls in all. */
uint64_t heapcode_alloc(struct heapcode *code, uint64_t requested);
uint64_t heapcode_release(struct heapcode *code);

#endif

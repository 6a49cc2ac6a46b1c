/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoder of the heap address column (TFP_ENCODE_LISTS), and of that of older logs (TFP_ENCODE_HEAP). docs/format.md, "heap
 * addresses", is the definition.
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

struct heapcode_state {
	const uint8_t *at;
	uint32_t count, allocations, last_released;
	uint64_t last_alloc, last_free, next;
};

struct heaplists;

struct heapcode {
	struct heaplists *lists; /* NULL: it is an older log's, and all that follows is of that */
	struct heapcode_state state;
	const uint8_t *end;
	struct heapcode_block *blocks; /* 1 .. allocations and releases; those seen */
	uint32_t *by_allocation;       /* number of the allocation, from 1 -> index in blocks */
	uint32_t capacity;
	uint32_t stacks[HEAPCODE_CLASSES];
	uint64_t next_same[HEAPCODE_CLASSES];
};

/* A decoder of the codes for at most `events` events, of a column with that encoding. NULL without memory. */
struct heapcode *heapcode_make(unsigned encoding, const uint8_t *codes, size_t bytes, uint32_t events);
void heapcode_free(struct heapcode *code);

enum { HEAPCODE_ALLOC = 1, HEAPCODE_RELEASE = 2 }; /* tags */

/*
 * Addresses of the next records: `tags` are the kinds of `count` of them, `requested` the sizes of the allocations, in
 * their order; `of_alloc` and `of_release` receive the addresses likewise. At most `events` in all.
 */
void heapcode_decode(struct heapcode *code, const uint8_t *tags, size_t count, const uint64_t *requested, uint64_t *of_alloc,
		     uint64_t *of_release);

/* The same of TFP_ENCODE_LISTS alone, for heapcode.c. heaplists.c */
struct heaplists *heaplists_make(const uint8_t *codes, size_t bytes, uint32_t events);
void heaplists_free(struct heaplists *lists);
void heaplists_decode(struct heaplists *lists, const uint8_t *tags, size_t count, const uint64_t *requested, uint64_t *of_alloc,
		      uint64_t *of_release);

/* A varint, of one or two bytes most often; where the codes end, 0. */
static inline uint64_t heapcode_varint(const uint8_t **at, const uint8_t *end)
{
	uint64_t value = 0;
	unsigned shift = 0;

	if (*at < end && **at < 128)
		return *(*at)++;
	if (end - *at >= 2 && (*at)[1] < 128) {
		*at += 2;
		return ((*at)[-2] & 127) | (uint64_t)(*at)[-1] << 7;
	}
	while (*at < end) {
		uint8_t byte = *(*at)++;

		if (shift < 64)
			value |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return value;
		shift += 7;
	}
	return 0;
}

static inline uint64_t heapcode_unzigzag(uint64_t value)
{
	return (value >> 1) ^ (0 - (value & 1));
}

#endif

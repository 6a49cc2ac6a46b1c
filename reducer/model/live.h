/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocks that are live now, by address: a table with open addressing, 32 bytes an entry.
 *
 * Rule: linear probing, removal moves later entries back, so there are no grave markers and a run of any length works
 * in the memory of its most live blocks (43 to 85 bytes each, as the table doubles at three quarters).
 */
#ifndef REDUCER_MODEL_LIVE_H
#define REDUCER_MODEL_LIVE_H

#include <stddef.h>
#include <stdint.h>

struct live_block {
	uint64_t address; /* 0 = empty entry */
	uint64_t time;    /* ticks since origin */
	uint64_t usable;  /* bytes */
	uint32_t stack;
	uint32_t slack;   /* usable - requested, bytes; sampled: which interval */
};

struct live_table {
	struct live_block *blocks;
	size_t capacity; /* a power of two, or 0 */
	size_t count;
	unsigned shift;
};

static inline size_t live_hash(const struct live_table *table, uint64_t address)
{
	return (address >> 4 ^ address << 60) * UINT64_C(0x9e3779b97f4a7c15) >> table->shift; /* 2^64 / golden ratio */
}

/* Brings the place of an address into the cache: call it some events ahead. */
static inline void live_prefetch(const struct live_table *table, uint64_t address)
{
	if (table->capacity != 0)
		__builtin_prefetch(&table->blocks[live_hash(table, address)], 1);
}

/* The block at that address, or NULL. Valid until the next put or remove. */
static inline struct live_block *live_find(const struct live_table *table, uint64_t address)
{
	size_t mask = table->capacity - 1;

	if (table->count == 0 || address == 0)
		return NULL;
	for (size_t at = live_hash(table, address);; at = (at + 1) & mask) {
		if (table->blocks[at].address == address)
			return &table->blocks[at];
		if (table->blocks[at].address == 0)
			return NULL;
	}
}

/* Adds a block whose address is not in the table and not 0. Returns -1 without memory. */
int live_put(struct live_table *table, const struct live_block *block);

/* Removes a block that live_find returned. */
void live_remove(struct live_table *table, struct live_block *block);

void live_free(struct live_table *table);

#endif

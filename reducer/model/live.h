/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocks that are live now, by address: a table with open addressing, 24 bytes an entry.
 *
 * Rule: linear probing, removal moves later entries back, so there are no grave markers and a run of any length works
 * in the memory of its most live blocks: 30 to 45 bytes each (half as large again when four fifths full; while it is
 * small, when half full).
 *
 *   bit 63                              0
 *   | address                           |
 *   | time 45..22 (24) | usable (40)    |   time in units of 64 ticks; usable in bytes, or a place in `odd`
 *   | time 21..0 (22) | slack (16) | stack (26) |   slack in bytes; 65535: the sizes are in `odd`
 */
#ifndef REDUCER_MODEL_LIVE_H
#define REDUCER_MODEL_LIVE_H

#include <stddef.h>
#include <stdint.h>

struct live_block {
	uint64_t address; /* not 0 */
	uint64_t time;    /* ticks since origin; kept to 64 ticks, 26 days at 2 GHz */
	uint64_t usable;  /* bytes */
	uint32_t stack;   /* below LIVE_STACKS_MAX, else kept as 0 */
	uint32_t slack;   /* usable - requested, bytes; sampled: which interval */
};

#define LIVE_STACKS_MAX (UINT32_C(1) << 26)

struct live_entry {
	uint64_t address; /* 0 = empty */
	uint64_t low, high;
};

/* Sizes that do not fit an entry: rare, and large. */
struct live_odd {
	uint64_t usable;
	uint32_t slack, next_free;
};

struct live_table {
	struct live_entry *entries;
	size_t capacity, count;
	struct live_odd *odd;
	uint32_t odd_count, odd_free; /* odd_free: place + 1 of the first unused one */
};

static inline size_t live_home(const struct live_table *table, uint64_t address)
{
	uint64_t hash = (address >> 4 ^ address << 60) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */

	return (size_t)((unsigned __int128)hash * table->capacity >> 64);
}

/* Brings the place of an address into the cache: call it some events ahead. */
static inline __attribute__((always_inline)) void live_prefetch(const struct live_table *table, uint64_t address)
{
	if (table->capacity != 0)
		__builtin_prefetch(&table->entries[live_home(table, address)], 1);
}

/* The entry of that address, or NULL. Valid until the next put or remove. */
static inline struct live_entry *live_find(const struct live_table *table, uint64_t address)
{
	if (table->count == 0 || address == 0)
		return NULL;
	for (size_t at = live_home(table, address);;) {
		if (table->entries[at].address == address)
			return &table->entries[at];
		if (table->entries[at].address == 0)
			return NULL;
		at = at + 1 == table->capacity ? 0 : at + 1;
	}
}

/* What an entry stands for. */
static inline struct live_block live_get(const struct live_table *table, const struct live_entry *entry)
{
	struct live_block block = {.address = entry->address,
				   .usable = entry->low & ((UINT64_C(1) << 40) - 1),
				   .stack = (uint32_t)entry->high & (LIVE_STACKS_MAX - 1),
				   .slack = (uint32_t)(entry->high >> 26) & UINT16_MAX,
				   .time = (entry->low >> 40 << 22 | entry->high >> 42) << 6};

	if (block.slack == UINT16_MAX) {
		const struct live_odd *odd = &table->odd[block.usable];

		block.usable = odd->usable;
		block.slack = odd->slack;
	}
	return block;
}

/* Adds a block whose address is not in the table and not 0. Returns -1 without memory. */
int live_put(struct live_table *table, const struct live_block *block);

/* Removes an entry that live_find returned. */
void live_remove(struct live_table *table, struct live_entry *entry);

void live_free(struct live_table *table);

#endif

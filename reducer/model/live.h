/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocks that are live now, by address: a table with open addressing, 24 bytes an entry.
 *
 * Rule: linear probing. A block that is removed leaves a grave where another entry stands behind it, so that nothing moves:
 * allocators hand out the same addresses again and again, and the next block there takes its place over. When the table is
 * full, graves are swept away if they are an eighth of it; so a run of any length works in the memory of its most live
 * blocks: 30 to 50 bytes each (half as large again when four fifths full; while it is small, when half or a quarter full).
 *
 *   bit 63                              0
 *   | address                           |
 *   | time 45..22 (24) | usable (40)    |   time in units of 64 ticks; usable in bytes, or a place in `odd`; all ones: a grave
 *   | time 21..0 (22) | slack (16) | stack (26) |   slack in bytes; 65535: the sizes are in `odd`
 */
#ifndef REDUCER_MODEL_LIVE_H
#define REDUCER_MODEL_LIVE_H

#include <stddef.h>
#include <stdint.h>

struct live_block {
	uint64_t address; /* not 0 */
	uint64_t time;    /* ticks since origin; kept to 64 ticks and without what is above LIVE_TIME_MASK: see live_get_by */
	uint64_t usable;  /* bytes */
	uint32_t stack;   /* below LIVE_STACKS_MAX, else kept as 0 */
	uint32_t slack;   /* usable - requested, bytes; sampled: which interval */
};

#define LIVE_STACKS_MAX (UINT32_C(1) << 26)
#define LIVE_TIME_MASK ((UINT64_C(1) << 52) - 1)  /* 26 days at 2 GHz */
#define LIVE_TIME_AHEAD (UINT64_C(1) << 36)	  /* ticks by which stamps of threads may be out of order, and more */

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
	size_t used;  /* `count` and the graves */
	size_t limit; /* of `used`: a sweep or a larger table is due */
	struct live_odd *odd;
	uint32_t odd_count, odd_free; /* odd_free: place + 1 of the first unused one */
};

#define LIVE_GRAVE ((UINT64_C(1) << 40) - 1)

/* Whether a block stands there; neither empty nor a grave. */
static inline int live_is_block(const struct live_entry *entry)
{
	return entry->address != 0 && (entry->low & LIVE_GRAVE) != LIVE_GRAVE;
}

static inline size_t live_home(const struct live_table *table, uint64_t address)
{
	uint64_t hash = (address >> 4 ^ address << 60) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */

	return (size_t)((unsigned __int128)hash * table->capacity >> 64);
}

/* Whether the table is too large for the second-level cache (256 KiB and more), so that fetching ahead is worth it. */
static inline int live_is_far(const struct live_table *table)
{
	return table->capacity * sizeof(struct live_entry) > 262144;
}

/* Brings the place of an address into the cache: call it some events ahead, where live_is_far says so. */
static inline __attribute__((always_inline)) void live_prefetch(const struct live_table *table, uint64_t address)
{
	if (table->capacity != 0) {
		const struct live_entry *entry = &table->entries[live_home(table, address)];

		__builtin_prefetch(entry, 1);
		__builtin_prefetch(entry + 2, 1); /* a search is some entries long */
	}
}

/* The block of that address, or NULL; *hole: the place where it would stand, unless the table is empty or the address 0. */
static inline struct live_entry *live_seek(const struct live_table *table, uint64_t address, struct live_entry **hole)
{
	struct live_entry *entry, *end;

	*hole = NULL;
	if (table->capacity == 0 || address == 0)
		return NULL;
	end = table->entries + table->capacity;
	for (entry = &table->entries[live_home(table, address)]; entry->address != address;) {
		if (entry->address == 0) {
			*hole = entry;
			return NULL;
		}
		if (++entry == end)
			entry = table->entries;
	}
	if ((entry->low & LIVE_GRAVE) != LIVE_GRAVE)
		return entry;
	*hole = entry;
	return NULL;
}

/* The block of that address, or NULL. Valid until the next put. */
static inline struct live_entry *live_find(const struct live_table *table, uint64_t address)
{
	struct live_entry *hole;

	return live_seek(table, address, &hole);
}

/* What an entry stands for. */
static inline struct live_block live_get(const struct live_table *table, const struct live_entry *entry)
{
	struct live_block block = {.address = entry->address,
				   .usable = entry->low & LIVE_GRAVE,
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

/* The same with its whole time, of one that was put less than 26 days before `now`, or a little behind it. */
static inline struct live_block live_get_by(const struct live_table *table, const struct live_entry *entry, uint64_t now)
{
	struct live_block block = live_get(table, entry);
	uint64_t since = (now - block.time) & LIVE_TIME_MASK;

	if (now > LIVE_TIME_MASK)
		block.time = since > LIVE_TIME_MASK - LIVE_TIME_AHEAD ? now + (LIVE_TIME_MASK + 1 - since) : now - since;
	return block;
}

/* Adds a block whose address is not in the table and not 0. Returns -1 without memory. */
int live_put(struct live_table *table, const struct live_block *block);

/* The same where live_seek just found that hole, or NULL. */
static inline int live_put_at(struct live_table *table, struct live_entry *hole, const struct live_block *block)
{
	uint64_t time = block->time >> 6;

	if (hole == NULL || table->used >= table->limit || block->usable >= LIVE_GRAVE || block->slack >= UINT16_MAX ||
	    block->stack >= LIVE_STACKS_MAX)
		return live_put(table, block);
	table->used += hole->address == 0;
	hole->address = block->address;
	hole->low = block->usable | time >> 22 << 40;
	hole->high = block->stack | (uint64_t)block->slack << 26 | time << 42;
	table->count++;
	return 0;
}

/*
 * A block that a framework handed out or took back, `address` 0 = it does not say which: *sum is what is live then. Returns
 * its bytes: a release says none of its own (0 = its allocation is not in the log). Where an address is handed out twice
 * the release between is not in the log.
 */
uint64_t live_settle(struct live_table *table, uint64_t address, uint64_t bytes, int is_release, uint64_t *sum);

/* Empties a place; what stands behind it moves up. */
void live_close(struct live_table *table, size_t hole);

/* Gives the place in `odd` back. */
void live_forget_odd(struct live_table *table, const struct live_entry *entry);

/* Removes a block that live_find returned; no other one moves. */
static inline void live_remove(struct live_table *table, struct live_entry *entry)
{
	size_t next = (size_t)(entry - table->entries) + 1;

	if ((entry->high >> 26 & UINT16_MAX) == UINT16_MAX)
		live_forget_odd(table, entry);
	table->count--;
	if (next == table->capacity || table->entries[next].address != 0) {
		if (live_is_far(table)) {
			entry->low = LIVE_GRAVE;
			return;
		}
		live_close(table, next - 1);
	} else {
		entry->address = 0;
	}
	table->used--;
}

void live_free(struct live_table *table);

#endif

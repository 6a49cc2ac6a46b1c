/* SPDX-License-Identifier: Apache-2.0 */
/* The table of live blocks. See live.h. */
#include "reducer/model/live.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Entries: below, half of them stay empty, because short searches cost little memory there; three quarters while all fit the cache. */
#define SMALL_CAPACITY (1u << 20)
#define NEAR_CAPACITY (1u << 16)
#define HUGE_FROM (4u << 20) /* bytes: a table that misses the TLB at every event is worth asking for large pages */

static struct live_entry *map_entries(size_t capacity)
{
	size_t bytes = capacity * sizeof(struct live_entry);
	void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (start == MAP_FAILED)
		return NULL;
	if (bytes >= HUGE_FROM)
		madvise(start, bytes, MADV_HUGEPAGE);
	return start;
}

static void unmap_entries(struct live_entry *entries, size_t capacity)
{
	if (entries != NULL)
		munmap(entries, capacity * sizeof *entries);
}

/* Where it belongs: an empty place, or the grave of its address. Returns whether that was empty. */
static int place(struct live_table *table, const struct live_entry *entry)
{
	int is_new;

	size_t at = live_home(table, entry->address);

	while (table->entries[at].address != 0 && table->entries[at].address != entry->address)
		at = at + 1 == table->capacity ? 0 : at + 1;
	is_new = table->entries[at].address == 0;
	table->entries[at] = *entry;
	return is_new;
}

/* Entries at which a table larger than that is due. */
static size_t limit_of(size_t capacity)
{
	if (capacity < NEAR_CAPACITY)
		return capacity / 4;
	return capacity < SMALL_CAPACITY ? capacity / 2 : capacity / 5 * 4;
}

/* Entries from `from` on to `to`, going around. */
static size_t distance(const struct live_table *table, size_t from, size_t to)
{
	return to >= from ? to - from : to + table->capacity - from;
}

void live_close(struct live_table *table, size_t hole)
{
	for (size_t at = hole;;) {
		at = at + 1 == table->capacity ? 0 : at + 1;
		if (table->entries[at].address == 0)
			break;
		/* May it stand in the hole? Only when its home does not lie between the hole and where it stands. */
		if (distance(table, live_home(table, table->entries[at].address), at) >= distance(table, hole, at)) {
			table->entries[hole] = table->entries[at];
			hole = at;
		}
	}
	table->entries[hole].address = 0;
}

/* What moves up comes from places that are still to be seen, or from the first ones, where no graves are left. */
static void sweep(struct live_table *table)
{
	for (size_t at = 0; at < table->capacity; at++)
		while (table->entries[at].address != 0 && !live_is_block(&table->entries[at]))
			live_close(table, at);
	table->used = table->count;
}

/* Room for one more. */
static int grow(struct live_table *table)
{
	struct live_table wider = *table;

	if (table->used - table->count > table->limit / 8) {
		sweep(table);
		return 0;
	}
	wider.used = table->count;
	wider.capacity = table->capacity == 0 ? 512 : table->capacity + table->capacity / 2;
	wider.limit = limit_of(wider.capacity);
	wider.entries = map_entries(wider.capacity);
	if (wider.entries == NULL)
		return -1;
	for (size_t i = 0; i < table->capacity; i++)
		if (live_is_block(&table->entries[i]))
			place(&wider, &table->entries[i]);
	unmap_entries(table->entries, table->capacity);
	*table = wider;
	return 0;
}

/* Where the sizes of the block are kept. Returns the place, or -1 without memory. */
static int64_t put_odd(struct live_table *table, const struct live_block *block)
{
	uint32_t place_of = table->odd_free - 1;
	struct live_odd *wider;

	if (table->odd_free == 0) {
		if ((table->odd_count & (table->odd_count - 1)) == 0) {
			wider = realloc(table->odd, (table->odd_count == 0 ? 1 : table->odd_count * (size_t)2) * sizeof *wider);
			if (wider == NULL || table->odd_count == UINT32_C(1) << 31)
				return -1;
			table->odd = wider;
		}
		place_of = table->odd_count++;
	} else {
		table->odd_free = table->odd[place_of].next_free;
	}
	table->odd[place_of] = (struct live_odd){.usable = block->usable, .slack = block->slack};
	return place_of;
}

int live_put(struct live_table *table, const struct live_block *block)
{
	uint64_t usable = block->usable, slack = block->slack, time = block->time >> 6;
	uint64_t stack = block->stack < LIVE_STACKS_MAX ? block->stack : 0;
	struct live_entry entry = {.address = block->address};

	if (table->used >= table->limit && grow(table) != 0)
		return -1;
	if (usable >= LIVE_GRAVE || slack >= UINT16_MAX) {
		int64_t place_of = put_odd(table, block);

		if (place_of < 0)
			return -1;
		usable = (uint64_t)place_of;
		slack = UINT16_MAX;
	}
	entry.low = usable | time >> 22 << 40;
	entry.high = stack | slack << 26 | time << 42;
	table->used += (size_t)place(table, &entry);
	table->count++;
	return 0;
}

uint64_t live_settle(struct live_table *table, uint64_t address, uint64_t bytes, int is_release, uint64_t *sum)
{
	struct live_entry *entry = address ? live_find(table, address) : NULL;

	if (entry) {
		struct live_block block = live_get(table, entry);
		bytes = is_release ? block.usable : bytes;
		*sum -= block.usable;
		live_remove(table, entry);
	}
	if (!is_release && address && live_put(table, &(struct live_block){.address = address, .usable = bytes}) == 0)
		*sum += bytes;
	return bytes;
}

void live_forget_odd(struct live_table *table, const struct live_entry *entry)
{
	uint64_t place_of = entry->low & LIVE_GRAVE;

	table->odd[place_of].next_free = table->odd_free;
	table->odd_free = (uint32_t)place_of + 1;
}

void live_free(struct live_table *table)
{
	unmap_entries(table->entries, table->capacity);
	free(table->odd);
	*table = (struct live_table){0};
}

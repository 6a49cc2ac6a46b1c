/* SPDX-License-Identifier: Apache-2.0 */
/* The table of live blocks. See live.h. */
#include "reducer/model/live.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Entries: below, half of them stay empty, because short searches cost little memory there; three quarters while all fit the cache. */
#define SMALL_CAPACITY (1u << 20)
#define NEAR_CAPACITY (1u << 16)
#define HUGE_FROM (4u << 20) /* bytes: a table that misses the TLB at every event is worth asking for large pages */
#define LARGE_PAGE (2u << 20)
#define LATE_STEP 256 /* entries that wait while a table grows: a handful, unless addresses crowd */

/* What is mapped for so many entries: whole large pages, so that none is made of small ones when the table grows. */
static size_t bytes_of(size_t capacity)
{
	size_t bytes = capacity * sizeof(struct live_entry);

	return bytes < HUGE_FROM ? bytes : (bytes + LARGE_PAGE - 1) & ~(size_t)(LARGE_PAGE - 1);
}

static void unmap_entries(struct live_entry *entries, size_t capacity)
{
	if (entries != NULL)
		munmap(entries, bytes_of(capacity));
}

/* Address space for `bytes` that begins at a large page, to be mapped over; NULL where there is none. */
static void *reserve(size_t bytes)
{
	uint8_t *start = mmap(NULL, bytes + LARGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *first;

	if (start == MAP_FAILED)
		return NULL;
	first = (uint8_t *)(((uintptr_t)start + LARGE_PAGE - 1) & ~(uintptr_t)(LARGE_PAGE - 1));
	if (first != start)
		munmap(start, (size_t)(first - start));
	munmap(first + bytes, (size_t)(start + LARGE_PAGE - first));
	return first;
}

/*
 * The entries with room for `capacity`; what is new is empty. NULL without memory, the old ones stay. Large pages are moved; small
 * ones are copied, as they would stay small (and ThreadSanitizer does not know that mremap makes memory new).
 */
static struct live_entry *widen(struct live_entry *entries, size_t old_capacity, size_t capacity)
{
	size_t old_bytes = bytes_of(old_capacity), bytes = bytes_of(capacity);
	bool is_moved = old_bytes >= HUGE_FROM;
	void *place = bytes >= HUGE_FROM ? reserve(bytes) : NULL, *start;

	if (is_moved)
		start = mremap(entries, old_bytes, bytes, MREMAP_MAYMOVE | (place ? MREMAP_FIXED : 0), place);
	else
		start = mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (place ? MAP_FIXED : 0), -1, 0);
	if (start == MAP_FAILED && place != NULL)
		munmap(place, bytes);
	if (start == MAP_FAILED)
		return NULL;
	if (bytes >= HUGE_FROM)
		madvise(start, bytes, MADV_HUGEPAGE);
	if (!is_moved && entries != NULL) {
		memcpy(start, entries, old_bytes);
		unmap_entries(entries, old_capacity);
	}
	return start;
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

/*
 * Puts the entries of the first `old` places where they belong in the wider table. Homes keep their order and move up, so
 * from the last entry to the first each goes where nothing is left to move; what cannot (it went around the end, or stands far
 * behind its home at the front) waits until all others have moved. Returns -1 without memory for those.
 */
static int spread(struct live_table *table, size_t old)
{
	struct live_entry *late = NULL, *wider;
	size_t count = 0, room = 0, lost = 0;

	for (size_t at = old; at-- > 0;) {
		struct live_entry entry = table->entries[at];
		size_t to = live_home(table, entry.address);

		table->entries[at].address = 0;
		if (!live_is_block(&entry))
			continue;
		while (to >= at && to < table->capacity && table->entries[to].address != 0)
			to++;
		if (to >= at && to < table->capacity) {
			table->entries[to] = entry;
			continue;
		}
		if (count == room) {
			wider = realloc(late, (room + LATE_STEP) * sizeof *late);
			if (wider == NULL) {
				lost++;
				continue;
			}
			late = wider;
			room += LATE_STEP;
		}
		late[count++] = entry;
	}
	while (count > 0)
		place(table, &late[--count]);
	free(late);
	table->count -= lost;
	table->used = table->count;
	return lost == 0 ? 0 : -1;
}

/* Room for one more. */
static int grow(struct live_table *table)
{
	size_t old = table->capacity, capacity = old == 0 ? 512 : old + old / 2;
	struct live_entry *entries;

	if (table->used - table->count > table->limit / 8) {
		sweep(table);
		return 0;
	}
	entries = widen(table->entries, old, capacity);
	if (entries == NULL)
		return -1;
	table->entries = entries;
	table->capacity = capacity;
	table->limit = limit_of(capacity);
	return spread(table, old);
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

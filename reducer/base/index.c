/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash index by open addressing, linear probes, at most 3/4 full.
 *
 * Rule: holds numbers and hashes only.
 */
#include "reducer/base/index.h"

#include <stdlib.h>

uint32_t base_index_find(const struct base_index *index, uint64_t hash, base_equal *equal, const void *context,
			 const void *key)
{
	uint32_t short_hash = (uint32_t)(hash >> 32);

	if (!index->room)
		return UINT32_MAX;
	for (size_t i = short_hash & (index->room - 1);; i = (i + 1) & (index->room - 1)) {
		const struct base_slot *slot = &index->slots[i];
		if (!slot->number)
			return UINT32_MAX;
		if (slot->hash == short_hash && equal(context, key, slot->number - 1))
			return slot->number - 1;
	}
}

static void slot_put(struct base_index *index, struct base_slot slot)
{
	size_t i = slot.hash & (index->room - 1);

	while (index->slots[i].number)
		i = (i + 1) & (index->room - 1);
	index->slots[i] = slot;
}

static void index_double(struct base_index *index)
{
	struct base_index next = {.room = index->room ? index->room * 2 : 64, .count = index->count};

	next.slots = base_alloc(next.room, sizeof(*next.slots));
	for (size_t i = 0; i < index->room; i++)
		if (index->slots[i].number)
			slot_put(&next, index->slots[i]);
	free(index->slots);
	*index = next;
}

void base_index_add(struct base_index *index, uint64_t hash, uint32_t number)
{
	if ((index->count + 1) * 4 > index->room * 3)
		index_double(index);
	slot_put(index, (struct base_slot){.hash = (uint32_t)(hash >> 32), .number = number + 1});
	index->count++;
}

void base_index_free(struct base_index *index)
{
	free(index->slots);
	*index = (struct base_index){0};
}

uint64_t base_hash(uint64_t hash, const void *bytes, size_t length)
{
	const unsigned char *byte = bytes;

	while (length--)
		hash = (hash ^ *byte++) * UINT64_C(0x100000001b3);
	return hash;
}

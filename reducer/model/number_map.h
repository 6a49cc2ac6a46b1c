/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a pair of numbers to a place in an array: a hash table with open addressing. Private to the model.
 *
 * Rule: entries are never removed, memory follows the number of distinct keys. Start from {0}.
 */
#ifndef REDUCER_MODEL_NUMBER_MAP_H
#define REDUCER_MODEL_NUMBER_MAP_H

#include <stddef.h>
#include <stdint.h>

#define NUMBER_MAP_NONE UINT32_MAX
#define NUMBER_MAP_MAX (1u << 22) /* keys of one map; what comes beyond it is counted as unknown by the callers */

struct number_map {
	struct number_map_entry {
		uint64_t high, low;
		uint32_t place; /* + 1; 0 = empty */
	} *entries;
	uint32_t room, count; /* room is 0 or a power of two */
	uint32_t *direct;     /* place + 1 of the keys (0, low) with low below direct_room: ids are small and come in order */
	uint32_t direct_room;
};

#define NUMBER_MAP_DIRECT 65536u

/* The part of number_map_find that hashes. */
uint32_t number_map_search(const struct number_map *map, uint64_t high, uint64_t low);

/* The place of a key, or NUMBER_MAP_NONE. */
static inline uint32_t number_map_find(const struct number_map *map, uint64_t high, uint64_t low)
{
	if (high == 0 && low < map->direct_room)
		return map->direct[low] - 1; /* 0 - 1 is NONE */
	return number_map_search(map, high, low);
}

/* Sets the place of a key. Returns -1 without memory, or at NUMBER_MAP_MAX keys. */
int number_map_set(struct number_map *map, uint64_t high, uint64_t low, uint32_t place);
void number_map_free(struct number_map *map);

#endif

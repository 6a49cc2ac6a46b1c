/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of numbers to places. See number_map.h. */
#include "reducer/model/number_map.h"

#include <stdlib.h>

static uint32_t home_of(uint64_t high, uint64_t low)
{
	uint64_t hash = (high * UINT64_C(0x9e3779b97f4a7c15) ^ low) * UINT64_C(0xff51afd7ed558ccd);

	return (uint32_t)((hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* Where the key is, or would be. */
static struct number_map_entry *place_of(const struct number_map *map, uint64_t high, uint64_t low)
{
	uint32_t at = home_of(high, low) & (map->room - 1);

	while (map->entries[at].place != 0 && (map->entries[at].high != high || map->entries[at].low != low))
		at = (at + 1) & (map->room - 1);
	return &map->entries[at];
}

static int widen(struct number_map *map)
{
	struct number_map wider = {.room = map->room == 0 ? 64 : map->room * 2, .count = map->count};

	wider.entries = calloc(wider.room, sizeof *wider.entries);
	if (wider.entries == NULL)
		return -1;
	for (uint32_t i = 0; i < map->room; i++)
		if (map->entries[i].place != 0)
			*place_of(&wider, map->entries[i].high, map->entries[i].low) = map->entries[i];
	free(map->entries);
	wider.direct = map->direct;
	wider.direct_room = map->direct_room;
	*map = wider;
	return 0;
}

/* Makes the direct part reach `low`; without memory it stays as it is and the hash part serves. */
static void widen_direct(struct number_map *map, uint32_t low)
{
	uint32_t room = map->direct_room == 0 ? 64 : map->direct_room;
	uint32_t *wider;

	while (room <= low)
		room *= 2;
	wider = realloc(map->direct, room * sizeof *wider);
	if (wider == NULL)
		return;
	for (uint32_t i = map->direct_room; i < room; i++)
		wider[i] = number_map_search(map, 0, i) + 1; /* NONE + 1 is 0 */
	map->direct = wider;
	map->direct_room = room;
}

uint32_t number_map_search(const struct number_map *map, uint64_t high, uint64_t low)
{
	return map->room == 0 ? NUMBER_MAP_NONE : place_of(map, high, low)->place - 1; /* 0 - 1 is NONE */
}

int number_map_set(struct number_map *map, uint64_t high, uint64_t low, uint32_t place)
{
	struct number_map_entry *entry;

	if (map->count + map->count / 2 >= map->room && (map->count >= NUMBER_MAP_MAX || widen(map) != 0))
		return -1;
	entry = place_of(map, high, low);
	map->count += entry->place == 0;
	*entry = (struct number_map_entry){.high = high, .low = low, .place = place + 1};
	if (high == 0 && low < NUMBER_MAP_DIRECT) {
		if (low >= map->direct_room)
			widen_direct(map, (uint32_t)low);
		if (low < map->direct_room)
			map->direct[low] = place + 1;
	}
	return 0;
}

void number_map_free(struct number_map *map)
{
	free(map->entries);
	free(map->direct);
	*map = (struct number_map){0};
}

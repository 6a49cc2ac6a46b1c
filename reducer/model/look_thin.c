/* SPDX-License-Identifier: Apache-2.0 */
/* Fewer looks; see reducer/model/look_thin.h. */
#include "reducer/model/look_thin.h"

#include "reducer/model/number_map.h"

#include <string.h>

struct look_thin look_thin_make(const struct look_thin_kind *kind, uint64_t seed)
{
	return (struct look_thin){.kind = kind, .random = seed, .each = 1, .room = kind->most};
}

bool look_thin_is_first(struct look_thin *thin, uint64_t first, uint64_t second)
{
	thin->random = thin->random * UINT64_C(6364136223846793005) + 1442695040888963407;
	return first + second != 0 && (thin->random >> 11) % (first + second) < first;
}

/* Each key's looks that stand for fewer become one, in place, until it stands for as many. Without memory for the map they stay. */
static size_t merge(struct look_thin *thin, uint8_t *looks, size_t count)
{
	const struct look_thin_kind *kind = thin->kind;
	struct number_map open = {0}; /* by key: the place of one that stands for fewer, + 1; 0 = none */
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		const uint8_t *look = looks + i * kind->bytes;
		uint64_t key = kind->key(look);
		uint32_t place = number_map_find(&open, 1, key);
		if (place != NUMBER_MAP_NONE && place != 0) {
			kind->join(thin, looks + (place - 1) * kind->bytes, look);
		} else {
			memmove(looks + kept++ * kind->bytes, look, kind->bytes);
			place = (uint32_t)kept;
		}
		number_map_set(&open, 1, key, kind->count(looks + (place - 1) * kind->bytes) < thin->each ? place : 0);
	}
	number_map_free(&open);
	return kept;
}

/* What came since becomes like what was there; where that is not few enough all of it stands for twice as many. */
size_t look_thin(struct look_thin *thin, void *looks, size_t count)
{
	size_t before = SIZE_MAX, most = thin->kind->most;

	if (count < thin->room)
		return count;
	count = merge(thin, looks, count);
	while (count > most / 2 && count < before) {
		before = count;
		thin->each *= 2;
		count = merge(thin, looks, count);
	}
	/* Of many keys each has one look at least. */
	thin->room = count > most / 2 ? 2 * count : most;
	return count;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of a time line; see digest_names.h. */
#include "reducer/trace/digest_names.h"

#include <stdlib.h>
#include <string.h>

/* Eight bytes at a time: no two texts that differ in one word have the same hash. */
static uint64_t hash_of(const char *text, size_t length)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ length, word;

	for (; length > 0; text += 8, length -= 8) {
		word = 0;
		memcpy(&word, text, length < 8 ? length : 8);
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
		hash ^= hash >> 32;
		if (length < 8)
			break;
	}
	return hash * UINT64_C(0xff51afd7ed558ccd) ^ hash >> 29;
}

static uint32_t names_add(struct digest_names *names, const char *text, size_t length, uint64_t hash)
{
	names->items = base_grow(names->items, &names->room, names->count + 1, sizeof *names->items);
	names->items[names->count] =
		(struct digest_name){.text = base_copy(text, length), .length = (uint32_t)length, .hash = hash};
	if (number_map_set(&names->places, 0, hash, (uint32_t)names->count) != 0)
		base_die("out of memory for the names of the time line");
	names->bytes += length;
	return (uint32_t)names->count++;
}

uint32_t digest_names_place(struct digest_names *names, const struct text *text)
{
	const char *bytes = text->length ? text->bytes : "";
	uint64_t hash = hash_of(bytes, text->length);
	uint32_t place = number_map_find(&names->places, 0, hash);

	return place != NUMBER_MAP_NONE ? place : names_add(names, bytes, text->length, hash);
}

void digest_names_free(struct digest_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i].text);
	free(names->items);
	number_map_free(&names->places);
	*names = (struct digest_names){0};
}

uint32_t digest_names_keep(struct digest_names *names, const struct digest_name *name)
{
	return names_add(names, name->text, name->length, name->hash);
}

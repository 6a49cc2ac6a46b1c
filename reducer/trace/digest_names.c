/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of a time line; see digest_names.h. */
#include "reducer/trace/digest_names.h"

#include <stdlib.h>
#include <string.h>

#define CUT_MARK 32u /* bytes: "... (N bytes)", as digest.c cuts, or "..." */

/* Eight bytes at a time: no two texts that differ in one word have the same hash. */
uint64_t digest_names_hash(const char *text, size_t length)
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
	uint64_t hash = digest_names_hash(bytes, text->length);
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

/* The parts that are longer are cut there, but for those which are by no more than a mark of being cut. */
static void put_cut_parts(struct text *out, const struct digest_name *name, size_t most)
{
	const char *at = name->text, *end = name->text + name->length;

	while (at < end) {
		const char *stop = memchr(at, DIGEST_PART, (size_t)(end - at));
		size_t length = (size_t)((stop ? stop : end) - at);
		text_put(out, at, length > most + CUT_MARK ? most : length);
		text_string(out, length > most + CUT_MARK ? "..." : "");
		if (stop)
			text_char(out, DIGEST_PART);
		at += length + (stop != NULL);
	}
}

uint32_t digest_names_keep(struct digest_names *names, const struct digest_name *name, size_t most)
{
	struct text cut = {0};
	uint32_t place;

	if (name->length <= most + CUT_MARK)
		return names_add(names, name->text, name->length, name->hash);
	put_cut_parts(&cut, name, most);
	place = digest_names_place(names, &cut);
	text_free(&cut);
	return place;
}

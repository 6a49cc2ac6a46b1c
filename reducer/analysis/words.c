/* SPDX-License-Identifier: Apache-2.0 */
/* Distinct texts by number; see reducer/analysis/words.h. */
#include "reducer/analysis/words.h"

#include <stdlib.h>
#include <string.h>

static bool is_same(const void *context, const void *key, uint32_t number)
{
	const struct words *words = context;

	return strcmp(key, words->items[number]) == 0;
}

static uint32_t number_of(struct words *words, const char *key)
{
	size_t length = strlen(key);
	uint64_t hash = base_hash(BASE_HASH, key, length);
	uint32_t number = base_index_find(&words->index, hash, is_same, words, key);

	if (number != UINT32_MAX)
		return number;
	words->items = base_grow(words->items, &words->room, words->count + 1, sizeof(*words->items));
	words->items[words->count] = base_copy(key, length);
	base_index_add(&words->index, hash, (uint32_t)words->count);
	return (uint32_t)words->count++;
}

/* Most texts come again and again from one place: comparing is cheaper than hashing. */
uint32_t words_number(struct words *words, const char *text)
{
	const char *key = text ? text : "";
	size_t place = (size_t)(base_mix((uintptr_t)key) % WORDS_RECENT);
	uint32_t known = words->recent[place].number;

	if (words->recent[place].text == key && strcmp(words->items[known], key) == 0)
		return known;
	words->recent[place].text = key;
	return words->recent[place].number = number_of(words, key);
}

static void lasting_put(struct words *words, struct words_place place)
{
	size_t at = words_lasting_place(words, place.text);

	while (words->lasting[at].text)
		at = (at + 1) & (words->lasting_room - 1);
	words->lasting[at] = place;
}

/* Makes room for one more. False: there are as many as there may be. */
static bool lasting_widen(struct words *words)
{
	struct words_place *old = words->lasting;
	size_t room = words->lasting_room;

	if (words->lasting_count * 4 < room)
		return true;
	if (room == WORDS_LASTING_MOST)
		return false;
	words->lasting_room = room ? room * 2 : 64;
	words->lasting_shift = 64 - (unsigned)__builtin_ctzll(words->lasting_room);
	words->lasting = base_alloc(words->lasting_room, sizeof(*words->lasting));
	for (size_t i = 0; i < room; i++)
		if (old[i].text)
			lasting_put(words, old[i]);
	free(old);
	return true;
}

uint32_t words_lasting_search(struct words *words, const char *text)
{
	uint32_t number;

	if (words->lasting_room)
		for (size_t at = words_lasting_place(words, text); words->lasting[at].text; at = (at + 1) & (words->lasting_room - 1))
			if (words->lasting[at].text == text)
				return words->lasting[at].number;
	number = words_number(words, text);
	if (lasting_widen(words)) {
		words->lasting_count++;
		lasting_put(words, (struct words_place){text, number});
	}
	return number;
}

bool words_has(const struct words *words, const char *text)
{
	return base_index_find(&words->index, base_hash(BASE_HASH, text, strlen(text)), is_same, words, text) != UINT32_MAX;
}

void words_free(struct words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free((char *)words->items[i]);
	free(words->items);
	free(words->lasting);
	base_index_free(&words->index);
	*words = (struct words){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for the names of ranges and ops; see reducer/model/op_names.h. */
#include "reducer/model/op_names.h"

#include "reducer/base/index.h"

#include <stdlib.h>
#include <string.h>

int op_names_begin(struct op_names *names)
{
	names->count = 1;
	names->room = 256;
	names->place_count = 1024;
	names->names = calloc(names->room, sizeof *names->names);
	names->places = calloc(names->place_count, sizeof *names->places);
	if (names->names == NULL || names->places == NULL) {
		op_names_free(names);
		return -1;
	}
	names->names[0] = "";
	return 0;
}

void op_names_free(struct op_names *names)
{
	free(names->names);
	free(names->places);
	memset(names, 0, sizeof *names);
}

static uint64_t hash_of(const char *text)
{
	return base_hash(BASE_HASH, text, strlen(text));
}

static int grow(struct op_names *names)
{
	size_t count = names->place_count * 2;
	uint32_t *places = calloc(count, sizeof *places);
	const char **wider = places == NULL ? NULL : realloc(names->names, names->room * 2 * sizeof *wider);

	if (wider == NULL) {
		free(places);
		return -1;
	}
	names->names = wider;
	names->room *= 2;
	for (uint32_t i = 1; i < names->count; i++) {
		uint64_t at = hash_of(wider[i]);
		while (places[at % count] != 0)
			at++;
		places[at % count] = i;
	}
	free(names->places);
	names->places = places;
	names->place_count = count;
	return 0;
}

uint32_t op_names_number(struct op_names *names, const char *text)
{
	if (text == NULL || *text == 0 || names->names == NULL)
		return 0;
	uint64_t at = hash_of(text);
	for (; names->places[at % names->place_count] != 0; at++) {
		uint32_t number = names->places[at % names->place_count];
		if (strcmp(names->names[number], text) == 0)
			return number;
	}
	if (names->count == names->room) {
		if (names->count >= OP_NAMES_MAX || grow(names) != 0)
			return 0;
		for (at = hash_of(text); names->places[at % names->place_count] != 0; at++)
			;
	}
	names->names[names->count] = text;
	names->places[at % names->place_count] = (uint32_t)names->count;
	return (uint32_t)names->count++;
}

uint32_t *op_numbers_at(struct op_numbers *numbers, uint32_t index)
{
	if (index >= numbers->room) {
		size_t room = index < 512 ? 1024 : (size_t)index * 2;
		uint32_t *wider = realloc(numbers->items, room * sizeof *wider);
		if (wider == NULL)
			return NULL;
		memset(wider + numbers->room, 0, (room - numbers->room) * sizeof *wider);
		numbers->items = wider;
		numbers->room = room;
	}
	return &numbers->items[index];
}

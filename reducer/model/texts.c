/* SPDX-License-Identifier: Apache-2.0 */
/* Texts by their hash. See texts.h. */
#include "reducer/model/texts.h"

#include "reducer/base/index.h"

#include <stdlib.h>

#define ROOM_FIRST 1024

int texts_begin(struct texts *texts)
{
	*texts = (struct texts){.room = ROOM_FIRST, .places = calloc(ROOM_FIRST, sizeof *texts->places)};
	return texts->places == NULL ? -1 : 0;
}

static struct text_of *find(const struct texts *texts, uint64_t hash)
{
	uint64_t at = base_mix(hash); /* a log may name its texts by any numbers */

	while (texts->places[at % texts->room].text != NULL && texts->places[at % texts->room].hash != hash)
		at++;
	return &texts->places[at % texts->room];
}

static void grow(struct texts *texts)
{
	struct texts wider = {.count = texts->count, .room = texts->room * 2};

	wider.places = calloc(wider.room, sizeof *wider.places);
	if (wider.places == NULL)
		return; /* found again more slowly, until it is full */
	for (size_t i = 0; i < texts->room; i++)
		if (texts->places[i].text != NULL)
			*find(&wider, texts->places[i].hash) = texts->places[i];
	free(texts->places);
	*texts = wider;
}

struct text_of *texts_place(struct texts *texts, uint64_t hash)
{
	if (texts->count * 2 >= texts->room)
		grow(texts);
	return texts->count + 1 >= texts->room ? NULL : find(texts, hash);
}

const char *texts_get(const struct texts *texts, uint64_t hash)
{
	return find(texts, hash)->text;
}

void texts_free(struct texts *texts)
{
	free(texts->places);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which lane a span has room in; see abreast.h. */
#include "reducer/trace/abreast.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define OUTERMOST_KEPT 4096u /* of a lane: what began before them and ends now would cross unseen */

/* Apart from each other, by time. */
struct outermost {
	struct stretch {
		int64_t start_ns, end_ns;
	} *items;
	size_t count, room;
};

struct abreast_row {
	struct outermost lanes[ABREAST_LANES];
};

static struct abreast_row *row_of(struct abreast *abreast, uint64_t row)
{
	uint32_t place = number_map_find(&abreast->places, 0, row);

	if (place != NUMBER_MAP_NONE)
		return &abreast->rows[place];
	if (number_map_set(&abreast->places, 0, row, (uint32_t)abreast->count) != 0)
		return NULL;
	abreast->rows = base_grow(abreast->rows, &abreast->room, abreast->count + 1, sizeof(*abreast->rows));
	abreast->rows[abreast->count] = (struct abreast_row){0};
	return &abreast->rows[abreast->count++];
}

static void push(struct outermost *lane, int64_t start_ns, int64_t end_ns)
{
	if (lane->count == OUTERMOST_KEPT) {
		lane->count /= 2;
		memmove(lane->items, lane->items + lane->count, lane->count * sizeof(*lane->items));
	}
	lane->items = base_grow(lane->items, &lane->room, lane->count + 1, sizeof(*lane->items));
	lane->items[lane->count++] = (struct stretch){start_ns, end_ns};
}

/* Whether it has room there, and then it is there. */
static bool takes(struct outermost *lane, int64_t start_ns, int64_t end_ns)
{
	size_t left = lane->count;

	while (left > 0 && lane->items[left - 1].start_ns >= start_ns && lane->items[left - 1].end_ns <= end_ns)
		left--;
	const struct stretch *last = left > 0 ? &lane->items[left - 1] : NULL;
	if (last && (last->start_ns >= end_ns || (last->start_ns <= start_ns && last->end_ns >= end_ns)))
		return true; /* it comes late, or lies inside */
	if (last && last->end_ns > start_ns)
		return false;
	lane->count = left;
	push(lane, start_ns, end_ns);
	return true;
}

uint32_t abreast_lane(struct abreast *abreast, uint64_t row, int64_t start_ns, int64_t end_ns, int *is_first)
{
	struct abreast_row *of = row_of(abreast, row);
	uint32_t lane = 0;

	*is_first = 0;
	if (!of)
		return 0;
	while (lane + 1 < ABREAST_LANES && of->lanes[lane].count && !takes(&of->lanes[lane], start_ns, end_ns))
		lane++;
	*is_first = !of->lanes[lane].count;
	if (*is_first)
		push(&of->lanes[lane], start_ns, end_ns);
	return lane;
}

void abreast_free(struct abreast *abreast)
{
	for (size_t i = 0; i < abreast->count; i++)
		for (size_t lane = 0; lane < ABREAST_LANES; lane++)
			free(abreast->rows[i].lanes[lane].items);
	free(abreast->rows);
	number_map_free(&abreast->places);
	*abreast = (struct abreast){.rows = NULL};
}

void abreast_label(struct text *name, const struct thread *thread, uint32_t lane)
{
	if (thread && !thread->name[0])
		text_format(name, "thread %" PRIu32, thread->tid);
	else
		text_string(name, thread ? thread->name : "steps");
	text_format(name, ", what overlaps (%" PRIu32 ")", lane);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges that are requests; see reducer/model/requests.h. */
#include "reducer/model/requests.h"

#include <stdlib.h>
#include <string.h>

#define MOST 0.6 /* of the words: as many as steps by period must explain (periods.c) */

/* NULL = no memory. */
static struct request_sum *place_of(struct requests *requests, uint32_t sum)
{
	if (sum >= requests->room) {
		size_t room = 2 * ((size_t)sum + 32);
		struct request_sum *sums = realloc(requests->sums, room * sizeof *sums);
		if (sums == NULL)
			return NULL;
		memset(sums + requests->room, 0, (room - requests->room) * sizeof *sums);
		requests->sums = sums;
		requests->room = room;
	}
	return &requests->sums[sum];
}

void requests_begin(struct requests *requests, uint32_t sum, uint32_t thread)
{
	struct request_sum *place = place_of(requests, sum);

	if (place == NULL)
		return;
	place->is_on_several |= place->thread != 0 && place->thread != thread;
	place->thread = thread;
}

void requests_say(struct requests *requests, uint32_t sum, size_t words)
{
	requests->words += words;
	if (sum < requests->room)
		requests->sums[sum].words += words;
}

bool requests_are_named(const struct requests *requests)
{
	for (size_t i = 0; i < requests->room; i++)
		if (requests->sums[i].is_on_several && (double)requests->sums[i].words >= MOST * (double)requests->words)
			return true;
	return false;
}

void requests_free(struct requests *requests)
{
	free(requests->sums);
	*requests = (struct requests){.sums = NULL};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* GPU calls by the places that call; see reducer/model/call_places.h. */
#include "reducer/model/call_places.h"

#include "reducer/model/step_guess.h"

#include <string.h>

/* What the other stream has of calls is put in here: from now on the two differ. */
static void part(void *context)
{
	struct call_places *places = context;
	const struct periods *calls = places->calls;

	if (!places->is_same || places->is_unneeded)
		return;
	places->is_same = 0;
	for (size_t i = 0; i < calls->count; i++) {
		const struct period_word *word = &calls->words[i];
		uint64_t function = calls->symbols[word->symbol].key ^ STEP_GUESS_CALL;
		uint32_t place = number_map_find(&places->first, 0, function);

		if (place != NUMBER_MAP_NONE)
			periods_add(&places->own, step_guess_place(function, place), word->time, word->thread);
	}
}

int call_places_begin(struct call_places *places, struct periods *calls)
{
	memset(places, 0, sizeof *places);
	places->calls = calls;
	places->is_same = 1;
	calls->before_drop = part;
	calls->drop_context = places;
	return periods_begin(&places->own);
}

void call_places_free(struct call_places *places)
{
	periods_free(&places->own);
	number_map_free(&places->first);
}

/* Behind the calls of the same function from the same place. */
static size_t run_from(const struct call_list *calls, size_t i)
{
	size_t next = i + 1;

	while (next < calls->count && calls->functions[next] == calls->functions[i] && calls->stacks[next] == calls->stacks[i] &&
	       calls->contexts[next] == calls->contexts[i])
		next++;
	return next;
}

/* Is each of these called from where it was called first? */
static int are_known(struct call_places *places, const struct call_list *calls)
{
	for (size_t i = 0; i < calls->count; i = run_from(calls, i)) {
		uint32_t first = number_map_find(&places->first, 0, calls->functions[i]);
		uint32_t place = call_place(calls->stacks[i], calls->contexts[i]);

		if (first == NUMBER_MAP_NONE && number_map_set(&places->first, 0, calls->functions[i], place) == 0)
			first = place;
		if (first != place)
			return 0;
	}
	return 1;
}

void call_places_add(struct call_places *places, const struct call_list *calls, uint32_t thread)
{
	if (places->is_unneeded)
		return;
	if (places->is_same && periods_have_room(places->calls, calls->count) && are_known(places, calls))
		return;
	part(places);
	for (size_t i = 0, next = 0; i < calls->count; i = next) {
		next = run_from(calls, i);
		uint64_t key = step_guess_place(calls->functions[i], call_place(calls->stacks[i], calls->contexts[i]));
		periods_add_times(&places->own, key, calls->times + i, next - i, thread);
	}
}

/* Has the other stream words besides calls? */
static int has_others(const struct call_places *places)
{
	const struct periods *calls = places->calls;
	size_t i = 0;

	while (i < calls->symbol_count && number_map_find(&places->first, 0, calls->symbols[i].key ^ STEP_GUESS_CALL) != NUMBER_MAP_NONE)
		i++;
	return i < calls->symbol_count;
}

struct periods *call_places_stream(struct call_places *places)
{
	if (places->is_unneeded || (places->is_same && !has_others(places)))
		return NULL;
	part(places);
	return &places->own;
}

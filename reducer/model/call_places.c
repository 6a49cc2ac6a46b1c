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
		uint32_t stack = number_map_find(&places->stacks, 0, function);

		if (stack != NUMBER_MAP_NONE)
			periods_add(&places->own, step_guess_place(function, stack), word->time, word->thread);
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
	number_map_free(&places->stacks);
}

/* Is each of these called from where it was called first? */
static int are_known(struct call_places *places, const uint64_t *functions, const uint64_t *stacks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t first = number_map_find(&places->stacks, 0, functions[i]);

		if (first == NUMBER_MAP_NONE && stacks[i] < NUMBER_MAP_NONE &&
		    number_map_set(&places->stacks, 0, functions[i], (uint32_t)stacks[i]) == 0)
			first = (uint32_t)stacks[i];
		if (first != stacks[i])
			return 0;
		while (i + 1 < count && functions[i + 1] == functions[i] && stacks[i + 1] == stacks[i])
			i++;
	}
	return 1;
}

void call_places_add(struct call_places *places, const uint64_t *functions, const uint64_t *stacks, const uint64_t *times, size_t count,
		     uint32_t thread)
{
	if (places->is_unneeded)
		return;
	if (places->is_same && periods_have_room(places->calls, count) && are_known(places, functions, stacks, count))
		return;
	part(places);
	for (size_t i = 0, next = 0; i < count; i = next) {
		for (next = i + 1; next < count && functions[next] == functions[i] && stacks[next] == stacks[i];)
			next++;
		periods_add_times(&places->own, step_guess_place(functions[i], stacks[i]), times + i, next - i, thread);
	}
}

/* Has the other stream words besides calls? */
static int has_others(const struct call_places *places)
{
	const struct periods *calls = places->calls;
	size_t i = 0;

	while (i < calls->symbol_count && number_map_find(&places->stacks, 0, calls->symbols[i].key ^ STEP_GUESS_CALL) != NUMBER_MAP_NONE)
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

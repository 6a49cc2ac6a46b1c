/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the last segment; see reducer/model/periods_ends.h. */
#include "reducer/model/periods_ends.h"

#include <stdlib.h>

#define LOOKED_AT 3u /* segments before a part that it may be the beginning of */

/* The most unusual words in a row from word `at` to `end` that a usual one follows. */
static size_t longest_strange(const struct period_ends *ends, size_t at, size_t end)
{
	size_t strange = 0, most = 0;

	for (; at < end; at++) {
		int is_usual = ends->is_usual[ends->periods->words[at].symbol];
		most = is_usual && strange > most ? strange : most;
		strange = is_usual ? 0 : strange + 1;
	}
	return most;
}

/* How long the longest segment before the `i`th lasted but for the first, which compiles; 0 = there is none. */
static uint64_t longest_before(const struct period_ends *ends, size_t i)
{
	const struct period_word *words = ends->periods->words;
	uint64_t longest = 0;

	for (size_t k = 1; k < i; k++) {
		uint64_t length = words[ends->anchors[k + 1]].time - words[ends->anchors[k]].time;
		longest = length > longest ? length : longest;
	}
	return longest;
}

static int by_size(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

/* How long the median one of the same segments lasted; 0 = there is none, or no memory. */
static uint64_t usual_before(const struct period_ends *ends, size_t i)
{
	const struct period_word *words = ends->periods->words;
	uint64_t *lengths = i < 2 ? NULL : malloc((i - 1) * sizeof *lengths), usual;

	if (lengths == NULL)
		return 0;
	for (size_t k = 1; k < i; k++)
		lengths[k - 1] = words[ends->anchors[k + 1]].time - words[ends->anchors[k]].time;
	qsort(lengths, i - 1, sizeof *lengths, by_size);
	usual = lengths[(i - 1) / 2];
	free(lengths);
	return usual;
}

/*
 * It lasts until as many words have come as the others have, or until more unusual ones come in a row than in the one before it: what
 * comes behind the loop is not its. Where that would be longer than usual, nothing tells when it ended: until its last usual word, but
 * none that comes later than any other one but the first took. `last`: word that it cannot go beyond.
 */
static void end_of(const struct period_ends *ends, size_t i, size_t last, struct period_step *step)
{
	const struct period_word *words = ends->periods->words;
	size_t from = ends->anchors[i], strange = 0, usual = from, at = from + 1, allowed;
	uint64_t longest = longest_before(ends, i);

	allowed = i == 0 ? SIZE_MAX : longest_strange(ends, ends->anchors[i - 1], from);
	for (; at < last && at < from + ends->median_words && strange <= allowed; at++) {
		strange = ends->is_usual[words[at].symbol] ? 0 : strange + 1;
		usual = strange == 0 ? at : usual;
	}
	at -= strange > allowed ? strange : 0;
	step->ends_with_word = words[at].time - step->begin > usual_before(ends, i) && longest > 0;
	while (step->ends_with_word && usual > from && (words[usual].time - step->begin > longest || !ends->is_usual[words[usual].symbol]))
		usual--;
	step->end = step->ends_with_word ? words[usual].time : words[at].time;
}

/* The next word of that thread from `at` on and before `end`; `end` = none. */
static size_t next_of_thread(const struct periods *periods, uint32_t thread, size_t at, size_t end)
{
	while (at < end && periods->words[at].thread != thread)
		at++;
	return at;
}

/* Does segment `i` begin with all words of the last one, as far as the thread that begins both says them? */
static int begins_like(const struct period_ends *ends, size_t i)
{
	const struct periods *periods = ends->periods;
	size_t part = ends->anchors[ends->count - 1], at = ends->anchors[i], end = ends->anchors[i + 1];
	uint32_t thread = periods->words[part].thread;

	if (periods->words[at].thread != thread)
		return 0;
	while ((part = next_of_thread(periods, thread, part, periods->count)) < periods->count) {
		at = next_of_thread(periods, thread, at, end);
		if (at == end || periods->words[at++].symbol != periods->words[part++].symbol)
			return 0;
	}
	return 1;
}

/* The last segment: did the process stop in the middle of a step, or was a function of steps called once more on the way out? */
static int is_begun(const struct period_ends *ends)
{
	size_t last = ends->count - 1;

	for (size_t i = last; i > 0 && last - i < LOOKED_AT; i--)
		if (begins_like(ends, i - 1))
			return 1;
	return 0;
}

void periods_end_last(const struct period_ends *ends, struct period_found *found)
{
	size_t i = found->count - 1;
	struct period_step *last = &found->steps[i];

	if (last->is_part && i > 1 && last->begin - last[-1].begin > longest_before(ends, i - 1) && longest_before(ends, i - 1) > 0 &&
	    (last->words == 1 || !is_begun(ends))) {
		end_of(ends, i - 1, ends->anchors[i], last - 1);
		found->count -= last->words > 1;
	}
	if (found->count > i)
		end_of(ends, i, ends->periods->count - 1, last);
}

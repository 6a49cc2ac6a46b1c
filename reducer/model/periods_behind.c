/* SPDX-License-Identifier: Apache-2.0 */
/* Loops one behind the other; see reducer/model/periods_behind.h. */
#include "reducer/model/periods_behind.h"

#include <stdlib.h>
#include <string.h>

#define CUTS_MOST 3	/* one inside the other: eight loops */
#define SHARE_LEAST 0.6 /* of the words, as periods.c has it of one period */
#define LOOP_PART 10	/* of the time of the steps, or of their number (some compile): what has less of both is no loop of its own */

/* A stretch of a stream: words from..to - 1. */
struct part {
	size_t from, to;
};

/* A stream of those words alone. */
static int make_part(const struct periods *whole, struct part part, struct periods *periods)
{
	if (periods_begin(periods) != 0)
		return -1;
	for (size_t i = part.from; i < part.to; i++) {
		const struct period_word *word = &whole->words[i];
		periods->is_within = word->is_inner;
		periods_add(periods, whole->symbols[word->symbol].key, word->time, word->thread);
		periods->symbols[periods->words[periods->count - 1].symbol].kind = whole->symbols[word->symbol].kind;
		if (periods->is_short)
			return -1;
	}
	return 0;
}

static int find_in(const struct periods *whole, struct part part, struct period_found *found)
{
	struct periods periods;
	int result = make_part(whole, part, &periods);

	memset(found, 0, sizeof *found);
	result = result == 0 ? periods_find(&periods, found) : result;
	periods_free(&periods);
	return result;
}

/* By symbol: words in the part, and the last of them. */
struct kind {
	size_t count, last, seen;
};

/*
 * Where the words change most: the smaller one of two numbers, of words whose kind does not come any more and of such as did not come
 * yet, is the largest there. 0 = they do not change. SIZE_MAX = no memory.
 */
static size_t find_cut(const struct periods *whole, struct part part)
{
	struct kind *kinds = calloc(whole->symbol_count + 1, sizeof *kinds);
	size_t over = 0, to_come = part.to - part.from, best = 0, cut = 0;

	if (kinds == NULL)
		return SIZE_MAX;
	for (size_t i = part.from; i < part.to; i++) {
		struct kind *kind = &kinds[whole->words[i].symbol];
		kind->count++;
		kind->last = i;
	}
	for (size_t i = part.from; i < part.to; i++) {
		struct kind *kind = &kinds[whole->words[i].symbol];
		size_t least = over < to_come ? over : to_come;
		if (least > best) {
			best = least;
			cut = i;
		}
		to_come -= kind->seen++ == 0 ? kind->count : 0;
		over += kind->last == i ? kind->count : 0;
	}
	free(kinds);
	return cut;
}

static uint64_t time_of(const struct period_found *found)
{
	const struct period_step *last = &found->steps[found->count - 1];

	return (last->end > last->begin ? last->end : last->begin) - found->steps[0].begin;
}

/* The longer one of two stays, the other one is freed. */
static void keep_longer(struct period_found *best, struct period_found *other)
{
	if (other->count > 0 && (best->count == 0 || time_of(other) > time_of(best))) {
		free(best->steps);
		*best = *other;
	} else {
		free(other->steps);
	}
}

static size_t words_of(const struct period_found *found)
{
	size_t words = 0;

	for (size_t i = 0; i < found->count; i++)
		words += found->steps[i].words;
	return words;
}

static int cut_loops(const struct periods *whole, struct part part, unsigned cuts, struct period_found *best, size_t *words);

/* *words: in the steps of all loops of the part. */
static int find_loops(const struct periods *whole, struct part part, unsigned cuts, struct period_found *best, size_t *words)
{
	struct period_found found;

	if (find_in(whole, part, &found) != 0)
		return -1;
	if (found.count == 0 && cuts > 0)
		return cut_loops(whole, part, cuts, best, words);
	*words += words_of(&found);
	keep_longer(best, &found);
	return 0;
}

/* The same of a part that is known to hold no period through most of it. */
static int cut_loops(const struct periods *whole, struct part part, unsigned cuts, struct period_found *best, size_t *words)
{
	size_t cut = find_cut(whole, part);

	if (cut == SIZE_MAX)
		return -1;
	if (cut == 0)
		return 0;
	if (find_loops(whole, (struct part){part.from, cut}, cuts - 1, best, words) != 0)
		return -1;
	return find_loops(whole, (struct part){cut, part.to}, cuts - 1, best, words);
}

static int find_in_parts(const struct periods *periods, struct period_found *found)
{
	size_t words = 0;
	int result = cut_loops(periods, (struct part){0, periods->count}, CUTS_MOST, found, &words);

	if (result == 0 && (double)words >= SHARE_LEAST * (double)periods->count)
		return 0;
	free(found->steps);
	memset(found, 0, sizeof *found);
	return result;
}

int periods_find_loop(const struct periods *periods, struct period_found *found)
{
	if (periods_find(periods, found) != 0)
		return -1;
	return found->count > 0 ? 0 : find_in_parts(periods, found);
}

/* What lacks most of a round is none: one that the cut went through, the making of the net. */
static size_t count_rounds(const struct period_found *found)
{
	size_t rounds = 0;

	for (size_t i = 0; i < found->count; i++)
		rounds += !found->steps[i].is_part;
	return rounds;
}

/* The longest loop of the part, where it took longer than the other one. */
static int take_other(const struct periods *periods, struct part part, int is_before, struct period_other *other)
{
	struct period_found loop = {.steps = NULL};
	size_t words = 0;
	int result = find_loops(periods, part, CUTS_MOST, &loop, &words);

	if (result == 0 && loop.count > 0 && time_of(&loop) > other->time)
		*other = (struct period_other){count_rounds(&loop), time_of(&loop), is_before};
	free(loop.steps);
	return result;
}

int periods_find_other(const struct periods *periods, const struct period_found *found, struct period_other *other)
{
	const struct period_step *last = &found->steps[found->count - 1];
	struct part before = {0, 0}, behind = {periods->count, periods->count};

	memset(other, 0, sizeof *other);
	while (before.to < periods->count && periods->words[before.to].time < found->steps[0].begin)
		before.to++;
	while (behind.from > before.to && last->end > last->begin && periods->words[behind.from - 1].time > last->end)
		behind.from--;
	if (take_other(periods, before, 1, other) != 0 || take_other(periods, behind, 0, other) != 0)
		return -1;
	if (other->time < (last->begin - found->steps[0].begin) / LOOP_PART && other->rounds < found->count / LOOP_PART)
		memset(other, 0, sizeof *other);
	return 0;
}

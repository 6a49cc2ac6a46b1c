/* SPDX-License-Identifier: Apache-2.0 */
/* The period of a stream of words; see reducer/model/periods.h. */
#include "reducer/model/periods.h"

#include "reducer/base/base.h"
#include "reducer/model/periods_abreast.h"
#include "reducer/model/periods_ends.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MOST (1u << 20)   /* kept: 16 MiB; beyond, the most frequent word is dropped */
#define SYMBOLS_MOST (1u << 18) /* distinct words; more are not looked at */
#define CANDIDATES 64           /* anchors tried: the counts that most symbols share */
#define STEPS_LEAST 5           /* like segments: fewer may be chance */
#define WORDS_LEAST 3           /* words of the median segment, */
#define KINDS_LEAST 2           /* of so many kinds: a call repeated is no step */
#define ALIKE 0.6               /* likeness from which a segment is one like the others; short random ones stay below */
#define SEGMENTS_MANY 30        /* with fewer long random segments can be alike: there half of the words must come */
#define SAME_LEAST 0.5          /* equally often in half of the segments, which chance does not do */
#define SHARE_LEAST 0.6         /* of the segments, and of their words, that are alike; not of time: a compilation may outlast all steps */
#define ROUNDS_MOST 16          /* rounds of a loop inside a step */
#define REST_LEAST 4            /* words more than usual, and */
#define REST_FROM 2             /* times the usual ones, of which nine tenths (unless steps are known): other work follows the step */
#define STUB_PART 4             /* see struct period_step */
#define BETTER_BY 0.03          /* more like segments: what makes a longer period the better one */
#define SHORT_PART 100          /* a hundredth of the time of all words, */
#define FEW_PART 10             /* and a tenth of them: less than both is something on the way out */

int periods_begin(struct periods *periods)
{
	memset(periods, 0, sizeof *periods);
	periods->place_count = 1024;
	periods->places = calloc(periods->place_count, sizeof *periods->places);
	return periods->places == NULL ? -1 : 0;
}

void periods_free(struct periods *periods)
{
	free(periods->words);
	free(periods->symbols);
	free(periods->places);
	memset(periods, 0, sizeof *periods);
}

static uint64_t mix(uint64_t value)
{
	value *= UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
	return value ^ value >> 29;
}

static void *wider(void *array, size_t *room, size_t bytes)
{
	size_t wanted = *room == 0 ? 512 : *room * 2;
	void *grown = realloc(array, wanted * bytes);

	if (grown != NULL)
		*room = wanted;
	return grown;
}

static int rehash(struct periods *periods)
{
	size_t count = periods->place_count * 2;
	uint32_t *places = calloc(count, sizeof *places);

	if (places == NULL)
		return -1;
	for (uint32_t i = 0; i < periods->symbol_count; i++) {
		uint64_t at = mix(periods->symbols[i].key);
		while (places[at % count] != 0)
			at++;
		places[at % count] = i + 1;
	}
	free(periods->places);
	periods->places = places;
	periods->place_count = count;
	return 0;
}

/* The symbol of a key, made on first sight; NULL where there is no room. */
static struct period_symbol *symbol_of(struct periods *periods, uint64_t key)
{
	uint64_t at = mix(key), mask = periods->place_count - 1; /* a power of two */

	for (; periods->places[at & mask] != 0; at++) {
		struct period_symbol *symbol = &periods->symbols[periods->places[at & mask] - 1];
		if (symbol->key == key)
			return symbol;
	}
	if (periods->symbol_count >= SYMBOLS_MOST)
		return NULL;
	if (periods->symbol_count == periods->symbol_room) {
		struct period_symbol *symbols = wider(periods->symbols, &periods->symbol_room, sizeof *symbols);
		if (symbols == NULL)
			return NULL;
		periods->symbols = symbols;
	}
	periods->places[at & mask] = (uint32_t)periods->symbol_count + 1;
	periods->symbols[periods->symbol_count++] = (struct period_symbol){.key = key};
	if (periods->symbol_count * 2 > periods->place_count && rehash(periods) != 0)
		periods->is_short = 1; /* no more words: the table must not fill up */
	return &periods->symbols[periods->symbol_count - 1];
}

/* Drops the words of the most frequent symbols until a quarter of the room is free. */
static void drop_frequent(struct periods *periods)
{
	while (periods->count > WORDS_MOST / 4 * 3) {
		size_t most = 0, kept = 0;
		for (size_t i = 0; i < periods->symbol_count; i++)
			if (periods->symbols[i].count > periods->symbols[most].count)
				most = i;
		periods->symbols[most].is_dropped = 1;
		periods->symbols[most].count = 0;
		for (size_t i = 0; i < periods->count; i++)
			if (periods->words[i].symbol != most)
				periods->words[kept++] = periods->words[i];
		periods->count = kept;
	}
}

void periods_add_times(struct periods *periods, uint64_t key, const uint64_t *times, size_t count, uint32_t thread)
{
	struct period_symbol *symbol = periods->is_short ? NULL : symbol_of(periods, key);

	for (size_t i = 0; i < count; i++) {
		if (symbol == NULL || symbol->is_dropped || periods->is_short)
			return;
		if (periods->count == periods->room) {
			struct period_word *words = wider(periods->words, &periods->room, sizeof *words);
			periods->is_short = words == NULL;
			if (words == NULL)
				return;
			periods->words = words;
		}
		symbol->count++;
		periods->words[periods->count++] = (struct period_word){
			.time = times[i], .symbol = (uint32_t)(symbol - periods->symbols), .thread = thread & INT32_MAX,
			.is_inner = periods->is_within != 0};
		if (periods->count < WORDS_MOST)
			continue;
		if (periods->before_drop != NULL)
			periods->before_drop(periods->drop_context);
		drop_frequent(periods);
	}
}

int periods_have_room(const struct periods *periods, size_t count)
{
	return periods->count + count < WORDS_MOST;
}

/* The words by symbol, in time order within each. */
struct sorted {
	uint32_t *words;  /* indexes into periods->words */
	uint32_t *starts; /* by symbol, one more at the end */
};

static int sort_words(const struct periods *periods, struct sorted *sorted)
{
	uint32_t *next = calloc(periods->symbol_count + 1, sizeof *next), at = 0;

	sorted->words = malloc((periods->count + 1) * sizeof *sorted->words);
	sorted->starts = malloc((periods->symbol_count + 1) * sizeof *sorted->starts);
	if (next == NULL || sorted->words == NULL || sorted->starts == NULL) {
		free(next);
		return -1;
	}
	for (size_t i = 0; i < periods->symbol_count; at += periods->symbols[i++].count)
		next[i] = sorted->starts[i] = at;
	sorted->starts[periods->symbol_count] = at;
	for (size_t i = 0; i < periods->count; i++)
		sorted->words[next[periods->words[i].symbol]++] = (uint32_t)i;
	free(next);
	return 0;
}

/* An anchor and what its segments look like. */
struct trial {
	uint32_t anchor; /* symbol */
	size_t segments, alike, words; /* words: from the first anchor on */
	double alike_words, likeness; /* share of the words; mean of the like ones */
	size_t median_words, median_kinds;
	size_t same_words; /* of the median ones: words that half of the segments have exactly so often */
	size_t kinds[PERIOD_WORDS]; /* of the median ones, by what is known of them */
	int is_known; /* the segments are steps, be they alike or not: the last of an epoch may lack taking the next batch */
};

/* Scratch of a trial, by segment. */
struct segments {
	uint32_t *words, *shared, *of_symbol; /* words in it; shared with the median one; of the symbol at hand */
	uint32_t *kinds; /* of the median one's, those that it has */
	size_t count;
	size_t same; /* those that have exactly the median of the symbol at hand */
	uint8_t *is_usual; /* by symbol: the median segment has it; NULL = nobody asks */
	uint8_t *is_traced; /* something was compiled in it */
};

/* The segment that the word lies in, walking on from `segment`; words before the first anchor have none. */
static size_t walk(const uint32_t *anchors, size_t count, size_t segment, uint32_t word)
{
	while (segment + 1 < count && anchors[segment + 1] <= word)
		segment++;
	return segment;
}

/* One symbol's part in all segments: how many of it the median segment has, and how many of those each one shares. */
static uint32_t weigh_symbol(const struct sorted *sorted, uint32_t symbol, const uint32_t *anchors, struct segments *segments,
			     uint32_t *hit, uint32_t *scratch)
{
	uint32_t hits = 0, median = 0;
	size_t segment = 0;

	for (uint32_t i = sorted->starts[symbol]; i < sorted->starts[symbol + 1]; i++) {
		if (sorted->words[i] < anchors[0])
			continue;
		segment = walk(anchors, segments->count, segment, sorted->words[i]);
		if (segments->of_symbol[segment]++ == 0)
			hit[hits++] = (uint32_t)segment;
		segments->words[segment]++;
	}
	if (hits * 2 > segments->count) {
		for (uint32_t i = 0; i < hits; i++)
			scratch[i] = segments->of_symbol[hit[i]];
		median = base_at_rank(scratch, hits, hits - 1 - segments->count / 2); /* the segments without it stand below all of these */
	}
	segments->same = 0;
	for (uint32_t i = 0; i < hits; i++) {
		uint32_t here = segments->of_symbol[hit[i]];
		segments->same += here == median;
		segments->shared[hit[i]] += here < median ? here : median;
		segments->kinds[hit[i]] += median > 0;
		segments->of_symbol[hit[i]] = 0;
	}
	return median;
}

static double likeness_of(const struct segments *segments, size_t i, size_t median_words)
{
	double all = (double)segments->words[i] + (double)median_words - (double)segments->shared[i];

	return all > 0 ? (double)segments->shared[i] / all : 0;
}

static void judge(const struct segments *segments, struct trial *trial)
{
	double alike_words = 0, all_words = 0, likeness = 0;

	for (size_t i = 0; i < segments->count; i++) {
		double like = likeness_of(segments, i, trial->median_words);
		if (like < ALIKE && segments->is_traced[i])
			continue; /* what was compiled may be more than all steps together */
		all_words += segments->words[i];
		if (like < ALIKE)
			continue;
		trial->alike++;
		likeness += like;
		alike_words += segments->words[i];
	}
	trial->alike_words = all_words > 0 ? alike_words / all_words : 0;
	trial->likeness = trial->alike > 0 ? likeness / (double)trial->alike : 0;
}

static void free_segments(struct segments *segments)
{
	free(segments->words);
	free(segments->kinds);
	free(segments->shared);
	free(segments->of_symbol);
	free(segments->is_usual);
	free(segments->is_traced);
}

static int make_segments(struct segments *segments, size_t count)
{
	segments->count = count;
	segments->words = calloc(count, sizeof(uint32_t));
	segments->shared = calloc(count, sizeof(uint32_t));
	segments->of_symbol = calloc(count, sizeof(uint32_t));
	segments->is_traced = calloc(count, 1);
	segments->kinds = calloc(count, sizeof(uint32_t));
	if (segments->kinds == NULL)
		return -1;
	return segments->words != NULL && segments->shared != NULL && segments->of_symbol != NULL && segments->is_traced != NULL ? 0 : -1;
}

/* Marks the segments that say this symbol. */
static void mark_traced(const struct sorted *sorted, uint32_t symbol, const uint32_t *anchors, struct segments *segments)
{
	size_t segment = 0;

	for (uint32_t i = sorted->starts[symbol]; i < sorted->starts[symbol + 1]; i++) {
		segment = walk(anchors, segments->count, segment, sorted->words[i]);
		segments->is_traced[segment] |= sorted->words[i] >= anchors[0];
	}
}

/* Cuts the stream at an anchor. The segments stay with the caller. -1: no memory. */
static int try_anchor(const struct periods *periods, const struct sorted *sorted, struct trial *trial, struct segments *segments)
{
	const uint32_t *anchors = &sorted->words[sorted->starts[trial->anchor]];
	size_t count = periods->symbols[trial->anchor].count;
	uint32_t *hit = malloc(2 * count * sizeof *hit);
	int result = hit == NULL ? -1 : make_segments(segments, count);

	trial->segments = count;
	trial->words = periods->count - anchors[0];
	for (uint32_t s = 0; result == 0 && s < periods->symbol_count; s++) {
		uint32_t median = periods->symbols[s].count == 0 ? 0 : weigh_symbol(sorted, s, anchors, segments, hit, hit + count);
		if (segments->is_usual != NULL)
			segments->is_usual[s] = median > 0;
		if (periods->symbols[s].kind == PERIOD_WORD_TRACE && periods->symbols[s].count > 0)
			mark_traced(sorted, s, anchors, segments);
		trial->median_words += median;
		trial->median_kinds += median > 0;
		trial->kinds[periods->symbols[s].kind] += median > 0;
		trial->same_words += segments->same * 2 >= count ? median : 0;
	}
	free(hit);
	if (result == 0)
		judge(segments, trial);
	return result;
}

static int is_period(const struct trial *trial)
{
	size_t making = trial->kinds[PERIOD_WORD_MAKING];

	if ((making > 0 && making + trial->kinds[PERIOD_WORD_LOOP] == trial->median_kinds) ||
	    (trial->segments < SEGMENTS_MANY && (double)trial->same_words < SAME_LEAST * (double)trial->median_words))
		return 0;
	return trial->alike >= STEPS_LEAST && trial->median_words >= WORDS_LEAST && trial->median_kinds >= KINDS_LEAST &&
	       (double)trial->alike >= SHARE_LEAST * (double)trial->segments && trial->alike_words >= SHARE_LEAST;
}

static double share(const struct trial *trial)
{
	return (double)trial->alike / (double)trial->segments;
}

/* The shorter one does what nets do and nothing that a script's loop does, the longer one does more of that: it runs the net. */
static int is_net(const struct trial *longer, const struct trial *shorter)
{
	return shorter->kinds[PERIOD_WORD_LAYER] > 0 && shorter->kinds[PERIOD_WORD_LOOP] == 0 &&
	       longer->kinds[PERIOD_WORD_LAYER] > shorter->kinds[PERIOD_WORD_LAYER];
}

/* Is `longer` the better one of two periods? Not one that lies behind most of what the other one explains. */
static int is_better(const struct trial *longer, const struct trial *shorter)
{
	return longer->words * 2 >= shorter->words &&
	       (is_net(longer, shorter) || (longer->segments * ROUNDS_MOST >= shorter->segments &&
					    share(longer) >= share(shorter) + BETTER_BY));
}

/* A count of occurrences, how many symbols share it, and the first of them. */
struct rank {
	uint32_t count, sharers, first;
};

static int by_count(const void *a, const void *b)
{
	const struct rank *one = a, *other = b;

	if (one->count != other->count)
		return one->count < other->count ? 1 : -1;
	return one->first < other->first ? -1 : one->first > other->first;
}

static int by_sharers(const void *a, const void *b)
{
	const struct rank *one = a, *other = b;

	if (one->sharers != other->sharers)
		return one->sharers < other->sharers ? 1 : -1;
	return by_count(a, b);
}

/* The counts that most symbols share, most frequent first: the shortest period comes first. */
static size_t find_candidates(const struct periods *periods, struct rank *ranks)
{
	size_t count = 0, kept = 0;

	for (uint32_t s = 0; s < periods->symbol_count; s++)
		if (periods->symbols[s].count >= STEPS_LEAST)
			ranks[count++] = (struct rank){periods->symbols[s].count, 1, s};
	qsort(ranks, count, sizeof *ranks, by_count);
	for (size_t i = 0; i < count; i++)
		if (kept > 0 && ranks[kept - 1].count == ranks[i].count)
			ranks[kept - 1].sharers++;
		else
			ranks[kept++] = ranks[i];
	qsort(ranks, kept, sizeof *ranks, by_sharers);
	kept = kept < CANDIDATES ? kept : CANDIDATES;
	qsort(ranks, kept, sizeof *ranks, by_count);
	return kept;
}

/*
 * Whether segments of an anchor can be long enough. More than half of them have each word of the median one, so all words are more
 * than half of as many as there would be if every segment were like it: of a log of one kernel the anchor is every word.
 */
static int may_be_period(const struct periods *periods, uint32_t anchors)
{
	return 2 * periods->count > (uint64_t)WORDS_LEAST * anchors;
}

/*
 * Hardly any of the time, nor of the words: what a program gives back at its end, a graph for each batch size, repeats, too. One of the
 * two alone may be a training: what is compiled before it lasts longer than all its steps, and what is made has more words.
 */
static int is_negligible(const struct periods *periods, const struct sorted *sorted, const struct trial *trial)
{
	const uint32_t *anchors = &sorted->words[sorted->starts[trial->anchor]];
	const struct period_word *words = periods->words;
	uint64_t mean = (words[anchors[trial->segments - 1]].time - words[anchors[0]].time) / (trial->segments - 1);

	return mean * trial->segments < (words[periods->count - 1].time - words[0].time) / SHORT_PART &&
	       trial->median_words * trial->segments < periods->count / FEW_PART;
}

/* The best anchor, or *has_best 0. */
static int find_best(const struct periods *periods, const struct sorted *sorted, struct trial *best, int *has_best)
{
	struct rank *ranks = malloc((periods->symbol_count + 1) * sizeof *ranks);
	size_t count = ranks == NULL ? 0 : find_candidates(periods, ranks);
	int result = ranks == NULL ? -1 : 0;

	*has_best = 0;
	for (size_t i = 0; result == 0 && i < count; i++) {
		struct trial trial = {.anchor = ranks[i].first};
		struct segments segments = {.words = NULL};
		if (!may_be_period(periods, ranks[i].count))
			continue;
		result = try_anchor(periods, sorted, &trial, &segments);
		free_segments(&segments);
		if (result == 0 && is_period(&trial) && !is_negligible(periods, sorted, &trial) &&
		    (!*has_best || is_better(&trial, best))) {
			*best = trial;
			*has_best = 1;
		}
	}
	free(ranks);
	return result;
}

/*
 * A segment that has all that the others have and much else, and does not compile: an epoch ended, something was evaluated or saved.
 * Where that began: at the first word that is not usual.
 */
static uint64_t rest_of(const struct periods *periods, const uint32_t *anchors, const struct trial *best,
			const struct segments *segments, size_t i)
{
	size_t usual = best->median_words, at = anchors[i];

	if (i + 1 >= best->segments || segments->is_traced[i] || segments->words[i] < REST_FROM * usual ||
	    segments->words[i] < usual + REST_LEAST ||
	    (!best->is_known && segments->shared[i] * 10 < usual * 9))
		return 0;
	while (at < anchors[i + 1] && (segments->is_usual[periods->words[at].symbol] ||
				       (best->is_known && periods->words[at].thread != periods->words[anchors[i]].thread)))
		at++; /* another thread may only be late */
	return periods->words[at].time;
}

static int make_steps(const struct periods *periods, const struct sorted *sorted, const struct trial *best,
		      struct period_found *found)
{
	const uint32_t *anchors = &sorted->words[sorted->starts[best->anchor]];
	struct trial again = {.anchor = best->anchor, .is_known = best->is_known};
	struct segments segments = {.is_usual = calloc(periods->symbol_count + 1, 1)};
	int result = segments.is_usual == NULL ? -1 : try_anchor(periods, sorted, &again, &segments);

	found->steps = result == 0 ? calloc(best->segments, sizeof *found->steps) : NULL;
	for (size_t i = 0; found->steps != NULL && i < best->segments; i++)
		found->steps[i] = (struct period_step){.begin = periods->words[anchors[i]].time,
						       .end = i + 1 < best->segments ? periods->words[anchors[i + 1]].time : 0,
						       .rest = rest_of(periods, anchors, &again, &segments, i),
						       .words = segments.words[i],
						       .is_part = 2 * (size_t)segments.shared[i] < again.median_words,
						       .is_stub = STUB_PART * (size_t)segments.words[i] < again.median_words &&
								  2 * (size_t)segments.kinds[i] < again.median_kinds,
						       .likeness = likeness_of(&segments, i, again.median_words)};
	found->count = best->segments;
	if (found->steps != NULL)
		periods_end_last(&(struct period_ends){periods, anchors, best->segments, again.median_words, segments.is_usual}, found);
	free_segments(&segments);
	if (found->steps == NULL)
		return -1;
	found->thread = periods->words[anchors[0]].thread;
	for (size_t i = 1; i < found->count; i++)
		found->thread = periods->words[anchors[i]].thread == found->thread ? found->thread : 0;
	periods_join_abreast(periods, anchors, found);
	found->anchor = periods->symbols[best->anchor].key;
	found->confidence = share(best) * best->likeness;
	return 0;
}

int periods_find(const struct periods *periods, struct period_found *found)
{
	struct sorted sorted = {NULL, NULL};
	struct trial best = {.anchor = 0};
	int has_best = 0, result = 0;

	memset(found, 0, sizeof *found);
	if (periods->count >= STEPS_LEAST * WORDS_LEAST)
		result = sort_words(periods, &sorted);
	if (result == 0 && sorted.words != NULL)
		result = find_best(periods, &sorted, &best, &has_best);
	if (result == 0 && has_best)
		result = make_steps(periods, &sorted, &best, found);
	free(sorted.words);
	free(sorted.starts);
	return result;
}

/* The symbol of a key; UINT32_MAX = none, or its words were dropped. */
static uint32_t kept_symbol(const struct periods *periods, uint64_t key)
{
	for (uint32_t i = 0; i < periods->symbol_count; i++)
		if (periods->symbols[i].key == key)
			return periods->symbols[i].is_dropped ? UINT32_MAX : i;
	return UINT32_MAX;
}

void periods_join(struct periods *periods, const uint64_t *keys, size_t count)
{
	uint32_t first = count == 0 ? UINT32_MAX : kept_symbol(periods, keys[0]);

	for (size_t i = 1; i < count && first != UINT32_MAX; i++) {
		uint32_t other = kept_symbol(periods, keys[i]);
		if (other == UINT32_MAX || other == first)
			continue;
		for (size_t w = 0; w < periods->count; w++)
			periods->words[w].symbol = periods->words[w].symbol == other ? first : periods->words[w].symbol;
		periods->symbols[first].count += periods->symbols[other].count;
		periods->symbols[other].count = 0;
	}
}

int periods_find_at(const struct periods *periods, uint64_t key, int is_known, struct period_found *found)
{
	struct sorted sorted = {NULL, NULL};
	struct segments segments = {.words = NULL};
	struct trial trial = {.anchor = kept_symbol(periods, key), .is_known = is_known};
	int result = 0;

	memset(found, 0, sizeof *found);
	if (trial.anchor == UINT32_MAX || periods->symbols[trial.anchor].count < STEPS_LEAST)
		return 0;
	result = sort_words(periods, &sorted);
	if (result == 0)
		result = try_anchor(periods, &sorted, &trial, &segments);
	if (result == 0 && (is_known || (trial.alike >= STEPS_LEAST && share(&trial) >= SHARE_LEAST)))
		result = make_steps(periods, &sorted, &trial, found);
	free_segments(&segments);
	free(sorted.words);
	free(sorted.starts);
	return result;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* See reducer/model/periods_abreast.h. */
#include "reducer/model/periods_abreast.h"

#include <stdlib.h>

#define STEPS_LEAST 5	/* as periods.c has it */
#define THREADS_MOST 64 /* that run a loop side by side */
#define LEADS_MOST 2	/* rounds from the least that a thread was ahead of another one to the most: in a round either may be first */

/* A thread that says the anchor. */
struct speaker {
	uint32_t thread, count;
	uint64_t first, last; /* times */
	int64_t least, most; /* so many rounds more than the first speaker's it had begun */
};

/* Who says the anchor; 0 where it is too many, or nobody is known. */
static size_t find_speakers(const struct periods *periods, const uint32_t *anchors, size_t count, struct speaker *speakers)
{
	size_t known = 0, at;

	for (size_t i = 0; i < count; i++) {
		const struct period_word *word = &periods->words[anchors[i]];
		for (at = 0; at < known && speakers[at].thread != word->thread; at++)
			;
		if (word->thread == 0 || at == THREADS_MOST)
			return 0;
		if (at == known)
			speakers[known++] = (struct speaker){.thread = word->thread, .first = word->time};
		speakers[at].count++;
		speakers[at].last = word->time;
	}
	return known;
}

static void note_lead(struct speaker *speakers, size_t at)
{
	int64_t lead = (int64_t)speakers[at].count - speakers[0].count;

	speakers[at].least = lead < speakers[at].least ? lead : speakers[at].least;
	speakers[at].most = lead > speakers[at].most ? lead : speakers[at].most;
}

/* Who began how many rounds, one after the other. */
static void find_leads(const struct periods *periods, const uint32_t *anchors, size_t count, struct speaker *speakers, size_t known)
{
	size_t at;

	for (size_t i = 0; i < known; i++)
		speakers[i].count = 0;
	for (size_t i = 0; i < count; i++) {
		for (at = 0; speakers[at].thread != periods->words[anchors[i]].thread; at++)
			;
		speakers[at].count++;
		for (size_t other = 1; other < known; other++)
			if (at == 0 || at == other)
				note_lead(speakers, other);
	}
}

/*
 * Threads side by side: each as often as the first, give or take one, most of the time together with it, and in its rounds. Workers that
 * take requests from one queue may have answered as many each, but not in rounds: none waits for the others.
 */
static int are_abreast(const struct speaker *speakers, size_t known)
{
	const struct speaker *one = &speakers[0];

	for (size_t i = 1; i < known; i++) {
		uint64_t from = speakers[i].first > one->first ? speakers[i].first : one->first;
		uint64_t to = speakers[i].last < one->last ? speakers[i].last : one->last;
		if (speakers[i].count + 1 < one->count || speakers[i].count > one->count + 1 || to < from ||
		    (to - from) * 2 < one->last - one->first || speakers[i].most - speakers[i].least > LEADS_MOST)
			return 0;
	}
	return known > 1 && one->count >= STEPS_LEAST;
}

void periods_join_abreast(const struct periods *periods, const uint32_t *anchors, struct period_found *found)
{
	struct speaker *speakers = calloc(THREADS_MOST, sizeof *speakers);
	size_t known = speakers == NULL ? 0 : find_speakers(periods, anchors, found->count, speakers), kept = 0;

	if (known > 1)
		find_leads(periods, anchors, found->count, speakers, known);
	for (size_t i = 0; known > 1 && are_abreast(speakers, known) && i < found->count; i++) {
		if (periods->words[anchors[i]].thread == speakers[0].thread) {
			found->steps[kept++] = found->steps[i];
		} else if (kept > 0) {
			found->steps[kept - 1].end = found->steps[i].end;
			found->steps[kept - 1].words += found->steps[i].words;
		}
	}
	found->count = kept > 0 ? kept : found->count;
	free(speakers);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distinct texts by number, for results of analyses: spans' texts live only while the span is told.
 *
 * Rule: numbers are those of one set; to merge, ask the other set for its text.
 */
#ifndef REDUCER_ANALYSIS_WORDS_H
#define REDUCER_ANALYSIS_WORDS_H

#include "reducer/base/index.h"

#define WORDS_RECENT 128u /* a power of two */
#define WORDS_LASTING_MOST 32768u /* places by address: 512 KiB; a power of two */

/* Start from {0}. */
struct words {
	const char **items;
	size_t count, room;
	struct base_index index;
	struct {
		const char *text; /* as the caller gave it; another text may stand there by now */
		uint32_t number;
	} recent[WORDS_RECENT]; /* by address */
	struct words_place {
		const char *text; /* NULL = free */
		uint32_t number;
	} *lasting; /* by address, linear probes, at most a quarter full */
	size_t lasting_room, lasting_count;
	unsigned lasting_shift; /* 64 less the bits of the room */
};

/* The number of a text, new or known. NULL counts as "". */
uint32_t words_number(struct words *words, const char *text);
/*
 * The same of a text that lives on, unchanged, at its address for as long as this set is asked for numbers in this way, as those of
 * a pass over spans do (spans.h): known again by the address alone.
 */
uint32_t words_lasting_search(struct words *words, const char *text);
static inline size_t words_lasting_place(const struct words *words, const char *text)
{
	return (size_t)((uintptr_t)text * UINT64_C(0x9e3779b97f4a7c15) >> words->lasting_shift);
}
static inline uint32_t words_lasting(struct words *words, const char *text)
{
	if (words->lasting_room && text) {
		const struct words_place *place = &words->lasting[words_lasting_place(words, text)];
		if (place->text == text)
			return place->number;
	}
	return words_lasting_search(words, text ? text : "");
}

bool words_has(const struct words *words, const char *text);
void words_free(struct words *words);

#endif

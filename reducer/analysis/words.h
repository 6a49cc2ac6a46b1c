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

/* Start from {0}. */
struct words {
	const char **items;
	size_t count, room;
	struct base_index index;
	struct {
		const char *text; /* as the caller gave it; another text may stand there by now */
		uint32_t number;
	} recent[WORDS_RECENT]; /* by address */
};

/* The number of a text, new or known. NULL counts as "". */
uint32_t words_number(struct words *words, const char *text);
bool words_has(const struct words *words, const char *text);
void words_free(struct words *words);

#endif

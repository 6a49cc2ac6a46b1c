/* SPDX-License-Identifier: Apache-2.0 */
/* A stream without its inner words; see reducer/model/periods_outer.h. */
#include "reducer/model/periods_outer.h"

int periods_outer_differs(const struct periods *periods)
{
	size_t inner = 0;

	for (size_t i = 0; i < periods->count; i++)
		inner += periods->words[i].is_inner;
	return inner > 0 && inner < periods->count;
}

int periods_outer(const struct periods *periods, struct periods *outer)
{
	if (periods_begin(outer) != 0)
		return -1;
	for (size_t i = 0; i < periods->count; i++) {
		const struct period_word *word = &periods->words[i];
		if (!word->is_inner)
			periods_add(outer, periods->symbols[word->symbol].key, word->time, word->thread);
	}
	return outer->is_short ? -1 : 0;
}

void periods_leave(struct periods *periods, uint64_t from, uint64_t to)
{
	size_t kept = 0;

	for (size_t i = 0; i < periods->count; i++) {
		const struct period_word word = periods->words[i];
		if (word.time >= from && word.time <= to)
			periods->symbols[word.symbol].count--;
		else
			periods->words[kept++] = word;
	}
	periods->count = kept;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Texts by their hash, as a log's strings are named. Rule: the texts are the run's; only places are kept. */
#ifndef REDUCER_MODEL_TEXTS_H
#define REDUCER_MODEL_TEXTS_H

#include <stddef.h>
#include <stdint.h>

struct texts {
	struct text_of {
		uint64_t hash;
		const char *text; /* NULL = free */
	} *places;
	size_t count, room;
};

/* Returns -1 without memory. */
int texts_begin(struct texts *texts);
/* The place of a hash, new or known, where its text belongs (texts->count is the caller's to raise); NULL = there is no room. */
struct text_of *texts_place(struct texts *texts, uint64_t hash);
/* NULL = no text has that hash. */
const char *texts_get(const struct texts *texts, uint64_t hash);
void texts_free(struct texts *texts);

#endif

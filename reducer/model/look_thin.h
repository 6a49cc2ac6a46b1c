/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fewer looks at what threads do, where a run is so long that not all of them are kept. Private to the model.
 *
 * Rule: memory follows the number of threads alone. Where there are more than `most` looks, of several that follow each other and have the
 * same key one is drawn, by the time that each stands for, and stands for all: sums stay exact, and what is where stays unbiased. Of as
 * many everywhere: the first hours of a run are known as well as the last.
 */
#ifndef REDUCER_MODEL_LOOK_THIN_H
#define REDUCER_MODEL_LOOK_THIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct look_thin;

/* What is kept of one look. */
struct look_thin_kind {
	size_t bytes;
	size_t most;			     /* looks that are kept, but for one of each key */
	uint64_t (*key)(const void *look);   /* its thread, and what else must not be mixed */
	uint32_t (*count)(const void *look); /* looks that it stands for */
	void (*join)(struct look_thin *thin, void *look, const void *next); /* makes one of both, by look_thin_is_first */
};

struct look_thin {
	const struct look_thin_kind *kind;
	uint64_t random;
	uint64_t each; /* looks that one stands for, but for what came since they were thinned */
	size_t room;   /* looks to come before they are thinned again */
};

/* `seed`: the same log is thinned alike each time. */
struct look_thin look_thin_make(const struct look_thin_kind *kind, uint64_t seed);

/* Before another look is added to `count` ones: thins them in place if it is time for that. Returns how many are left. */
size_t look_thin(struct look_thin *thin, void *looks, size_t count);

/* Draws one of two, by what they stand for. */
bool look_thin_is_first(struct look_thin *thin, uint64_t first, uint64_t second);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that a program names by ranges and answers on several threads: a server's workers. What repeats across such threads is nobody's
 * loop: from one thread's beginning to another's no time passes that anybody waits for.
 *
 * Rule: a range is one where it is outermost on several threads and most words of the process (periods.h) are said within ranges of its
 * name; so a library's ranges around its own calls are none.
 */
#ifndef REDUCER_MODEL_REQUESTS_H
#define REDUCER_MODEL_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUESTS_NONE UINT32_MAX /* no range */

/* Start from {0}. */
struct requests {
	struct request_sum {
		uint64_t words;
		uint32_t thread; /* that was the first in one, 0 = none yet */
		bool is_on_several;
	} *sums; /* by index of ranges->sums */
	size_t room;
	uint64_t words; /* of the process */
};

/* A range of that sum (ranges.h) begins on a thread, outermost. Without memory it is left out. */
void requests_begin(struct requests *requests, uint32_t sum, uint32_t thread);

/* So many words are said on a thread in whose outermost range; REQUESTS_NONE = it is in none. */
void requests_say(struct requests *requests, uint32_t sum, size_t words);

/* Are there such requests? */
bool requests_are_named(const struct requests *requests);

void requests_free(struct requests *requests);

#endif

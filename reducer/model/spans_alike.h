/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spans of calls and kernels that were told of late, kept: most of a log's are like one before but for times and numbers, so that
 * only these are put in, and who gets them finds what follows from the rest by one number (span.alike). Private to the model.
 *
 * Rule: a span is found by all that it was made from. Memory is ALIKE_KEPT spans, touched as they come.
 */
#ifndef REDUCER_MODEL_SPANS_ALIKE_H
#define REDUCER_MODEL_SPANS_ALIKE_H

#include "reducer/model/spans.h"
#include "reducer/model/spans_awaited.h"

#define ALIKE_KEPT 4096u  /* a power of two; 2 MiB where a log has so many */
#define ALIKE_ARGUMENTS 5 /* as many as a kernel has */

/* All that a span is made from but its times and numbers. */
struct alike_key {
	uint32_t first, second; /* a call's function and result, a kernel's shape and queue: places */
	uint32_t op, range, depth, thread;
	uint8_t what, phase, op_source;
};

struct alike {
	uint64_t words[4]; /* the key */
	struct span span;  /* alike 0 = none is kept */
	struct span_argument arguments[ALIKE_ARGUMENTS];
};

struct alikes {
	struct alike *kept; /* NULL until the first */
	struct alike *last[2]; /* the call and the kernel that came last; NULL = none yet */
	struct alike none;  /* where memory is missing */
	uint64_t count;	    /* that were made, so far */
};

/* The part of alikes_of for another key than that before. */
struct alike *alikes_find(struct alikes *alikes, const uint64_t words[4], int *is_new);

/* The span of a key; *is_new: it is empty but for its number, and the caller fills it in. */
static inline struct alike *alikes_of(struct alikes *alikes, const struct alike_key *key, int *is_new)
{
	const uint64_t words[4] = {(uint64_t)key->first << 32 | key->second, (uint64_t)key->op << 32 | key->range,
				   (uint64_t)key->depth << 32 | key->thread,
				   (uint64_t)key->what << 16 | (uint64_t)key->phase << 8 | key->op_source};
	struct alike **last = &alikes->last[key->what == SPAN_KERNEL];

	*is_new = 0;
	if (*last == NULL || ((*last)->words[0] ^ words[0]) | ((*last)->words[1] ^ words[1]) | ((*last)->words[2] ^ words[2]) |
				     ((*last)->words[3] ^ words[3]))
		*last = alikes_find(alikes, words, is_new);
	return *last;
}

void alikes_free(struct alikes *alikes);

#endif

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
#define ALIKE_WORDS 5
#define ALIKE_ARGUMENTS 5 /* as many as a kernel has */

/* All that a span is made from but its times and numbers. */
struct alike_key {
	uint32_t first, second; /* a call's function and result, a kernel's shape and queue: places */
	uint32_t op, inputs, range, depth, nest, thread;
	uint8_t what, phase, op_source;
};

struct alike {
	uint64_t words[ALIKE_WORDS]; /* the key */
	struct span span;  /* alike 0 = none is kept */
	struct span_argument arguments[ALIKE_ARGUMENTS];
};

struct alikes {
	struct alike *kept; /* NULL: without memory, or the log says nothing about GPUs */
	struct alike none;  /* where there is no other */
	uint64_t count;	    /* that were made, so far */
};

/* The place of a key that is new: empty but for its number. What was kept there is gone. */
void alike_begin(struct alikes *alikes, struct alike *alike, const struct alike_key *key);

/* Puts in what one of them does not share with the others. */
static inline void alike_set(struct alike *alike, const struct span_again *again)
{
	alike->span.start_ns = again->start_ns;
	alike->span.duration_ns = again->duration_ns;
	alike->span.flow = alike->arguments[0].number = again->flow;
	alike->span.called_ns = again->called_ns;
	alike->span.lane = again->lane;
}

/* Before the first. Without memory each is a new one. */
void alikes_begin(struct alikes *alikes);

/* The words by which a key is found. */
static inline void alike_words(const struct alike_key *key, uint64_t words[ALIKE_WORDS])
{
	words[0] = (uint64_t)key->first << 32 | key->second;
	words[1] = (uint64_t)key->op << 32 | key->range;
	words[2] = (uint64_t)key->depth << 32 | key->thread;
	words[3] = (uint64_t)key->nest << 32 | (uint64_t)key->what << 16 | (uint64_t)key->phase << 8 | key->op_source;
	words[4] = key->inputs;
}

/* The span of a key; *is_new: none is kept yet, and the caller begins one there and fills it in. */
static inline struct alike *alikes_of(struct alikes *alikes, const struct alike_key *key, int *is_new)
{
	struct alike *alike;
	uint64_t words[ALIKE_WORDS], mixed;

	*is_new = 1;
	if (alikes->kept == NULL)
		return &alikes->none;
	alike_words(key, words);
	mixed = words[0] * UINT64_C(0x9e3779b97f4a7c15) + words[1] * UINT64_C(0xd6e8feb86659fd93) + words[2] +
		words[3] * UINT64_C(0xa0761d6478bd642f) + words[4] * UINT64_C(0xe7037ed1a0b428db);
	alike = &alikes->kept[((mixed ^ mixed >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (ALIKE_KEPT - 1)];
	*is_new = alike->span.alike == 0 || ((alike->words[0] ^ words[0]) | (alike->words[1] ^ words[1]) |
					     (alike->words[2] ^ words[2]) | (alike->words[3] ^ words[3]) |
					     (alike->words[4] ^ words[4])) != 0;
	return alike;
}

void alikes_free(struct alikes *alikes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that nobody marked: the period of a stream of words (ranges, ops, GPU calls), and how sure it is.
 *
 * An anchor is a word whose occurrences cut the stream into segments of nearly the same composition (order does not count:
 * threads shuffle it). Composition is compared with the median one: shared words over all words (Jaccard), 1 = the same.
 * Of several anchors the shortest period counts whose like segments hold most of the words, unless a longer one of at
 * most ROUNDS_MOST times its length is more regular: layers and micro-batches are parts of a step, epochs are not. Where
 * words are known to be of a net, one of any length counts that holds more of a net's kinds: layers of one of fifty.
 * Where threads run the loop side by side, in rounds (one a device), a step begins with the first of them.
 * Rule: an estimate, and called one; where no anchor is regular there are no steps. Knows nothing of logs.
 */
#ifndef REDUCER_MODEL_PERIODS_H
#define REDUCER_MODEL_PERIODS_H

#include <stddef.h>
#include <stdint.h>

struct period_word {
	uint64_t time;
	uint32_t symbol;
	uint32_t thread : 31; /* 0 = of none */
	uint32_t is_inner : 1; /* said within a call that is a word itself */
};

/*
 * What is known of a word: work that only nets do; what the loop of a script does, for a batch, and no layer of a net; what makes and
 * fills tensors, of which alone a step does not consist: a net is made, or loaded; what only a compiler says that traces: the step that
 * it stands in is longer than others.
 */
enum period_word_kind {
	PERIOD_WORD_PLAIN,
	PERIOD_WORD_LAYER,
	PERIOD_WORD_LOOP,
	PERIOD_WORD_MAKING,
	PERIOD_WORD_TRACE,
	PERIOD_WORDS
};

struct period_symbol {
	uint64_t key;
	uint32_t count; /* words kept */
	int is_dropped; /* too frequent to be kept: never an anchor, and not compared */
	enum period_word_kind kind; /* as whoever looks for the period sets it */
};

struct periods {
	struct period_word *words;
	size_t count, room;
	struct period_symbol *symbols;
	size_t symbol_count, symbol_room;
	uint32_t *places; /* hash table of indexes + 1 into symbols */
	size_t place_count;
	int is_short;
	int is_within; /* as whoever adds words says: they are inner ones from now on */
	void (*before_drop)(void *context); /* words are about to be dropped; NULL = nobody minds */
	void *drop_context;
};

struct period_step {
	uint64_t begin, end; /* of the last: periods_ends.h */
	uint64_t rest;       /* what comes from here on the other segments do not have; 0 = nothing */
	uint32_t words;      /* in it */
	int ends_with_word;  /* the end is when its last word was said, and not how long that took */
	int is_part;         /* lacks more than half of the words of the median one */
	int is_stub;         /* has less than a quarter as many words as the median one, and half of its kinds: something else comes */
	double likeness;     /* of its composition to the median one, 0 to 1 */
};

struct period_found {
	struct period_step *steps; /* malloc'ed; NULL = no period */
	size_t count;
	uint64_t anchor;   /* key of the word that begins each */
	uint32_t thread;   /* that says it each time; 0 = several do, or it is not known */
	double confidence; /* share of segments that are alike times the mean likeness of those */
};

/* -1 = no memory; periods_free in either case. */
int periods_begin(struct periods *periods);
void periods_free(struct periods *periods);

/* The same word at each of these times, as periods_add. */
void periods_add_times(struct periods *periods, uint64_t key, const uint64_t *times, size_t count, uint32_t thread);

/* Whether so many more words can come, and one by one some others, before any is dropped. */
int periods_have_room(const struct periods *periods, size_t count);

/* A word; times do not fall. key: any number that means the same each time it comes. thread: who said it, 0 = not known. */
static inline void periods_add(struct periods *periods, uint64_t key, uint64_t time, uint32_t thread)
{
	periods_add_times(periods, key, &time, 1, thread);
}

/* Returns -1 without memory; no period is no failure. */
int periods_find(const struct periods *periods, struct period_found *found);

/* The same word under several keys: it has the first one from now on. */
void periods_join(struct periods *periods, const uint64_t *keys, size_t count);

/*
 * Of the steps that begin with that word, even where they are nothing else: none where most are not alike. is_known: they are steps, be
 * they alike or not.
 */
int periods_find_at(const struct periods *periods, uint64_t key, int is_known, struct period_found *found);

#endif

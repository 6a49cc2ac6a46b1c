/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an analysis keeps of each framework's allocator of each process: a list that merges over processes.
 *
 * Rule: an item is the analysis' own struct, whose first field is a `struct allocator`. Processes differ, so merging only puts
 * items side by side: by log id, then the allocator's name.
 */
#ifndef REDUCER_ANALYSIS_ALLOCATORS_H
#define REDUCER_ANALYSIS_ALLOCATORS_H

#include "reducer/analysis/analysis.h"
#include "reducer/analysis/words.h"

struct allocator {
	uint64_t log_id;
	size_t process; /* in run->processes */
	uint32_t name;	/* in words */
};

struct allocator_list {
	struct words words;
	void *items; /* `size` bytes each; in order once allocators_sort was called */
	size_t count, room, size;
	size_t *of_word, of_word_room; /* by number of a word: the place + 1 of the item called so; during the pass */
	const struct analysis_input *input;
};

/* An empty list, for analysis_kind.begin. */
struct allocator_list *allocators_begin(const struct analysis_input *input, size_t size);

static inline void *allocators_at(const struct allocator_list *list, size_t i)
{
	return (char *)list->items + i * list->size;
}

static inline const char *allocators_name(const struct allocator_list *list, size_t i)
{
	const struct allocator *one = allocators_at(list, i);

	return list->words.items[one->name];
}

/* The item of this process' allocator, zeroed but for its struct allocator where it is new (*is_new). Valid until the next call. */
void *allocators_of(struct allocator_list *list, const char *name, bool *is_new);

void allocators_sort(struct allocator_list *list);

/* `own` gives `copy`, which is the item of `from` as it stands there, what is its own: memory, and numbers of words of `into`. */
void allocators_merge(struct allocator_list *into, const struct allocator_list *from,
		      void (*own)(struct allocator_list *into, const struct allocator_list *from, void *copy));

/* `drop` frees what an item holds. */
void allocators_free(struct allocator_list *list, void (*drop)(void *item));

/* In `into`, the number of what is number `word` in `from`. */
static inline uint32_t allocators_word(struct allocator_list *into, const struct allocator_list *from, uint32_t word)
{
	return words_number(&into->words, from->words.items[word]);
}

#endif

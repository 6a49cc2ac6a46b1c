/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Complete stacks that came up more than once, found by code address and stack pointer.
 *
 * Rule: as for the cached stack, a stack is what it was only if each word that led to it is what it was, read from the
 * inside; what finds it proves nothing.
 */
#include "collectors/stacks_state.h"

#include <stddef.h>

#include "writer/poison.h"

static struct tfp_recent *set_of(struct tfp_stack_cache *cache, uint64_t key, uintptr_t sp)
{
	uint64_t hash = (key ^ sp << 20) * UINT64_C(0x9e3779b97f4a7c15);

	return cache->recent[(hash >> 32) % TFP_RECENT_SETS];
}

static int is_true(const struct tfp_stack_cache *cache, const struct tfp_recent *recent, uintptr_t sp)
{
	const uint32_t *offsets = &cache->recent_offsets[recent->first % TFP_RECENT_WORDS];
	const uint64_t *values = &cache->recent_values[recent->first % TFP_RECENT_WORDS];
	unsigned i = recent->word_count;

	if (cache->recent_words - recent->first > TFP_RECENT_WORDS)
		return 0;
	while (i > 0 && tfp_stack_word(sp + offsets[i - 1]) == values[i - 1])
		i--;
	return i == 0;
}

uint32_t tfp_stacks_recent(struct tfp_stack_cache *cache, uint32_t epoch, uintptr_t pc, uintptr_t sp, uintptr_t fp,
			   uint32_t *cut)
{
	const struct tfp_recent *set = set_of(cache, pc, sp);

	for (int i = 0; i < 2; i++)
		if (set[i].key == pc && set[i].sp == sp && set[i].word_count && set[i].epoch == epoch &&
		    (set[i].fp == fp || !set[i].needs_fp) && is_true(cache, &set[i], sp)) {
			*cut = set[i].cut;
			return set[i].node;
		}
	return 0;
}

static void fill(struct tfp_recent *recent, struct tfp_stack_cache *cache)
{
	const struct tfp_frame *newest = &cache->frames[cache->count - 1];
	uint32_t count = newest->word_end;
	uint32_t room = TFP_RECENT_WORDS - (uint32_t)(cache->recent_words % TFP_RECENT_WORDS);
	uint64_t first = cache->recent_words + (room < count ? room : 0);
	uint32_t at = (uint32_t)(first % TFP_RECENT_WORDS);

	for (uint32_t i = 0; i < count; i++) {
		uintptr_t offset = cache->words[i].address - newest->sp;

		if (offset > UINT32_MAX)
			return;
		cache->recent_offsets[at + i] = (uint32_t)offset;
		cache->recent_values[at + i] = cache->words[i].value;
	}
	cache->recent_words = first + count;
	recent->first = first;
	recent->fp = newest->fp;
	recent->needs_fp = newest->needs_fp;
	recent->epoch = cache->epoch;
	recent->node = newest->node;
	recent->cut = cache->cut;
	recent->word_count = (uint16_t)count;
}

void tfp_stacks_remember(struct tfp_stack_cache *cache)
{
	const struct tfp_frame *newest = &cache->frames[cache->count - 1];
	struct tfp_recent *set = set_of(cache, newest->key, newest->sp);
	int first = set[0].key == newest->key && set[0].sp == newest->sp;
	int second = set[1].key == newest->key && set[1].sp == newest->sp;

	/* The same innermost frame again: keep the stack whole. Another path to it takes the place that is not kept whole. */
	if (first && !set[0].word_count) {
		fill(&set[0], cache);
	} else if (second && !set[1].word_count) {
		fill(&set[1], cache);
	} else {
		int victim = !set[0].word_count ? 0 : !set[1].word_count ? 1 : (int)(newest->node & 1);

		set[victim].key = newest->key;
		set[victim].sp = newest->sp;
		set[victim].word_count = 0;
	}
}

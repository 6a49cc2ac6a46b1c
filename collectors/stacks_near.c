/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends of stacks that came up before: the innermost one to three frames and the cached frame that they were called from, which
 * is proved as ever. Other leaves below the same callers are then neither walked nor entered again.
 *
 * Rule: as for the cached stack: from the same code address, stack pointer and (where it counts) frame pointer the same words
 * lead to the same frame, and only words that were proved to be on the live stack are read.
 */
#include "collectors/stacks_inline.h"

#include <stddef.h>

#include "writer/poison.h"

static struct tfp_near *place_of(struct tfp_stack_cache *cache, uint64_t key, uintptr_t sp, uint64_t caller)
{
	uint64_t hash = (key ^ caller << 20 ^ sp << 40) * UINT64_C(0x9e3779b97f4a7c15);

	return &cache->near[hash >> 32 & (TFP_NEAR_SETS - 1)];
}

/* Whether the words of the entry are what they were, from the inside. */
static inline int holds(const struct tfp_near *near)
{
	const struct tfp_word *word = near->word, *end = word + near->words;

	while (tfp_stack_word(word->address) == word->value)
		if (++word == end)
			return 1;
	return 0;
}

/* The cached frame that the entry was called from, where it is cached still; else NULL. */
static inline const struct tfp_frame *base_of(const struct tfp_stack_cache *cache, const struct tfp_near *near)
{
	const struct tfp_frame *base = &cache->frames[near->base];

	__asm__("" : "+r"(base));
	if (near->base >= cache->count || base->key != near->base_key || base->sp != near->base_sp)
		return NULL;
	return LIKELY(!base->needs_fp) || (near->base_needs_fp && base->fp == near->base_fp) ? base : NULL;
}

/*
 * Below the same node the same frames end in the same node. One frame is looked up as cheaply as it is remembered, which
 * would be a branch that nobody can foresee where callers change from call to call.
 */
static inline void note_node(struct tfp_near *near, uint32_t base_node, uint32_t node)
{
	near->base_node = near->frames > 1 ? base_node : 0;
	near->node = node;
}

uint32_t tfp_stacks_near(struct tfp_stacks *stacks, struct tfp_stack_cache *cache, uintptr_t pc, uintptr_t sp, uintptr_t fp,
			 uint32_t *cut)
{
	const struct tfp_known_site *site = tfp_stacks_known_site(cache, pc);
	const struct tfp_stretch *memory = &cache->memory.stretches[cache->stretch];
	uintptr_t ra = (site->is_cfa_fp ? fp : sp) + (uintptr_t)(intptr_t)(site->cfa + site->ra_bytes);

	if (site->key != pc || sp < memory->start || ra < sp || ra >= memory->end)
		return tfp_stacks_other(stacks, cache, pc, sp, fp, cut);
	struct tfp_near *near = place_of(cache, pc, sp, tfp_stack_word(ra));
	const struct tfp_frame *base;
	__asm__("" : "+r"(near)); /* else it is computed anew for each field */
	if (!LIKELY(near->key == pc && near->sp == sp && near->epoch == cache->epoch && (!near->needs_fp || near->fp == fp) &&
		    holds(near)) ||
	    !(base = base_of(cache, near)) || tfp_stacks_unproved(cache->words, base->word_end))
		return tfp_stacks_other(stacks, cache, pc, sp, fp, cut);
	uint32_t node = base->node;
	if (near->base_node == node)
		return cache->last_node = near->node;
	const uint32_t *pc_index = near->pcs, *end = pc_index + near->frames;
	do
		node = tfp_stacks_node_of(stacks, cache, node, *pc_index);
	while (LIKELY(node != 0) && ++pc_index < end);
	if (LIKELY(node != 0))
		note_node(near, base->node, node);
	return node;
}

void tfp_stacks_near_learn(struct tfp_stack_cache *cache, uint32_t base)
{
	const struct tfp_frame *from = &cache->frames[base], *newest = &cache->frames[cache->count - 1];
	uint32_t frames = cache->count - 1 - base, words = newest->word_end - from->word_end;

	if (!frames || frames > TFP_NEAR_FRAMES || words > TFP_NEAR_WORDS || newest->key & TFP_SITE_EXACT)
		return;
	struct tfp_near *near = place_of(cache, newest->key, newest->sp, newest->ra.value);
	near->key = newest->key;
	near->sp = newest->sp;
	near->fp = newest->fp;
	near->epoch = cache->epoch;
	near->base = (uint16_t)base;
	near->frames = (uint8_t)frames;
	near->words = (uint8_t)words;
	near->needs_fp = newest->needs_fp;
	near->base_needs_fp = from->needs_fp;
	near->base_key = from->key;
	near->base_sp = from->sp;
	near->base_fp = from->fp;
	note_node(near, from->node, newest->node);
	for (uint32_t i = 0; i < frames; i++)
		near->pcs[i] = from[1 + i].pc;
	for (uint32_t i = 0; i < words; i++)
		near->word[i] = cache->words[newest->word_end - 1 - i];
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stacks_fast.c and stacks_near.c share, inline in both because it is most of what a stack costs.
 * Rule: as there.
 */
#ifndef TFP_COLLECTORS_STACKS_INLINE_H
#define TFP_COLLECTORS_STACKS_INLINE_H

#include "collectors/stacks_state.h"

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define INLINE static inline __attribute__((always_inline))

/* Where what is known of the code address `key` may stand. */
INLINE struct tfp_known_site *tfp_stacks_known_site(struct tfp_stack_cache *cache, uint64_t key)
{
	return &cache->sites[tfp_index_mix(key) % TFP_KNOWN_SITES];
}

/* The node, where it follows the one found last, else by the process's index, and then noted. 0 = the log has no room. */
uint32_t tfp_stacks_learn_node(struct tfp_stacks *stacks, struct tfp_stack_cache *cache, struct tfp_known_node *set, uint64_t key);

INLINE uint32_t tfp_stacks_node_of(struct tfp_stacks *stacks, struct tfp_stack_cache *cache, uint32_t parent, uint32_t pc)
{
	uint64_t key = (uint64_t)parent << 32 | pc;
	struct tfp_known_node *set = cache->nodes[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - TFP_KNOWN_NODE_BITS)];
	const struct tfp_known_node *found = set + (set[1].key == key);

	__asm__("" : "+r"(found)); /* no branch on which of the two it is: nobody can foresee it */
	if (LIKELY(found->key == key))
		return cache->last_node = (uint32_t)found->node;
	return tfp_stacks_learn_node(stacks, cache, set, key);
}

/* How many of the words, from the outside, are not proved: those inside of them are as they had been. */
INLINE uint32_t tfp_stacks_unproved(const struct tfp_word *words, uint32_t end)
{
	const struct tfp_word *word = words + end;

#define HOLDS(back) (tfp_stack_word(word[-(back)].address) == word[-(back)].value)
	/* One after the other, not four at once: a word is only known to be on the live stack when those inside it hold. */
	while (word - words >= 4) {
		if (!HOLDS(1))
			return (uint32_t)(word - words);
		if (!HOLDS(2))
			return (uint32_t)(word - words) - 1;
		if (!HOLDS(3))
			return (uint32_t)(word - words) - 2;
		if (!HOLDS(4))
			return (uint32_t)(word - words) - 3;
		word -= 4;
	}
	while (word > words && HOLDS(1))
		word--;
	return (uint32_t)(word - words);
}
#undef HOLDS

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfp_stack_capture and the usual walk, at the price of the frames that changed: only rules that count from the stack or
 * frame pointer, one stretch of stack, a small table of the lane in front of that of the process.
 *
 * Rule: it enters the same frames as stacks_walk.c would and proves the older ones by the same words; whatever is not
 * usual (no rule, a signal's frame, another stack, full tables) it leaves to stacks_walk.c, with the cache as it was.
 */
#include "collectors/stacks_inline.h"

#include <stdatomic.h>
#include <stddef.h>

#include "writer/poison.h"

/* New frames from which on a stack is kept whole, and looked for among those kept (stacks_recent.c): fewer are walked sooner. */
#define REMEMBERED 4

/* The registers of the frame that the walk has come to, and how far it is. */
struct fast {
	uint64_t key;
	uintptr_t sp, fp;
	const struct tfp_frame *candidate; /* newest cached frame that can still be met */
	struct tfp_frame *pending;         /* one past the last */
};

static __attribute__((noinline)) const struct tfp_known_site *learn_site(struct tfp_stacks *stacks, struct tfp_known_site *known,
									 uint64_t key, uint32_t epoch)
{
	struct tfp_site site;
	const struct tfp_rule *rule = &site.rule;

	if (!tfp_stacks_site(stacks, key, epoch, &site) || !site.module || site.epoch != epoch)
		return NULL;
	if (rule->kind != TFP_RULE_STEP || rule->is_indirect || rule->is_signal || rule->ra_base != TFP_BASE_CFA ||
	    (rule->fp_base != TFP_BASE_KEPT && rule->fp_base != TFP_BASE_CFA))
		return NULL;
	int ra = -8 * rule->ra_words, fp = rule->fp_base == TFP_BASE_CFA ? -8 * rule->fp_words : 0;
	int least = ra > fp ? ra : fp;
	if (ra < 8 || (rule->fp_base == TFP_BASE_CFA && fp < 8) || least > UINT16_MAX)
		return NULL;
	*known = (struct tfp_known_site){.key = key, .epoch = epoch, .pc = site.pc, .cfa = rule->cfa, .ra_bytes = -ra,
					 .fp_bytes = -fp, .least = (uint16_t)least, .is_cfa_fp = rule->is_cfa_fp};
	return known;
}

INLINE const struct tfp_known_site *site_of(struct tfp_stacks *stacks, struct tfp_stack_cache *cache, uint64_t key, uint32_t epoch)
{
	struct tfp_known_site *known = tfp_stacks_known_site(cache, key);

	return LIKELY(known->key == key && known->epoch == epoch) ? known : learn_site(stacks, known, key, epoch);
}

/* Of the cached frames with the stack pointer that the walk has come to, the one that it has come to; NULL: none. */
INLINE const struct tfp_frame *meet(const struct tfp_frame *frames, const struct fast *fast)
{
	/* Frames of leaf functions have their caller's stack pointer. */
	for (const struct tfp_frame *frame = fast->candidate;; frame--) {
		if (frame->key == fast->key && (!frame->needs_fp || frame->fp == fast->fp))
			return frame;
		if (frame == frames || frame[-1].sp != fast->sp)
			return NULL;
	}
}

/* Steps to the caller; `end` is that of the stack's stretch. 0: not usual. */
INLINE int step(struct fast *fast, const struct tfp_known_site *site, uintptr_t end)
{
	struct tfp_frame *frame = fast->pending++;
	uintptr_t cfa = (site->is_cfa_fp ? fast->fp : fast->sp) + (uintptr_t)(intptr_t)site->cfa, span = cfa - fast->sp;

	if (!LIKELY(span >= site->least && span <= end - fast->sp && !(cfa & 7)))
		return 0;
	frame->key = fast->key;
	frame->sp = fast->sp;
	frame->fp = fast->fp;
	frame->ra.address = cfa + (uintptr_t)(intptr_t)site->ra_bytes;
	frame->ra.value = tfp_stack_word(frame->ra.address);
	frame->cfa.address = 0;
	frame->fp_address = 0;
	frame->pc = site->pc;
	frame->uses_fp = (uint8_t)site->is_cfa_fp;
	if (site->fp_bytes) {
		frame->fp_address = cfa + (uintptr_t)(intptr_t)site->fp_bytes;
		fast->fp = tfp_stack_word(frame->fp_address);
	}
	fast->key = tfp_plain_address(frame->ra.value);
	fast->sp = cfa;
	return fast->key != 0;
}

/*
 * The word that ends the unproved ones has changed: it led from the frame `oldest` to its caller. Takes the proved frames
 * inside of it over and moves to it. Returns 0 where that is not usual.
 */
static __attribute__((noinline)) int take_over(struct tfp_stack_cache *cache, struct fast *fast, const struct tfp_frame *newest,
					       uint32_t end)
{
	const struct tfp_frame *oldest = newest;

	while (oldest > cache->frames && oldest[-1].word_end >= end)
		oldest--;
	if (fast->pending + (newest - oldest) >= cache->pending + TFP_STACK_FRAMES)
		return 0;
	for (const struct tfp_frame *at = newest; at > oldest; at--) {
		struct tfp_frame *frame = fast->pending++;

		*frame = *at;
		frame->fp = fast->fp; /* where no older frame needed it, it was not compared */
		if (frame->key & TFP_SITE_EXACT || frame->cfa.address || frame->stretch != oldest->stretch)
			return 0;
		if (frame->fp_address)
			fast->fp = tfp_stack_word(frame->fp_address);
	}
	fast->key = oldest->key;
	fast->sp = oldest->sp;
	if (oldest == cache->frames)
		return 0;
	fast->candidate = oldest - 1;
	return !(fast->key & TFP_SITE_EXACT);
}

/* What find_base returns where it has walked up to `limit`. */
INLINE struct tfp_frame *walks_on(struct tfp_stack_cache *cache)
{
	return cache->frames + TFP_STACK_FRAMES;
}

/* Walks until a cached frame is proved to the end; NULL: not usual. */
INLINE struct tfp_frame *find_base(struct tfp_stacks *stacks, struct tfp_stack_cache *cache, struct fast *fast, int stretch,
				   const struct tfp_frame *limit)
{
	const uint32_t epoch = cache->epoch;
	const uintptr_t end = cache->memory.stretches[stretch].end;

	while (fast->pending < limit) {
		const struct tfp_known_site *site;

		while (fast->candidate->sp < fast->sp)
			if (fast->candidate-- == cache->frames)
				return NULL;
		const struct tfp_frame *met = fast->candidate->sp == fast->sp ? meet(cache->frames, fast) : NULL;
		if (met) {
			uint32_t changed = tfp_stacks_unproved(cache->words, met->word_end);

			if (!LIKELY(met->stretch == stretch))
				return NULL;
			if (!changed)
				return cache->frames + (met - cache->frames);
			struct fast moved = *fast; /* so that *fast stays in registers */
			if (!take_over(cache, &moved, met, changed))
				return NULL;
			*fast = moved;
		}
		site = site_of(stacks, cache, fast->key, epoch);
		if (!site || !step(fast, site, end))
			return NULL;
	}
	return walks_on(cache);
}

uint32_t tfp_stacks_learn_node(struct tfp_stacks *stacks, struct tfp_stack_cache *cache, struct tfp_known_node *set, uint64_t key)
{
	uint32_t node = cache->last_node + 1;

	if (tfp_store_is_node(stacks->nodes.log, node, key))
		return cache->last_node = node;
	node = tfp_nodes_get(&stacks->nodes, (uint32_t)(key >> 32), (uint32_t)key);
	if (node) {
		set[1] = set[0];
		set[0] = (struct tfp_known_node){key, node};
	}
	return cache->last_node = node;
}

/* Puts the pending frames, outermost first, on top of `base`. Returns the newest, or NULL when the log has no room. */
INLINE struct tfp_frame *enter(struct tfp_stacks *stacks, struct tfp_stack_cache *cache, struct tfp_frame *base,
			       const struct tfp_frame *pending)
{
	struct tfp_word *word = cache->words + base->word_end;
	struct tfp_frame *frame = base;

	while (pending > cache->pending) {
		uint32_t node = tfp_stacks_node_of(stacks, cache, frame->node, (--pending)->pc);

		frame++;
		*frame = *pending;
		frame->node = node;
		frame->stretch = base->stretch;
		frame->needs_fp = frame->uses_fp;
		if (frame[-1].needs_fp) {
			if (frame->fp_address)
				*word++ = (struct tfp_word){frame->fp_address, frame[-1].fp};
			else
				frame->needs_fp = 1;
		}
		*word++ = frame->ra;
		frame->word_end = (uint16_t)(word - cache->words);
		if (!LIKELY(node != 0))
			return NULL;
	}
	return frame;
}

/* The usual walk. Returns the node; 0: not usual, and the cache holds what it held, or nothing. */
static __attribute__((noinline)) uint32_t walk_usual(struct tfp_stacks *stacks, struct tfp_stack_cache *cache, uintptr_t pc,
						     uintptr_t sp, uintptr_t fp, uint32_t *cut)
{
	struct tfp_frame *newest = cache->frames + cache->count - 1, *base;
	struct fast fast = {.key = pc, .sp = sp, .fp = fp, .candidate = newest, .pending = cache->pending};
	const int stretch = newest->stretch;
	const struct tfp_stretch *memory = &cache->memory.stretches[stretch];
	const uint32_t epoch = cache->epoch, most = stacks->frames;

	if (sp < memory->start || sp >= memory->end || sp & 7)
		return 0;
	base = find_base(stacks, cache, &fast, stretch, fast.pending + (most < REMEMBERED ? most : REMEMBERED));
	int was_asked = (int)cache->is_recent;
	cache->is_recent = 0;
	if (base == walks_on(cache)) {
		uint32_t node = was_asked ? 0 : tfp_stacks_recent(cache, epoch, pc, sp, fp, cut);

		cache->is_recent = node != 0;
		if (node)
			return node;
		base = find_base(stacks, cache, &fast, stretch, cache->pending + most);
	}
	if (!LIKELY(base && base + (fast.pending - cache->pending) < cache->frames + TFP_STACK_FRAMES))
		return 0;
	cache->count = 0; /* nothing is true while frames are being changed */
	newest = enter(stacks, cache, base, fast.pending);
	if (!LIKELY(newest != NULL))
		return 0;
	cache->count = (uint32_t)(newest - cache->frames) + 1;
	/* An object was unmapped meanwhile, or is being: what was found is true, but may not be for long. */
	if (!LIKELY(atomic_load_explicit(&stacks->epoch, memory_order_acquire) == epoch && !stacks->unloading))
		cache->epoch = 0;
	else if (fast.pending - cache->pending >= REMEMBERED)
		tfp_stacks_remember(cache);
	else
		tfp_stacks_near_learn(cache, (uint32_t)(base - cache->frames));
	return newest->node;
}

uint32_t tfp_stacks_other(struct tfp_stacks *stacks, struct tfp_stack_cache *cache, uintptr_t pc, uintptr_t sp, uintptr_t fp,
			  uint32_t *cut)
{
	uint32_t node = cache->is_recent ? tfp_stacks_recent(cache, cache->epoch, pc, sp, fp, cut) : 0;

	if (node)
		return node;
	node = walk_usual(stacks, cache, pc, sp, fp, cut);
	return LIKELY(node != 0) ? node : tfp_stacks_walk(stacks, cache, pc, sp, fp, cut);
}

uint32_t tfp_stack_capture(struct tfp_stacks *stacks, struct tfp_stack_cache *cache, uintptr_t pc, uintptr_t sp,
			   uintptr_t fp, uint32_t *cut)
{
	/* Acquire: an object mapped before the epoch changed is seen as mapped. */
	uint32_t epoch = atomic_load_explicit(&stacks->epoch, memory_order_acquire);
	const struct tfp_frame *newest = cache->frames + cache->count - 1;

	if (!LIKELY(cache->count && cache->epoch == epoch))
		return tfp_stacks_walk(stacks, cache, pc, sp, fp, cut);
	*cut = cache->cut;
	if (newest->sp == sp && newest->key == pc && (newest->fp == fp || !newest->needs_fp) &&
	    !tfp_stacks_unproved(cache->words, newest->word_end))
		return newest->node;
	return tfp_stacks_near(stacks, cache, pc, sp, fp, cut);
}

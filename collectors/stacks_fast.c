/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfp_stack_capture and the usual walk, at the price of the frames that changed: only rules that count from the stack or
 * frame pointer, one stretch of stack, a small table of the lane in front of that of the process.
 *
 * Rule: it enters the same frames as stacks_walk.c would and proves the older ones by the same words; whatever is not
 * usual (no rule, a signal's frame, another stack, full tables) it leaves to stacks_walk.c, with the cache as it was.
 */
#include "collectors/stacks_state.h"

#include <stdatomic.h>
#include <stddef.h>

#include "writer/poison.h"

/* New frames from which on a stack is worth being kept whole (stacks_recent.c): fewer are walked sooner than that. */
#define REMEMBERED 4

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define INLINE static inline __attribute__((always_inline))

/* The registers of the frame that the walk has come to, and how far it is. */
struct fast {
	uint64_t key;
	uintptr_t sp, fp;
	const struct tfp_frame *candidate; /* newest cached frame that can still be met; frames - 1: none */
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
	*known = (struct tfp_known_site){.key = key, .epoch = epoch, .pc = site.pc, .cfa = rule->cfa,
					 .ra_bytes = 8 * rule->ra_words, .fp_bytes = 8 * rule->fp_words,
					 .is_cfa_fp = rule->is_cfa_fp, .is_fp_saved = rule->fp_base == TFP_BASE_CFA};
	return known;
}

INLINE const struct tfp_known_site *site_of(struct tfp_stacks *stacks, struct tfp_stack_cache *cache, uint64_t key, uint32_t epoch)
{
	struct tfp_known_site *known = &cache->sites[tfp_index_mix(key) % TFP_KNOWN_SITES];

	return LIKELY(known->key == key && known->epoch == epoch) ? known : learn_site(stacks, known, key, epoch);
}

/* Whether the walk has come to a cached frame: *met, NULL = no. Returns 0 where the stack is not usual. */
INLINE int meet(const struct tfp_frame *frames, struct fast *fast, int stretch, const struct tfp_frame **met)
{
	const struct tfp_frame *frame = fast->candidate;

	while (frame >= frames && frame->sp < fast->sp)
		frame--;
	fast->candidate = frame;
	*met = NULL;
	if (!LIKELY(frame >= frames && frame->stretch == stretch))
		return 0;
	/* Frames of leaf functions have their caller's stack pointer. */
	for (; frame >= frames && frame->sp == fast->sp; frame--)
		if (frame->key == fast->key && (!frame->needs_fp || frame->fp == fast->fp)) {
			*met = frame;
			break;
		}
	return 1;
}

/* How many of the words, from the outside, are not proved: those inside of them are as they had been. */
INLINE uint32_t unproved(const struct tfp_word *words, uint32_t end)
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

/* The word at `address` belongs to the stack that is live at `sp`; `last` is where the stretch's last word lies. */
INLINE int is_inside(uintptr_t sp, uintptr_t last, uintptr_t address)
{
	return address - sp <= last - sp && !(address & 7);
}

/* Steps to the caller. 0: not usual. */
INLINE int step(struct fast *fast, const struct tfp_known_site *site, uintptr_t last)
{
	struct tfp_frame *frame = fast->pending++;
	uintptr_t cfa = (site->is_cfa_fp ? fast->fp : fast->sp) + (uintptr_t)(intptr_t)site->cfa;
	uintptr_t ra = cfa + (uintptr_t)(intptr_t)site->ra_bytes, saved = cfa + (uintptr_t)(intptr_t)site->fp_bytes;

	if (!LIKELY(cfa > fast->sp && is_inside(fast->sp, last, ra) && cfa <= last + 8))
		return 0;
	frame->key = fast->key;
	frame->sp = fast->sp;
	frame->fp = fast->fp;
	frame->ra.address = ra;
	frame->ra.value = tfp_stack_word(ra);
	frame->cfa.address = 0;
	frame->fp_address = 0;
	frame->pc = site->pc;
	frame->uses_fp = (uint8_t)site->is_cfa_fp;
	if (site->is_fp_saved) {
		if (!is_inside(fast->sp, last, saved))
			return 0;
		frame->fp_address = saved;
		fast->fp = tfp_stack_word(saved);
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
	fast->candidate = oldest - 1;
	return !(fast->key & TFP_SITE_EXACT);
}

/* Walks until a cached frame is proved to the end; NULL: not usual. */
INLINE struct tfp_frame *find_base(struct tfp_stacks *stacks, struct tfp_stack_cache *cache, struct fast *fast, uint32_t epoch,
				   int stretch)
{
	uintptr_t last = cache->memory.stretches[stretch].end - 8;

	for (uint32_t left = stacks->frames; left > 0; left--) {
		const struct tfp_frame *met;

		if (!meet(cache->frames, fast, stretch, &met))
			return NULL;
		if (met) {
			uint32_t end = unproved(cache->words, met->word_end);

			if (!end)
				return cache->frames + (met - cache->frames);
			struct fast moved = *fast; /* so that *fast stays in registers */
			if (!take_over(cache, &moved, met, end))
				return NULL;
			*fast = moved;
		}
		const struct tfp_known_site *site = site_of(stacks, cache, fast->key, epoch);
		if (!site || fast->pending == cache->pending + TFP_STACK_FRAMES || !step(fast, site, last))
			return NULL;
	}
	return NULL;
}

/* Puts the pending frames, outermost first, on top of `base`. Returns the newest, or NULL when the log has no room. */
INLINE struct tfp_frame *enter(struct tfp_stacks *stacks, struct tfp_stack_cache *cache, struct tfp_frame *base,
			       const struct tfp_frame *pending)
{
	struct tfp_word *word = cache->words + base->word_end;
	struct tfp_frame *frame = base;

	while (pending > cache->pending) {
		uint32_t node = tfp_nodes_get(&stacks->nodes, frame->node, (--pending)->pc);

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
static uint32_t walk_usual(struct tfp_stacks *stacks, struct tfp_stack_cache *cache, uint32_t epoch, uintptr_t pc, uintptr_t sp,
			   uintptr_t fp)
{
	struct tfp_frame *newest = cache->frames + cache->count - 1, *base;
	struct fast fast = {.key = pc, .sp = sp, .fp = fp, .candidate = newest, .pending = cache->pending};
	const struct tfp_stretch *memory = &cache->memory.stretches[newest->stretch];

	if (sp < memory->start || sp >= memory->end)
		return 0;
	base = find_base(stacks, cache, &fast, epoch, newest->stretch);
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
	return newest->node;
}

uint32_t tfp_stack_capture(struct tfp_stacks *stacks, struct tfp_stack_cache *cache, uintptr_t pc, uintptr_t sp,
			   uintptr_t fp, uint32_t *cut)
{
	/* Acquire: an object mapped before the epoch changed is seen as mapped. */
	uint32_t epoch = atomic_load_explicit(&stacks->epoch, memory_order_acquire), node = 0;
	const struct tfp_frame *newest = cache->frames + cache->count - 1;

	if (LIKELY(cache->count && cache->epoch == epoch)) {
		*cut = cache->cut;
		if (newest->sp == sp && newest->key == pc && (newest->fp == fp || !newest->needs_fp) &&
		    !unproved(cache->words, newest->word_end))
			return newest->node;
		node = tfp_stacks_recent(cache, epoch, pc, sp, fp, cut);
		if (!node)
			node = walk_usual(stacks, cache, epoch, pc, sp, fp);
	}
	return LIKELY(node != 0) ? node : tfp_stacks_walk(stacks, cache, pc, sp, fp, cut);
}

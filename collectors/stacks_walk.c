/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks a stack from the inside until a frame is met that was verified before, and enters the new frames.
 *
 * Rule: a frame met again with the same code address, stack pointer and (where it counts) frame pointer has its caller's
 * registers where it had them; if the words there are unchanged, so is the caller: everything older is proved word by
 * word, from the inside, so that no word is read that is not part of the live stack. A code address and a stack pointer
 * alone prove nothing about what is further out.
 */
#include "collectors/stacks_state.h"

#include "writer/format.h"
#include "writer/sys.h"

#include <stdatomic.h>
#include <stddef.h>

#include "writer/poison.h"

/* The registers of the frame that the walk has come to. */
struct walker {
	struct tfp_stacks *stacks;
	struct tfp_stack_cache *cache;
	uint64_t key;
	uintptr_t sp, fp;
	uintptr_t link_address; /* where the interrupted frame's link register was saved; 0 = it is not live */
	uintptr_t low, span; /* of the words that may be read as they are: from low to low + span, first bytes */
	int stretch;
	int candidate;   /* newest cached frame that can still be met */
	uint32_t epoch;  /* when the walk began */
	uint32_t trusted; /* sites of this epoch need no second look; none while an object is being unmapped */
	uint32_t cut;
};

#define RED_ZONE 128 /* bytes below the stack pointer that a leaf function may use (x86-64 ABI 3.2.2) */

/* Sets what may be read of the stretch that sp, which is live, lies in. Below it is nothing of the caller's. */
static void set_reach(struct walker *walker)
{
	const struct tfp_stretch *stretch = &walker->cache->memory.stretches[walker->stretch];

	walker->low = walker->sp - RED_ZONE > stretch->start ? walker->sp - RED_ZONE : stretch->start;
	walker->span = stretch->end - 8 - walker->low;
}

static inline int is_in_reach(const struct walker *walker, uintptr_t address)
{
	return address - walker->low <= walker->span && !(address & 7);
}

/* Reads a word of the stack. Returns 0 where that may not be done. */
static int read_word(struct walker *walker, uintptr_t address, uint64_t *value)
{
	if (!is_in_reach(walker, address)) {
		if ((address & 7) || address < walker->low ||
		    !tfp_stack_memory_extend(&walker->cache->memory, walker->stretch, address))
			return 0;
		set_reach(walker);
	}
	*value = tfp_stack_word(address);
	return 1;
}

static uintptr_t place_of(const struct walker *walker, unsigned base, int words, uintptr_t cfa)
{
	uintptr_t from = base == TFP_BASE_CFA ? cfa : base == TFP_BASE_SP ? walker->sp : walker->fp;

	return from + 8 * (uintptr_t)(intptr_t)words;
}

/*
 * Applies `rule` to the walker's frame: fills where the caller's registers lie and moves on to the caller. Returns 0 at
 * the end of the stack, with walker->cut set where it is not the true end.
 */
static int step(struct walker *walker, const struct tfp_rule *rule, struct tfp_frame *frame)
{
	uintptr_t cfa = (rule->is_cfa_fp ? walker->fp : walker->sp) + (uintptr_t)(intptr_t)rule->cfa;
	uint64_t fp = walker->fp;
	uintptr_t link = 0;

	walker->cut = TFP_PC_CUT_MEMORY;
	if (rule->is_indirect) {
		frame->cfa.address = cfa;
		if (!read_word(walker, cfa, &frame->cfa.value))
			return 0;
		cfa = frame->cfa.value + (uintptr_t)(intptr_t)rule->cfa_after;
	}
	/* Only a signal's return leads to another stack, and only a leaf on aarch64 has no frame. */
	if (!rule->is_signal && (cfa < walker->sp || (cfa == walker->sp && rule->ra_base != TFP_BASE_KEPT)))
		return 0;
	if (rule->ra_base == TFP_BASE_KEPT && !walker->link_address) {
		walker->cut = TFP_PC_CUT_UNKNOWN;
		return 0;
	}
	frame->ra.address = rule->ra_base == TFP_BASE_KEPT ? walker->link_address :
							      place_of(walker, rule->ra_base, rule->ra_words, cfa);
	if (rule->ra_base == TFP_BASE_KEPT)
		frame->ra.value = tfp_stack_word(frame->ra.address); /* was in reach when the signal frame was left */
	else if (!read_word(walker, frame->ra.address, &frame->ra.value))
		return 0;
	if (rule->fp_base != TFP_BASE_KEPT) {
		frame->fp_address = place_of(walker, rule->fp_base, rule->fp_words, cfa);
		if (!read_word(walker, frame->fp_address, &fp))
			return 0;
	}
	if (rule->is_signal)
		link = frame->fp_address + 8; /* of use on aarch64, where x30 follows x29 in the saved registers */
	walker->cut = 0;
	walker->key = tfp_plain_address(frame->ra.value);
	/* Nothing follows a return address of 0: the first function of a thread or coroutine. */
	if (!walker->key)
		return 0;
	if (rule->is_signal)
		walker->key |= TFP_SITE_EXACT;
	walker->fp = fp;
	walker->link_address = link;
	walker->sp = cfa;
	/* The caller's stack pointer may be one past the last word of its stack. */
	if (!tfp_stack_memory_extend(&walker->cache->memory, walker->stretch, cfa - 8))
		walker->stretch = tfp_stack_memory_at(&walker->cache->memory, cfa, 0);
	if (walker->stretch < 0) {
		walker->cut = TFP_PC_CUT_MEMORY;
		return 0;
	}
	set_reach(walker);
	return 1;
}

/* step() for rules as nearly all are, and words known to be readable. Returns 0, with nothing done, where it is not so. */
static inline int step_plainly(struct walker *walker, const struct tfp_rule *rule, struct tfp_frame *frame)
{
	uintptr_t cfa = (rule->is_cfa_fp ? walker->fp : walker->sp) + (uintptr_t)(intptr_t)rule->cfa;
	uintptr_t ra = cfa + 8 * (uintptr_t)(intptr_t)rule->ra_words;
	uintptr_t fp = cfa + 8 * (uintptr_t)(intptr_t)rule->fp_words;
	uint64_t value, key;

	if (rule->is_indirect || rule->is_signal || rule->ra_base != TFP_BASE_CFA || cfa <= walker->sp ||
	    !is_in_reach(walker, cfa - 8) || !is_in_reach(walker, ra))
		return 0;
	value = tfp_stack_word(ra);
	key = tfp_plain_address(value);
	if (!key || (rule->fp_base != TFP_BASE_KEPT && (rule->fp_base != TFP_BASE_CFA || !is_in_reach(walker, fp))))
		return 0;
	frame->ra.address = ra;
	frame->ra.value = value;
	if (rule->fp_base == TFP_BASE_CFA) {
		frame->fp_address = fp;
		walker->fp = tfp_stack_word(fp);
	}
	walker->key = key;
	walker->sp = cfa;
	walker->link_address = 0;
	return 1;
}

static int is_same_frame(const struct tfp_frame *frame, const struct walker *walker)
{
	return frame->key == walker->key && frame->sp == walker->sp && (!frame->needs_fp || frame->fp == walker->fp);
}

/*
 * The cached frame that the walker has come to, or -1. Frames of its own stack below its stack pointer are gone; those of
 * other stacks (a signal handler that has returned) are passed over.
 */
static int find_cached(struct walker *walker)
{
	const struct tfp_frame *frames = walker->cache->frames;
	int i = walker->candidate;

	while (i >= 0 && (frames[i].stretch != walker->stretch || frames[i].sp < walker->sp))
		i--;
	if (i < 0)
		return -1;
	walker->candidate = i;
	/* Frames of leaf functions have their caller's stack pointer. */
	for (; i >= 0 && frames[i].sp == walker->sp; i--)
		if (is_same_frame(&frames[i], walker))
			return i;
	return -1;
}

/* The oldest frame, from `newest` outwards, whose caller is proved to be the cached one; 0 = all are. */
static int verify(const struct tfp_stack_cache *cache, int newest)
{
	uint32_t end = cache->frames[newest].word_end;
	int frame = newest;

	while (end > 0 && tfp_stack_word(cache->words[end - 1].address) == cache->words[end - 1].value)
		end--;
	if (end == 0)
		return 0;
	/* words[end - 1] has changed: it belongs to the first frame whose words reach it. */
	while (frame > 0 && cache->frames[frame - 1].word_end >= end)
		frame--;
	return frame;
}

/* Whether find_cached could find something: passes over the frames that are gone. */
static inline int may_be_cached(struct walker *walker)
{
	const struct tfp_frame *frames = walker->cache->frames;
	int i = walker->candidate;

	while (i >= 0 && frames[i].sp < walker->sp && frames[i].stretch == walker->stretch)
		i--;
	walker->candidate = i;
	return i >= 0 && (frames[i].sp == walker->sp || frames[i].stretch != walker->stretch);
}

static struct tfp_frame *add_pending(struct walker *walker)
{
	struct tfp_frame *frame = &walker->cache->pending[walker->cache->pending_count++];

	frame->key = walker->key;
	frame->sp = walker->sp;
	frame->fp = walker->fp;
	frame->stretch = walker->stretch;
	frame->ra.address = 0;
	frame->cfa.address = 0;
	frame->fp_address = 0;
	frame->uses_fp = 0;
	return frame;
}

/* Takes over the proved frames from `newest` to before `oldest`, and moves the walker to `oldest`. */
static void copy_frames(struct walker *walker, int newest, int oldest)
{
	const struct tfp_frame *frames = walker->cache->frames;

	for (int i = newest; i > oldest; i--) {
		struct tfp_frame *frame = &walker->cache->pending[walker->cache->pending_count++];

		/* Where no older frame needed it, the saved frame pointer was not compared: read it. */
		*frame = frames[i];
		frame->fp = walker->fp;
		if (frame->fp_address)
			walker->fp = tfp_stack_word(frame->fp_address);
		walker->key = frames[i - 1].key;
		walker->sp = frames[i - 1].sp;
		walker->stretch = frames[i - 1].stretch;
		/* An exact address is one that a signal interrupted, and x30 follows x29 in the saved registers. */
		walker->link_address = frames[i - 1].key & TFP_SITE_EXACT ? frame->fp_address + 8 : 0;
	}
}

/*
 * Where the walker has come to a cached frame: takes over what is proved, and returns its number if that is all, or else
 * leaves the walker at the newest frame whose caller is another. -1: the walk goes on; -2: there is no room for more.
 */
static int join_cached(struct walker *walker)
{
	int cached = find_cached(walker);
	int oldest;

	if (cached < 0)
		return -1;
	oldest = verify(walker->cache, cached);
	if (oldest == 0)
		return cached;
	if (walker->cache->pending_count + (uint32_t)(cached - oldest) >= TFP_STACK_FRAMES)
		return -2;
	if (cached > oldest) {
		copy_frames(walker, cached, oldest);
		set_reach(walker);
	}
	walker->candidate = oldest - 1;
	return -1;
}

/* Walks to the end, the limit, or a cached frame that is proved to the end, whose number it returns; else -1. */
static int walk(struct walker *walker)
{
	struct tfp_stacks *stacks = walker->stacks;
	struct tfp_stack_cache *cache = walker->cache;
	struct tfp_site site;

	for (uint32_t walked = 0;; walked++) {
		struct tfp_frame *frame;
		int cached = may_be_cached(walker) ? join_cached(walker) : -1;

		if (cached >= 0)
			return cached;
		if (cached == -2 || walked == stacks->frames || cache->pending_count == TFP_STACK_FRAMES)
			break;
		if ((!tfp_sites_get(&stacks->sites, walker->key, &site) || site.epoch != walker->trusted || !site.module) &&
		    !tfp_stacks_site(stacks, walker->key, walker->epoch, &site)) {
			walker->cut = TFP_PC_CUT_FULL;
			return -1;
		}
		frame = add_pending(walker);
		frame->pc = site.pc;
		if (site.rule.kind != TFP_RULE_STEP) {
			walker->cut = site.rule.kind == TFP_RULE_END ? 0 : TFP_PC_CUT_UNKNOWN;
			return -1;
		}
		frame->uses_fp = site.rule.is_cfa_fp || site.rule.ra_base == TFP_BASE_FP || site.rule.fp_base == TFP_BASE_FP;
		if (!step_plainly(walker, &site.rule, frame) && !step(walker, &site.rule, frame))
			return -1;
	}
	walker->cut = TFP_PC_CUT_DEPTH;
	return -1;
}

static void add_word(struct tfp_stack_cache *cache, uint32_t *end, const struct tfp_word *word)
{
	cache->words[(*end)++] = *word;
}

/* Puts the pending frames, outermost first, on top of the first `base` frames. Returns 0 when the tables are full. */
static int enter_frames(struct walker *walker, uint32_t base, uint32_t parent)
{
	struct tfp_stack_cache *cache = walker->cache;
	uint32_t end = base ? cache->frames[base - 1].word_end : 0;

	cache->count = base;
	while (cache->pending_count) {
		struct tfp_frame *frame = &cache->frames[cache->count];
		int is_first = cache->count == 0;

		*frame = cache->pending[--cache->pending_count];
		parent = tfp_nodes_get(&walker->stacks->nodes, parent, frame->pc);
		if (!parent)
			return 0;
		frame->node = parent;
		frame->needs_fp = frame->uses_fp;
		if (!is_first && frame[-1].needs_fp) {
			const struct tfp_word fp = { frame->fp_address, frame[-1].fp };

			if (frame->fp_address)
				add_word(cache, &end, &fp);
			else
				frame->needs_fp = 1;
		}
		if (!is_first)
			add_word(cache, &end, &frame->ra);
		if (!is_first && frame->cfa.address)
			add_word(cache, &end, &frame->cfa);
		frame->word_end = (uint16_t)end;
		cache->count++;
	}
	return 1;
}

/*
 * One walk with the cache as it is. Returns the node; 0 = the tables are full, or (*cut 0) there is no room for the frames.
 * `walker` holds the innermost frame.
 */
static uint32_t walk_once(struct walker *walker, uint32_t *cut)
{
	struct tfp_stack_cache *cache = walker->cache;
	uint32_t parent = 0;
	int base;

	walker->candidate = (int)cache->count - 1;
	walker->stretch = tfp_stack_memory_at(&cache->memory, walker->sp, 1);
	set_reach(walker);
	cache->pending_count = 0;
	base = walk(walker);
	*cut = 0;
	if (base >= 0 && (uint32_t)base + 1 + cache->pending_count > TFP_STACK_FRAMES)
		return 0;
	*cut = TFP_PC_CUT_FULL;
	if (base >= 0) {
		parent = cache->frames[base].node;
	} else {
		cache->cut = walker->cut;
		parent = walker->cut ? tfp_stacks_marker(walker->stacks, walker->cut) : 0;
		if (!cache->pending_count || (walker->cut && !parent))
			return 0;
	}
	if (!enter_frames(walker, (uint32_t)(base + 1), parent))
		return 0;
	*cut = cache->cut;
	cache->stretch = cache->frames[cache->count - 1].stretch;
	return cache->frames[cache->count - 1].node;
}

uint32_t tfp_stacks_walk(struct tfp_stacks *stacks, struct tfp_stack_cache *cache, uintptr_t pc, uintptr_t sp,
			 uintptr_t fp, uint32_t *cut)
{
	struct walker walker = { .stacks = stacks, .cache = cache };
	uint32_t node = 0;

	walker.epoch = atomic_load(&stacks->epoch);
	walker.trusted = atomic_load(&stacks->unloading) ? UINT32_MAX : walker.epoch;
	if (cache->epoch != walker.epoch)
		cache->count = 0;
	*cut = 0;
	/* The second time where the stack is deeper than the cache, which begins anew with the innermost frames alone. */
	for (int i = 0; i < 2 && !node && !*cut; i++) {
		if (i)
			cache->count = 0;
		walker.key = pc;
		walker.sp = sp;
		walker.fp = fp;
		walker.link_address = 0;
		walker.cut = 0;
		node = walk_once(&walker, cut);
	}
	if (!node)
		cache->count = 0;
	/* An object was unmapped meanwhile, or is being: what was found is true, but may not be for long. */
	cache->epoch = atomic_load(&stacks->epoch) == walker.epoch && !stacks->unloading ? walker.epoch : 0;
	if (node && cache->epoch)
		tfp_stacks_remember(cache);
	return node;
}

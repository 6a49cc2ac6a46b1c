/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The insides of stacks, shared by stacks*.c alone.
 *
 * Rule: everything here lies in pages that a fork child finds empty, and an empty cache is a valid one.
 *
 *   cache:   frames[0] outermost (or where the stack was cut) ... frames[count - 1] the caller of the hook
 *            words[0] ... words[frames[i].word_end - 1]: what must be unchanged on the stack for frames[0..i] to be true
 */
#ifndef TFP_COLLECTORS_STACKS_STATE_H
#define TFP_COLLECTORS_STACKS_STATE_H

#include "collectors/modules.h"
#include "collectors/stacks.h"
#include "collectors/stacks_index.h"
#include "collectors/stacks_memory.h"

#include <stdint.h>

#define TFP_STACK_FRAMES 256 /* kept of one stack: the largest setting STACKS */
#define TFP_STACK_MARKERS 4  /* TFP_PC_CUT_* are four bits in a row */
#define TFP_FRAME_WORDS 3    /* of the stack that lead to a frame's caller: CFA, return address, frame pointer */

struct tfp_stacks {
	_Atomic uint32_t epoch;     /* changes when an object may have been unmapped; 0 in a fork child */
	_Atomic uint32_t unloading; /* dlclose calls in progress */
	_Atomic uint32_t outside;   /* 1: a stack of another thread is being walked, whose objects nothing else holds */
	_Atomic uint32_t lock;      /* number of the thread that compiles; taken with all signals blocked, for 2 us */
	_Atomic uint32_t is_stuck;  /* 1: somebody waited for the lock in vain */
	uint32_t frames;            /* setting STACKS */
	_Atomic uint32_t markers[TFP_STACK_MARKERS]; /* pc index of each TFP_PC_CUT_*; 0 = not stored yet */
	struct tfp_modules *modules;
	void *scratch, *stack_top; /* of the compiler, under the lock */
	struct tfp_image image;
	struct tfp_far far; /* of who walks another thread's stack */
	struct tfp_sites sites;
	struct tfp_nodes nodes;
};

/* A word of the stack and what it held. */
struct tfp_word {
	uintptr_t address;
	uint64_t value;
};

/* The word there, which is on the live stack. It may lie in what AddressSanitizer puts around a caller's variables. */
static inline __attribute__((no_sanitize("address", "thread"))) uint64_t tfp_stack_word(uintptr_t address)
{
	return *(const volatile uint64_t *)address;
}

/* A frame: the registers at its code address, and where on the stack its caller's are. */
struct tfp_frame {
	uint64_t key; /* code address, see tfp_sites */
	uintptr_t sp, fp;
	struct tfp_word ra;  /* address 0: outermost frame, or its caller is not known */
	struct tfp_word cfa; /* address 0: computed from registers alone */
	uintptr_t fp_address; /* of the caller's frame pointer; 0 = the same as here */
	uint32_t pc;         /* index of the log's pcs */
	uint32_t node;       /* of the stack that ends with this frame */
	uint16_t word_end;
	uint8_t uses_fp;  /* its own rule counts from fp */
	uint8_t needs_fp; /* it or, through it, an older frame counts from fp: two frames are equal only with equal fp */
	int32_t stretch;  /* of the stack memory that sp lies in */
};

#define TFP_RECENT_SETS 512    /* of two; 56 KiB */
#define TFP_RECENT_WORDS 8192u /* of all stacks together, 12 bytes each: 500 stacks of 10 frames, 100 of 60 */

/* A complete stack that was walked a second time, so that paths in turn do not push one another out of the cache. */
struct tfp_recent {
	uint64_t key;
	uintptr_t sp, fp;
	uint32_t epoch, node, cut;
	uint64_t first; /* its first word, counted from the beginning of time: gone once TFP_RECENT_WORDS came after it */
	uint16_t word_count; /* 0 = seen once: only key and sp are valid */
	uint16_t needs_fp;
};

#define TFP_NEAR_SETS 256u /* 42 KiB, of which as much is touched as there are different ends of stacks */
#define TFP_NEAR_FRAMES 3u
#define TFP_NEAR_WORDS 6u

/* The innermost frames of a stack and the frame that they were called from: true wherever that frame is. stacks_near.c */
struct tfp_near {
	uint64_t key; /* of the innermost one */
	uintptr_t sp, fp;
	uint32_t epoch; /* in which all this was so; 0: never */
	uint16_t base;  /* number of the cached frame that all were called from */
	uint8_t frames, words;
	uint8_t needs_fp, base_needs_fp;
	uint32_t pcs[TFP_NEAR_FRAMES]; /* outermost first */
	uint32_t base_node, node; /* of that frame and of the stack, the last time; 0: of one frame alone, look it up */
	uint64_t base_key;
	uintptr_t base_sp, base_fp;
	struct tfp_word word[TFP_NEAR_WORDS]; /* what leads there, innermost first */
};

#define TFP_KNOWN_SITES 1024 /* 32 KiB of rules next to the frames; C programs use tens, CPython hundreds, a compiler thousands */

/* A site with a usual rule (stacks_fast.c): the caller's stack pointer is sp or fp + cfa, its address lies there + ra_bytes. */
struct tfp_known_site {
	uint64_t key; /* 0 = empty */
	uint32_t epoch, pc;
	int32_t cfa, ra_bytes;
	int32_t fp_bytes;   /* 0 = the frame pointer is not saved */
	uint16_t least;     /* bytes of the frame, so that what is read of it lies inside */
	uint16_t is_cfa_fp;
};

#define TFP_KNOWN_NODE_BITS 10 /* 1,024 sets of two, 32 KiB: the last frames of the stacks that come in turn */

/* A node found lately (stacks_fast.c), so that the process's index is not asked again. */
struct tfp_known_node {
	uint64_t key; /* parent << 32 | pc; 0 = empty */
	uint64_t node;
};

struct tfp_stack_cache {
	uint32_t epoch; /* in which frames are true; not the process's: empty */
	uint32_t count;
	uint32_t cut; /* TFP_PC_CUT_* beyond frames[0] */
	uint32_t pending_count;
	int32_t stretch; /* of the newest frame */
	uint32_t last_node; /* the node found last: paths come again in the order in which they were entered */
	uint32_t is_recent; /* the last stack that was not the cached one was a recent one: the next one may be, too */
	struct tfp_stack_memory memory;
	struct tfp_known_site sites[TFP_KNOWN_SITES];
	struct tfp_known_node nodes[1 << TFP_KNOWN_NODE_BITS][2];
	struct tfp_near near[TFP_NEAR_SETS];
	struct tfp_frame frames[TFP_STACK_FRAMES];
	struct tfp_word words[TFP_STACK_FRAMES * TFP_FRAME_WORDS];
	struct tfp_frame pending[TFP_STACK_FRAMES]; /* new frames of the walk in progress, innermost first */
	struct tfp_recent recent[TFP_RECENT_SETS][2];
	uint64_t recent_words; /* ever written: a ring */
	uint32_t recent_offsets[TFP_RECENT_WORDS]; /* of the words from their stack's sp, bytes, outermost first */
	uint64_t recent_values[TFP_RECENT_WORDS];
};

/* What is known of the code address `key` in `epoch`, compiled if need be. Returns 0 where nothing could be had. */
int tfp_stacks_site(struct tfp_stacks *stacks, uint64_t key, uint32_t epoch, struct tfp_site *site);

/* The same of an address that no live stack holds, between tfp_stacks_outside_begin and _end. 0, too, where its object went meanwhile. */
int tfp_stacks_site_outside(struct tfp_stacks *stacks, uint64_t key, uint32_t epoch, struct tfp_site *site);

/* Where the function of that address begins and ends, all of it in a readable part of its object; 0: not known. */
uintptr_t tfp_stacks_function(struct tfp_stacks *stacks, uint64_t key, uintptr_t *end);

/* The node of the marker TFP_PC_CUT_*, for the root of a stack that was cut; 0 = the log has no room. */
uint32_t tfp_stacks_marker(struct tfp_stacks *stacks, uint32_t flag);

/* Whether recent holds this stack; then its node and cut. Else 0. */
uint32_t tfp_stacks_recent(struct tfp_stack_cache *cache, uint32_t epoch, uintptr_t pc, uintptr_t sp, uintptr_t fp,
			   uint32_t *cut);

/* Notes that the cached stack was walked just now. */
void tfp_stacks_remember(struct tfp_stack_cache *cache);

/* A return address without its signature (pointer authentication, aarch64; bit 55 would be a kernel address). */
static inline uint64_t tfp_plain_address(uint64_t value)
{
#if defined __aarch64__
	register uint64_t x30 __asm__("x30") = value;

	__asm__("hint #7" : "+r"(x30)); /* xpaclri; does nothing on processors without it */
	return x30;
#else
	return value;
#endif
}

/*
 * tfp_stack_capture, when the stack is not the cached one, which is of this epoch: by an entry of `near`; by another recent stack
 * or a walk. The first goes on to the second.
 */
uint32_t tfp_stacks_near(struct tfp_stacks *stacks, struct tfp_stack_cache *cache, uintptr_t pc, uintptr_t sp, uintptr_t fp,
			 uint32_t *cut);
uint32_t tfp_stacks_other(struct tfp_stacks *stacks, struct tfp_stack_cache *cache, uintptr_t pc, uintptr_t sp, uintptr_t fp,
			  uint32_t *cut);

/* Notes how the cached stack goes on from its frame number `base`. */
void tfp_stacks_near_learn(struct tfp_stack_cache *cache, uint32_t base);

/* tfp_stack_capture, when the walk is not a usual one (stacks_fast.c). */
uint32_t tfp_stacks_walk(struct tfp_stacks *stacks, struct tfp_stack_cache *cache, uintptr_t pc, uintptr_t sp,
			 uintptr_t fp, uint32_t *cut);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a code address says about its caller's frame: a rule, compiled once by libunwind from call frame information.
 *
 * Rule: a rule is exact or there is none (TFP_RULE_NONE); nothing is guessed from frame pointers or from what lies on
 * the stack. It is not a walker: stacks_walk.c applies rules to a real stack.
 */
#ifndef TFP_COLLECTORS_UNWIND_H
#define TFP_COLLECTORS_UNWIND_H

#include "collectors/far_memory.h"

#include <stdint.h>

enum tfp_rule_kind {
	TFP_RULE_NONE = 0, /* no information: the stack ends here with a flag */
	TFP_RULE_STEP = 1,
	TFP_RULE_END = 2, /* outermost frame: its return address is said to be undefined */
};

/* What an offset counts from. */
enum tfp_rule_base {
	TFP_BASE_CFA = 0,
	TFP_BASE_SP = 1,
	TFP_BASE_FP = 2,
	TFP_BASE_KEPT = 3, /* not in memory. Frame pointer: unchanged; return address: still in the link register */
};

/*
 * CFA (the stack pointer's value once the function has returned) = (sp or fp) + cfa, or, where is_indirect, the word
 * that lies there + cfa_after. Return address and saved frame pointer lie at base + 8 * words.
 */
struct tfp_rule {
	int32_t cfa;       /* bytes */
	int16_t cfa_after; /* bytes */
	int16_t ra_words, fp_words;
	uint16_t kind : 2;
	uint16_t is_cfa_fp : 1;
	uint16_t is_indirect : 1;
	uint16_t ra_base : 2;
	uint16_t fp_base : 2;
	uint16_t is_signal : 1; /* the frame of a signal's return: the next address is the interrupted instruction itself */
};

#define TFP_IMAGE_RANGES 16 /* readable segments of an object: 4 by default, node has 6, prelinked or padded ones more */

/* A mapped object, as far as its call frame information goes. */
struct tfp_image {
	uintptr_t start, end; /* lowest mapped address, one past the highest */
	uintptr_t frames;     /* its .eh_frame_hdr, 0 = none */
	struct {
		uintptr_t start, end;
	} readable[TFP_IMAGE_RANGES]; /* what of it may be read, */
	struct tfp_far *far; /* and how: NULL = where it lies */
};

/*
 * The rule for `pc`, a return address, or, where is_exact, the address of an interrupted instruction, which lies in
 * `image`. One thread at a time; needs 16 KiB of stack; reads only `image`.
 */
void tfp_unwind_compile(const struct tfp_image *image, uintptr_t pc, int is_exact, struct tfp_rule *rule);

/* Where the function that holds the instruction at `pc` begins, and one past its last byte, by the same information; 0: there is none. All
 * of it may be read. As tfp_unwind_compile. */
uintptr_t tfp_unwind_function(const struct tfp_image *image, uintptr_t pc, uintptr_t *end);

/* Runs `function(argument)` on the stack that ends below `top` (16-byte aligned) and comes back. */
void tfp_unwind_on_stack(void *top, void (*function)(void *argument), void *argument);

/* Whether [address, address + bytes) may be read, by what `image` says. */
int tfp_image_has(const struct tfp_image *image, uintptr_t address, uintptr_t bytes);

#endif

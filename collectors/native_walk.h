/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native stack of another thread, from registers and a copy of its stack: for who looks from outside (collectors/native_time.h).
 *
 * Rule: as in stacks.h, a stack is the true one or ends early with a marker that says why; a register that nobody knows is not guessed.
 * Rules and nodes are those of collectors/stacks.h. One walk at a time.
 */
#ifndef TFP_COLLECTORS_NATIVE_WALK_H
#define TFP_COLLECTORS_NATIVE_WALK_H

#include "collectors/stacks.h"

#define TFP_NATIVE_FRAMES 500 /* whatever STACKS says: these walks are few, and what counts is often far out */

/* Of a thread at one moment. The frame pointer and, on aarch64, the link register may not be known. */
struct tfp_native_registers {
	uintptr_t pc, sp, fp, link;
	int has_fp, has_link;
};

/* What lay from `start` on; the byte at address a is data[(offset + a - start) & mask]. Words lie as they lay, 8-aligned from start. */
struct tfp_native_copy {
	uintptr_t start;
	size_t bytes;
	const uint8_t *data;
	size_t offset, mask;
};

#define TFP_NATIVE_CODE 8192 /* bytes of a function that is looked through */

struct tfp_native_walk {
	uint8_t code[TFP_NATIVE_CODE];
	uint32_t pcs[TFP_NATIVE_FRAMES]; /* indices of the log's, innermost first */
};

/*
 * The node of the stack; 0: none could be had. Between tfp_stacks_outside_begin, which said that the objects are those of the moment that
 * registers and copy are of, and _end. copy NULL: the stack is read where it lies, no page but those of its frames (what lies next to it
 * may be a device's, or a page that somebody waits to see touched); it is true if the thread has not moved until afterwards.
 */
uint32_t tfp_native_walk(struct tfp_stacks *stacks, struct tfp_native_walk *walk, const struct tfp_native_registers *registers,
			 const struct tfp_native_copy *copy);

#endif

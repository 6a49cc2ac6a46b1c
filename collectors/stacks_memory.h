/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What memory a walk may read: stretches of readable memory that hold, or held, this thread's stacks.
 *
 * Rule: a stretch begins at a stack pointer seen and is extended upwards page by page, each page asked of the kernel
 * before it is read for the first time, so that no mapping list is parsed and no descriptor opened. The main stack's
 * upper end is known without asking. After seccomp nothing new becomes readable but the page of the stack pointer.
 */
#ifndef TFP_COLLECTORS_STACKS_MEMORY_H
#define TFP_COLLECTORS_STACKS_MEMORY_H

#include <stdint.h>

#define TFP_STRETCHES 16 /* own stack, alternate stack, and coroutines */

struct tfp_stretch {
	uintptr_t start, end;
};

struct tfp_stack_memory {
	struct tfp_stretch stretches[TFP_STRETCHES];
	uint32_t next; /* to be replaced */
};

/* Whether the 8 bytes at `address` can be read: asked of the kernel, 0.1 us. Never, after seccomp. */
int tfp_stack_memory_can_read(uintptr_t address);

/*
 * The stretch that holds the live stack pointer `sp`, known or made. is_certain: the caller runs on it, so that its page
 * need not be asked for. Returns its number, or -1 where that page cannot be read.
 */
int tfp_stack_memory_at(struct tfp_stack_memory *memory, uintptr_t sp, int is_certain);

/* Extends stretch `number` so that it holds the word at `address`. Returns 0 where it cannot. */
int tfp_stack_memory_extend(struct tfp_stack_memory *memory, int number, uintptr_t address);

#endif

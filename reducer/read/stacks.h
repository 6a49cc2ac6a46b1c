/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call stacks of one log: nodes -> code addresses. Symbols are not our business (reducer/symbols).
 *
 * Rule: a parent's index is lower than its child's (a parent exists before its child is made), so a walk always ends; a
 * node that breaks the rule is damage and reads as "no stack".
 */
#ifndef REDUCER_READ_STACKS_H
#define REDUCER_READ_STACKS_H

#include "reducer/read/log.h"

#define STACKS_MOST (UINT32_C(1) << 25) /* ids of stacks that a log can hold and still be followed by all */

struct stacks {
	uint64_t *nodes; /* parent << 32 | pc index; 0 = absent; indexed by stack id */
	uint32_t node_count;
	struct tfp_pc *pcs; /* indexed by pc index; flags without TFP_PC_WRITTEN = absent */
	uint32_t pc_count;
};

/*
 * The nodes of a packed block whose payload is given and whose first index is `first`; NULL where it is damaged (or there
 * is no memory). The caller frees them.
 */
uint64_t *packed_nodes(const uint8_t *payload, size_t bytes, uint64_t first, size_t *count);

/*
 * Reads the pcs and nodes blocks, packed ones too. NULL only without memory. A log without stacks gives counts of 0.
 * The log stays open: blocks of it may be read ahead meanwhile.
 */
struct stacks *stacks_load(const struct log *log);
void stacks_free(struct stacks *stacks);

/* The innermost frame of *stack: *pc is its index; *stack becomes the stack around it. Returns 0 where there is none. */
static inline int stacks_step(const struct stacks *stacks, uint32_t *stack, uint32_t *pc)
{
	uint64_t node = *stack != 0 && *stack < stacks->node_count ? stacks->nodes[*stack] : 0;

	*pc = (uint32_t)node;
	*stack = (uint32_t)(node >> 32);
	return node != 0;
}

/*
 * Frames of `stack`, innermost first, into `frames`: at most `room`, further out nobody goes, for a damaged log may have stacks of
 * millions. Returns how many (0 for id 0 or an id that is absent). A marker (flags TFP_PC_CUT_*, pc 0) stands outermost where the stack
 * was cut.
 */
size_t stacks_frames(const struct stacks *stacks, uint32_t stack, const struct tfp_pc **frames, size_t room);

#endif

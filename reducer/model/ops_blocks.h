/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocators of frameworks while their records stream by. Private to the model.
 *
 * Rule: one account an allocator, every event counted, live bytes by address; a release of a block that was handed out
 * before recording began is counted apart.
 */
#ifndef REDUCER_MODEL_OPS_BLOCKS_H
#define REDUCER_MODEL_OPS_BLOCKS_H

#include "reducer/model/internal.h"

#include <stddef.h>
#include <stdint.h>

struct blocks; /* all allocators of one process */

struct blocks *blocks_begin(void);
void blocks_free(struct blocks *blocks);

/* A window closes: which blocks are released from here on is not recorded, so that those live now count as live no more. */
void blocks_forget(struct blocks *blocks, uint64_t time);

/* A block of `bytes` was handed out, by this stack (0 = not recorded). Times are ticks. */
void blocks_add(struct blocks *blocks, const char *allocator, uint64_t address, uint64_t bytes, uint64_t requested, uint64_t time,
		uint32_t stack);
/* What the allocator says it has handed out behind that event; 0 = nothing. Before the event itself is given to those below. */
void blocks_told(struct blocks *blocks, const char *allocator, uint64_t total, uint64_t bytes, int is_release);
void blocks_remove(struct blocks *blocks, const char *allocator, uint64_t address, uint64_t bytes, uint64_t time);

/* Adds them to process->accounts. Returns -1 without memory. */
int blocks_finish(struct blocks *blocks, struct process *process);

#endif

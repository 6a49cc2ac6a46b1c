/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Poisson sampler of allocations: how far to the next sample, and which live blocks were sampled.
 *
 * Rule: a byte is chosen with the same chance whatever the size of its block: distances are exponential, drawn in
 * integers (floating point would raise the host's inexact flag). Sampled blocks stand in a lock-free table behind a
 * filter that every release reads: one byte.
 */
#ifndef TFP_COLLECTORS_SAMPLER_H
#define TFP_COLLECTORS_SAMPLER_H

#include "writer/state.h"

#define TFP_FILTER_BITS 16

/* 1 << TFP_FILTER_BITS bytes, in pages that a fork child finds empty; written at start-up once. */
extern uint8_t *tfp_sampler_filter TFP_HIDDEN;

static inline uint64_t tfp_sampler_hash(const void *block)
{
	return ((uint64_t)(uintptr_t)block >> 4) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
}

/*
 * The filter's byte for a block: one a 512 bytes of heap, neighbours beside each other, because what a program releases lies
 * together: spread by a hash, most releases of a large program would wait for memory.
 */
static inline uint64_t tfp_sampler_place(const void *block)
{
	return (uintptr_t)block >> 9 & ((1 << TFP_FILTER_BITS) - 1);
}

/* 0: this block was certainly not sampled. Any thread, any context. */
static inline int tfp_sampler_may_hold(const void *block)
{
	return __builtin_expect(tfp_sampler_filter[tfp_sampler_place(block)], 0);
}

/* Makes table and filter for samples every `interval` bytes. 0, or -1 without memory: the mode falls back to totals. */
int tfp_sampler_make(uint64_t interval);

/* The distance to the next sample, exponential with mean `interval`; *random is the thread's generator, not 0. */
int64_t tfp_sampler_distance(uint64_t *random, uint64_t interval);

/* Enters a sampled block. -1: the table is full. */
int tfp_sampler_add(const void *block);

/* Takes a block out; 1 if it was in. */
int tfp_sampler_remove(const void *block);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of which source and key an op is open on any thread, so that an end which nothing waits for costs no search of all that is open.
 *
 * Rule: "none" is true; "maybe" is not more than that, for several keys share a place.
 */
#ifndef REDUCER_MODEL_OPEN_KEYS_H
#define REDUCER_MODEL_OPEN_KEYS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define OPEN_KEYS_BITS 16u

/* Private. How many are open, by place; NULL: no memory, so that all may be. */
struct open_keys {
	uint32_t *counts;
};

static inline void open_keys_begin(struct open_keys *keys)
{
	keys->counts = calloc((size_t)1 << OPEN_KEYS_BITS, sizeof *keys->counts);
}

static inline void open_keys_free(struct open_keys *keys)
{
	free(keys->counts);
}

/* Multiplied by 2^64 over the golden ratio, whose high bits depend on all of them. */
static inline size_t open_keys_place(unsigned source, uint64_t key)
{
	return (size_t)((key ^ (uint64_t)source << 48) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - OPEN_KEYS_BITS));
}

/* An op of the source began (change 1) or is open no more (-1). Each counts under its source, too: an end without a key (0) is of any. */
static inline void open_keys_change(struct open_keys *keys, unsigned source, uint64_t key, int change)
{
	if (keys->counts == NULL)
		return;
	keys->counts[open_keys_place(source, key)] += (uint32_t)change;
	if (key != 0)
		keys->counts[open_keys_place(source, 0)] += (uint32_t)change;
}

/* 0: none is open. */
static inline int open_keys_may(const struct open_keys *keys, unsigned source, uint64_t key)
{
	return keys->counts == NULL || keys->counts[open_keys_place(source, key)] != 0;
}

#endif

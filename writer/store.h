/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the log that is mapped shared and written in place: facts, code addresses, stack nodes, thread slots.
 *
 * Rule: an entry is whole or absent, whatever instant the process dies at; nothing is ever moved or taken back.
 * Everything here may be called from any thread, inside a signal handler, and inside malloc. It may make system calls
 * (when a block is full) but never blocks on another thread.
 */
#ifndef TFP_WRITER_STORE_H
#define TFP_WRITER_STORE_H

#include "writer/format.h"
#include "writer/segments.h"

#include <stddef.h>
#include <stdint.h>

/* Adds a code address. Returns its index, or 0 when there is no room. The caller keeps them distinct. */
uint32_t tfp_store_pc(uint64_t pc, uint32_t module, uint32_t flags);

/* Adds the node (parent, pc). Returns its index, or 0 when there is no room. The caller keeps them distinct. */
uint32_t tfp_store_node(uint32_t parent, uint32_t pc_index);

#define TFP_NODES_FIRST 2048 /* entries of the first block of nodes: a power of two, for tfp_segment_of */

/* The array of nodes that tfp_store_node fills. */
struct tfp_segments *tfp_store_nodes(void);

/*
 * The node at an index that tfp_store_node gave: parent << 32 | pc index. 0 where it is being entered just now; the index
 * may come from another thread, if it was published after tfp_store_node returned.
 */
static inline __attribute__((always_inline)) uint64_t tfp_store_node_word(const struct tfp_segments *nodes, uint32_t index)
{
	uint64_t start;
	unsigned segment = tfp_segment_of(TFP_NODES_FIRST, index, &start);
	const unsigned char *base = __atomic_load_n((unsigned char *const *)&nodes->base[segment], __ATOMIC_RELAXED);

	return __atomic_load_n((const uint64_t *)(const void *)base + (index - start), __ATOMIC_RELAXED);
}

/* Whether the node at an index, which may not be there, is `word`. */
static inline __attribute__((always_inline)) int tfp_store_is_node(const struct tfp_segments *nodes, uint32_t index, uint64_t word)
{
	uint64_t start;
	unsigned segment = tfp_segment_of(TFP_NODES_FIRST, index, &start);
	const unsigned char *base =
		segment < TFP_SEGMENTS ? __atomic_load_n((unsigned char *const *)&nodes->base[segment], __ATOMIC_ACQUIRE) : NULL;

	/* Pairs with the store in tfp_store_node. */
	return base && __atomic_load_n((const uint64_t *)(const void *)base + (index - start), __ATOMIC_ACQUIRE) == word;
}

/* A str field of a fact: not terminated, may hold any byte. */
struct tfp_text {
	const void *bytes;
	size_t length;
};

/* One field of a fact, in the order of records.def: is_text selects the member. */
struct tfp_fact_field {
	int is_text;
	uint64_t number;
	struct tfp_text text;
};

/* Appends a fact. Returns 0, or -1 after counting TFP_LOSS_fact. */
int tfp_store_fact(uint8_t tag, const struct tfp_fact_field *fields, size_t count);

#endif

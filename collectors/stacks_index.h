/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two hash tables of the process: code address -> its rule and number in the log; (caller's node, code) -> node.
 *
 * Rule: readers never wait and never see half an entry; whoever loses a race makes a second entry of the log, never a
 * wrong one. Tables grow by being copied into one twice as large; most of the old one's pages are given back, not its
 * addresses, so that a late reader finds zeros or what was true, and asks again. Emptied pages (fork child) are not usable: make them anew.
 */
#ifndef TFP_COLLECTORS_STACKS_INDEX_H
#define TFP_COLLECTORS_STACKS_INDEX_H

#include "collectors/unwind.h"
#include "writer/store.h"

#include <stdatomic.h>
#include <stdint.h>

/* What is known of one code address. */
struct tfp_site {
	struct tfp_rule rule;
	uint32_t pc;     /* index of the log's pcs; 0 = none could be had */
	uint32_t module; /* 0 = none known */
	uint32_t epoch;  /* in which this was true */
};

/* Bit 63 of a key: the address itself, not a return address. User addresses have at most 57 bits. */
#define TFP_SITE_EXACT (UINT64_C(1) << 63)

struct tfp_site_slot {
	_Atomic uint64_t key;  /* pc | TFP_SITE_EXACT; 0 = free. Set once, before head */
	_Atomic uint64_t head; /* epoch << 33 | module; odd in bit 32 while the rest changes; 0 = nothing yet */
	_Atomic uint64_t body[2]; /* the rule, the pc index */
};

struct tfp_site_table {
	uint64_t mask, padding[3];
	struct tfp_site_slot slots[];
};

struct tfp_sites {
	_Atomic(struct tfp_site_table *) current;
	uint32_t count; /* keys in it; of the writer */
};

/*
 * A slot is 4 bytes: the number of a node, and bits of its hash, so that few nodes are looked at in vain. The node itself,
 * in the log, is what the key is compared with. 0 = free. A path is entered in one go, so most nodes (66 to 84 % in CPython,
 * g++ and C++, counted) have the number that follows their caller's: those are found there, and have no slot.
 */
#define TFP_NODE_BITS 24 /* nodes with larger numbers are not entered */

struct tfp_node_table {
	uint64_t mask;
	_Atomic uint32_t slots[];
};

struct tfp_nodes {
	_Atomic(struct tfp_node_table *) current;
	const struct tfp_segments *log; /* the nodes themselves */
	_Atomic uint32_t count;
	_Atomic uint32_t newest; /* made last, or by a race nearly so: it has no callees yet, and the index need not be asked */
	_Atomic uint32_t is_growing;
};

/* Make the first tables. Returns 0 when there is no memory. */
int tfp_sites_make(struct tfp_sites *sites);
int tfp_nodes_make(struct tfp_nodes *nodes);

static inline uint64_t tfp_index_mix(uint64_t key)
{
	key *= UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
	return key ^ key >> 29;
}

/* The slot of `key`, or the free one where it would stand. */
static inline struct tfp_site_slot *tfp_sites_slot(struct tfp_site_table *table, uint64_t key)
{
	uint64_t mask = table->mask;

	for (uint64_t at = tfp_index_mix(key) & mask;; at = (at + 1) & mask) {
		uint64_t found = atomic_load_explicit(&table->slots[at].key, memory_order_acquire);

		if (!found || found == key)
			return &table->slots[at];
	}
}

/* The bits of a hash that stand beside a node's number. */
static inline uint32_t tfp_node_tag(uint64_t hash)
{
	return (uint32_t)(hash >> 56) << TFP_NODE_BITS;
}

/* Whether the slot is free (*id 0) or holds `key`. */
static inline __attribute__((always_inline)) int tfp_nodes_is_slot(const struct tfp_segments *log, const _Atomic uint32_t *slot,
								   uint64_t key, uint32_t tag, uint32_t *id)
{
	/* Acquire: the node stands in the log before its number stands here. */
	uint32_t found = atomic_load_explicit(slot, memory_order_acquire);

	*id = found & ((1u << TFP_NODE_BITS) - 1);
	return !found || ((found & ~((1u << TFP_NODE_BITS) - 1)) == tag && tfp_store_node_word(log, *id) == key);
}

/* The slot of `key`, whose number goes to *id, or the free one where it would stand (*id 0). */
static inline _Atomic uint32_t *tfp_nodes_slot(const struct tfp_segments *log, struct tfp_node_table *table, uint64_t key,
					       uint32_t *id)
{
	uint64_t mask = table->mask, hash = tfp_index_mix(key);
	uint32_t tag = tfp_node_tag(hash);

	/* High bits: the low ones of a product know only the low ones of the caller, which paths of equal length repeat. */
	for (uint64_t at = hash >> 36 & mask;; at = (at + 1) & mask)
		if (tfp_nodes_is_slot(log, &table->slots[at], key, tag, id))
			return &table->slots[at];
}

#define TFP_SITE_EPOCH_SHIFT 33
#define TFP_SITE_CHANGING (UINT64_C(1) << 32)

/* Copies what is known of `key`. Returns 0 where there is nothing. Any thread. */
static inline int tfp_sites_get(struct tfp_sites *sites, uint64_t key, struct tfp_site *site)
{
	struct tfp_site_slot *slot = tfp_sites_slot(atomic_load_explicit(&sites->current, memory_order_acquire), key);
	uint64_t head = atomic_load_explicit(&slot->head, memory_order_acquire);
	uint64_t body[2];

	if (atomic_load_explicit(&slot->key, memory_order_relaxed) != key || !head || (head & TFP_SITE_CHANGING))
		return 0;
	body[0] = atomic_load_explicit(&slot->body[0], memory_order_relaxed);
	body[1] = atomic_load_explicit(&slot->body[1], memory_order_relaxed);
	/* Pairs with the fence of the writer: a body being changed shows a changed head. */
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&slot->head, memory_order_relaxed) != head)
		return 0;
	__builtin_memcpy(&site->rule, body, sizeof(site->rule));
	site->pc = (uint32_t)(body[1] >> 32);
	site->module = (uint32_t)head;
	site->epoch = (uint32_t)(head >> TFP_SITE_EPOCH_SHIFT);
	return 1;
}

/* Says that what is known of `key` is true in `epoch` also; does nothing where it changes meanwhile. Any thread. */
void tfp_sites_renew(struct tfp_sites *sites, uint64_t key, const struct tfp_site *site, uint32_t epoch);

/* Enters or replaces what is known of `key`. One writer at a time. Without memory it is forgotten again. */
void tfp_sites_put(struct tfp_sites *sites, uint64_t key, const struct tfp_site *site);

/* Makes the node of code `pc` called from `parent`. 0 = the log has no room. Any thread. */
uint32_t tfp_nodes_add(struct tfp_nodes *nodes, uint32_t parent, uint32_t pc);

/* The same, made only if it is new. */
static inline uint32_t tfp_nodes_get(struct tfp_nodes *nodes, uint32_t parent, uint32_t pc)
{
	uint64_t key = (uint64_t)parent << 32 | pc;
	uint32_t id;

	if (tfp_store_is_node(nodes->log, parent + 1, key))
		return parent + 1;
	if (atomic_load_explicit(&nodes->newest, memory_order_relaxed) == parent)
		return tfp_nodes_add(nodes, parent, pc);
	tfp_nodes_slot(nodes->log, atomic_load_explicit(&nodes->current, memory_order_acquire), key, &id);
	if (__builtin_expect(id != 0, 1))
		return id;
	return tfp_nodes_add(nodes, parent, pc);
}

#endif

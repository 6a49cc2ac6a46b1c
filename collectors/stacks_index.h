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

struct tfp_sites {
	_Atomic(struct tfp_site_table *) current;
	uint32_t count; /* keys in it; of the writer */
};

struct tfp_node_slot {
	_Atomic uint64_t key; /* parent node << 32 | pc index; 0 = free */
	_Atomic uint64_t id;  /* 0 = not yet */
};

struct tfp_nodes {
	_Atomic(struct tfp_node_table *) current;
	_Atomic uint32_t count;
	_Atomic uint32_t is_growing;
};

/* Make the first tables. Returns 0 when there is no memory. */
int tfp_sites_make(struct tfp_sites *sites);
int tfp_nodes_make(struct tfp_nodes *nodes);

/* Copies what is known of `key`. Returns 0 where there is nothing. Any thread. */
int tfp_sites_get(struct tfp_sites *sites, uint64_t key, struct tfp_site *site);

/* Says that what is known of `key` is true in `epoch` also; does nothing where it changes meanwhile. Any thread. */
void tfp_sites_renew(struct tfp_sites *sites, uint64_t key, const struct tfp_site *site, uint32_t epoch);

/* Enters or replaces what is known of `key`. One writer at a time. Without memory it is forgotten again. */
void tfp_sites_put(struct tfp_sites *sites, uint64_t key, const struct tfp_site *site);

/* The node of code `pc` called from `parent`, made if it is new. 0 = the log has no room. Any thread. */
uint32_t tfp_nodes_get(struct tfp_nodes *nodes, uint32_t parent, uint32_t pc);

#endif

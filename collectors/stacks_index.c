/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of stacks_index.h: open addressing, at most three quarters full. Rule: as there.
 */
#include "collectors/stacks_index.h"

#include "writer/store.h"
#include "writer/sys.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "writer/poison.h"

#define FIRST_SITES 256   /* slots: 8 KiB; `true` has 20 addresses, CPython 6,600 */
#define FIRST_NODES 1024  /* slots: 4 KiB */
#define MOST_SLOTS (1u << 23) /* 256 MiB of sites, 32 MiB of nodes; more are not found again */

#define HUGE_PAGE (1u << 21) /* bytes, x86-64 and aarch64 with pages of 4 KiB */
#define KEPT 65536 /* bytes: the largest page, so that what follows it begins a page on every machine */

/* Gives back what a table that was copied holds, but not its first page, which has the mask; the rest reads as zeros. */
static void empty(void *start, size_t bytes)
{
	if (bytes > KEPT)
		tfp_sys(SYS_madvise, (long)start + KEPT, (long)(bytes - KEPT), MADV_DONTNEED, 0, 0, 0);
}

static size_t site_bytes(uint64_t slots)
{
	return sizeof(struct tfp_site_table) + slots * sizeof(struct tfp_site_slot);
}

static size_t node_bytes(uint64_t slots)
{
	return sizeof(struct tfp_node_table) + slots * sizeof(uint32_t);
}

int tfp_sites_make(struct tfp_sites *sites)
{
	struct tfp_site_table *table = tfp_pages_get(site_bytes(FIRST_SITES), 1);

	if (!table)
		return 0;
	table->mask = FIRST_SITES - 1;
	sites->count = 0;
	sites->current = table;
	return 1;
}

int tfp_nodes_make(struct tfp_nodes *nodes)
{
	struct tfp_node_table *table = tfp_pages_get(node_bytes(FIRST_NODES), 1);

	if (!table)
		return 0;
	table->mask = FIRST_NODES - 1;
	nodes->count = 0;
	nodes->log = tfp_store_nodes();
	nodes->current = table;
	return 1;
}

void tfp_sites_renew(struct tfp_sites *sites, uint64_t key, const struct tfp_site *site, uint32_t epoch)
{
	struct tfp_site_slot *slot = tfp_sites_slot(atomic_load_explicit(&sites->current, memory_order_acquire), key);
	uint64_t head = (uint64_t)site->epoch << TFP_SITE_EPOCH_SHIFT | site->module;

	if (slot->key == key)
		atomic_compare_exchange_strong(&slot->head, &head, (uint64_t)epoch << TFP_SITE_EPOCH_SHIFT | site->module);
}

static void write_slot(struct tfp_site_slot *slot, uint64_t key, const uint64_t *body, uint64_t head)
{
	atomic_store_explicit(&slot->head, TFP_SITE_CHANGING, memory_order_relaxed);
	/* Pairs with the fence in tfp_sites_get. */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&slot->body[0], body[0], memory_order_relaxed);
	atomic_store_explicit(&slot->body[1], body[1], memory_order_relaxed);
	atomic_store_explicit(&slot->key, key, memory_order_release);
	atomic_store_explicit(&slot->head, head, memory_order_release);
}

static void grow_sites(struct tfp_sites *sites)
{
	struct tfp_site_table *old = sites->current;
	uint64_t slots = old->mask + 1;
	struct tfp_site_table *table = slots < MOST_SLOTS ? tfp_pages_get(site_bytes(2 * slots), 1) : NULL;

	if (!table)
		return;
	table->mask = 2 * slots - 1;
	for (uint64_t i = 0; i < slots; i++) {
		struct tfp_site_slot *from = &old->slots[i];
		uint64_t body[2] = { from->body[0], from->body[1] };

		if (from->key)
			write_slot(tfp_sites_slot(table, from->key), from->key, body, from->head);
	}
	/* Pairs with the loads of current: a reader finds whole entries. */
	atomic_store_explicit(&sites->current, table, memory_order_release);
	empty(old, site_bytes(slots));
}

void tfp_sites_put(struct tfp_sites *sites, uint64_t key, const struct tfp_site *site)
{
	struct tfp_site_table *table = sites->current;
	struct tfp_site_slot *slot = tfp_sites_slot(table, key);
	uint64_t body[2] = { 0, 0 };

	if (!slot->key && sites->count >= (table->mask + 1) * 3 / 4) {
		grow_sites(sites);
		if (sites->current == table)
			return;
		slot = tfp_sites_slot(sites->current, key);
	}
	if (!slot->key)
		sites->count++;
	__builtin_memcpy(body, &site->rule, sizeof(site->rule));
	body[1] = (body[1] & UINT32_MAX) | (uint64_t)site->pc << 32;
	write_slot(slot, key, body, (uint64_t)site->epoch << TFP_SITE_EPOCH_SHIFT | site->module);
}

_Static_assert(sizeof(struct tfp_rule) == 12, "the rule and the pc index fill the body of a slot");

/* Enters key -> id unless it is there. Two threads that enter the same key at once keep the first. */
static void enter_node(const struct tfp_nodes *nodes, struct tfp_node_table *table, uint64_t key, uint32_t id)
{
	uint32_t value = id | tfp_node_tag(tfp_index_mix(key));

	for (;;) {
		uint32_t found, none = 0;
		_Atomic uint32_t *slot = tfp_nodes_slot(nodes->log, table, key, &found);

		if (found || atomic_compare_exchange_strong(slot, &none, value))
			return;
	}
}

static void copy_nodes(const struct tfp_nodes *nodes, struct tfp_node_table *to, struct tfp_node_table *from)
{
	for (uint64_t i = 0; i <= from->mask; i++) {
		uint32_t id = atomic_load(&from->slots[i]) & ((1u << TFP_NODE_BITS) - 1);

		if (id)
			enter_node(nodes, to, tfp_store_node_word(nodes->log, id), id);
	}
}

/*
 * Nobody waits for this: meanwhile others enter into the old table, see afterwards that it is no longer current, and
 * enter again; what they entered before they could see it is met by the second copy.
 */
static void grow_nodes(struct tfp_nodes *nodes, struct tfp_node_table *old)
{
	uint64_t slots = old->mask + 1;
	uint32_t none = 0;
	struct tfp_node_table *table;

	if (slots >= MOST_SLOTS || !atomic_compare_exchange_strong(&nodes->is_growing, &none, 1))
		return;
	table = nodes->current == old ? tfp_pages_get(node_bytes(2 * slots), 1) : NULL;
	if (table) {
		/* Every look-up is a miss of the TLB: 5 % of the processor time of g++ (measured). */
		if (node_bytes(2 * slots) >= HUGE_PAGE)
			tfp_sys(SYS_madvise, (long)table, (long)node_bytes(2 * slots), MADV_HUGEPAGE, 0, 0, 0);
		table->mask = 2 * slots - 1;
		copy_nodes(nodes, table, old);
		atomic_store(&nodes->current, table);
		copy_nodes(nodes, table, old);
		empty(old, node_bytes(slots));
	}
	atomic_store(&nodes->is_growing, 0);
}

uint32_t tfp_nodes_add(struct tfp_nodes *nodes, uint32_t parent, uint32_t pc)
{
	uint64_t key = (uint64_t)parent << 32 | pc;
	struct tfp_node_table *table = atomic_load_explicit(&nodes->current, memory_order_acquire);
	uint32_t id = tfp_store_node(parent, pc);

	if (id)
		atomic_store_explicit(&nodes->newest, id, memory_order_relaxed);
	/* Who follows its caller is found there; numbers that fit no slot come after 2^24 nodes: those are in the log alone. */
	if (!id || id >> TFP_NODE_BITS || id == parent + 1)
		return id;
	if (atomic_fetch_add_explicit(&nodes->count, 1, memory_order_relaxed) + 1 > table->mask / 4 * 3) {
		grow_nodes(nodes, table);
		table = nodes->current;
		/* It could not grow. A free slot must be left, or a search would not end. */
		if (nodes->count > table->mask / 8 * 7)
			return id;
	}
	enter_node(nodes, table, key, id);
	if (atomic_load(&nodes->current) != table)
		enter_node(nodes, nodes->current, key, id);
	return id;
}

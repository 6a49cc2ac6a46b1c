/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of one stream that come nearly in order: each is held while later ones may still stand before it.
 *
 * Rule: what was handed on is never taken back. One that should have stood before it is refused, and the caller begins anew with a
 * sorter.
 */
#ifndef REDUCER_IMPORT_ORDER_H
#define REDUCER_IMPORT_ORDER_H

#include "reducer/base/base.h"

#define ORDER_HELD 1024u /* entries; those of which many are open at once, as calls of Python in each other, wait for their ends */
#define ORDER_WORDS 3

struct order_entry {
	uint64_t key[ORDER_WORDS];
	size_t at, length; /* in order.bytes */
};

/* Start from {0}. */
struct order {
	struct order_entry entries[ORDER_HELD]; /* by key */
	size_t count;
	struct text bytes, next;
	uint64_t last[ORDER_WORDS]; /* the greatest key that was handed on */
};

/* Holds an entry, a copy; there must be room. Returns -1 where its place was handed on already. */
int order_put(struct order *order, const uint64_t key[ORDER_WORDS], const void *bytes, size_t length);
/* Forgets the first `count`, which the caller has handed on. */
void order_drop(struct order *order, size_t count);
/* Empty, for another stream. */
void order_clear(struct order *order);
void order_free(struct order *order);

#endif

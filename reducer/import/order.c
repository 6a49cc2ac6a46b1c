/* SPDX-License-Identifier: Apache-2.0 */
/* Records of one stream that come nearly in order. See order.h. */
#include "reducer/import/order.h"

#include <string.h>

static int is_before(const uint64_t a[ORDER_WORDS], const uint64_t b[ORDER_WORDS])
{
	for (size_t i = 0; i < ORDER_WORDS; i++)
		if (a[i] != b[i])
			return a[i] < b[i];
	return 0;
}

int order_put(struct order *order, const uint64_t key[ORDER_WORDS], const void *bytes, size_t length)
{
	struct order_entry *entry = &order->entries[order->count];

	if (is_before(key, order->last))
		return -1;
	for (; entry > order->entries && is_before(key, entry[-1].key); entry--)
		*entry = entry[-1];
	memcpy(entry->key, key, sizeof(entry->key));
	entry->at = order->bytes.length;
	entry->length = length;
	text_put(&order->bytes, bytes, length);
	order->count++;
	return 0;
}

/* The bytes of those that stay are put together anew, so that they do not grow with what went through. */
void order_drop(struct order *order, size_t count)
{
	struct text rest = order->next;

	if (!count)
		return;
	memcpy(order->last, order->entries[count - 1].key, sizeof(order->last));
	order->count -= count;
	memmove(order->entries, order->entries + count, order->count * sizeof(*order->entries));
	text_clear(&rest);
	for (size_t i = 0; i < order->count; i++) {
		size_t at = rest.length;
		text_put(&rest, order->bytes.bytes + order->entries[i].at, order->entries[i].length);
		order->entries[i].at = at;
	}
	order->next = order->bytes;
	order->bytes = rest;
}

void order_clear(struct order *order)
{
	order->count = 0;
	text_clear(&order->bytes);
	memset(order->last, 0, sizeof(order->last));
}

void order_free(struct order *order)
{
	text_free(&order->bytes);
	text_free(&order->next);
}

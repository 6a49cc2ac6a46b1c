/* SPDX-License-Identifier: Apache-2.0 */
/* The table of live blocks. See live.h. */
#include "reducer/model/live.h"

#include <stdlib.h>

static void place(struct live_table *table, const struct live_block *block)
{
	size_t mask = table->capacity - 1, at = live_hash(table, block->address);

	while (table->blocks[at].address != 0)
		at = (at + 1) & mask;
	table->blocks[at] = *block;
}

static int grow(struct live_table *table)
{
	struct live_table wider = {.capacity = table->capacity == 0 ? 256 : table->capacity * 2};

	wider.shift = 64 - (unsigned)__builtin_ctzll(wider.capacity);
	wider.blocks = calloc(wider.capacity, sizeof *wider.blocks);
	if (wider.blocks == NULL)
		return -1;
	for (size_t i = 0; i < table->capacity; i++)
		if (table->blocks[i].address != 0)
			place(&wider, &table->blocks[i]);
	wider.count = table->count;
	free(table->blocks);
	*table = wider;
	return 0;
}

int live_put(struct live_table *table, const struct live_block *block)
{
	if (table->count >= table->capacity / 4 * 3 && grow(table) != 0)
		return -1;
	place(table, block);
	table->count++;
	return 0;
}

void live_remove(struct live_table *table, struct live_block *block)
{
	size_t mask = table->capacity - 1, hole = (size_t)(block - table->blocks);

	for (size_t at = (hole + 1) & mask; table->blocks[at].address != 0; at = (at + 1) & mask) {
		size_t home = live_hash(table, table->blocks[at].address);

		/* May it stand in the hole? Only when its home does not lie between the hole and where it stands. */
		if (((at - home) & mask) >= ((at - hole) & mask)) {
			table->blocks[hole] = table->blocks[at];
			hole = at;
		}
	}
	table->blocks[hole].address = 0;
	table->count--;
}

void live_free(struct live_table *table)
{
	free(table->blocks);
	*table = (struct live_table){0};
}

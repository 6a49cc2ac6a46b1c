/* SPDX-License-Identifier: Apache-2.0 */
/* Cells that were made before: a table of slots by hash, the later one stays. See cell_texts.h. */
#include "reducer/report/cell_texts.h"

#include <stdlib.h>

uint64_t cell_text_key(const struct table *table, size_t column, union table_value value)
{
	return table->kind->columns[column].type == TABLE_STACK ? value.stack << 1 | 1 : value.text * 2 + 2;
}

const struct text *cell_text(struct cell_texts *texts, const struct table *table, size_t row, size_t column, union table_value value,
			     cell_make *make)
{
	uint64_t key = cell_text_key(table, column, value);
	struct cell_slot *slot;

	if (!texts->slots)
		texts->slots = base_alloc(CELL_SLOTS, sizeof(*texts->slots));
	slot = &texts->slots[base_mix(key) % CELL_SLOTS];
	if (slot->key == key)
		return &slot->made;
	text_clear(&texts->longer);
	make(&texts->longer, table, row, column);
	if (texts->longer.length > CELL_LONGEST)
		return &texts->longer;
	text_clear(&slot->made);
	text_put(&slot->made, texts->longer.bytes, texts->longer.length);
	slot->key = key;
	return &slot->made;
}

void cell_texts_free(struct cell_texts *texts)
{
	for (size_t i = 0; texts->slots && i < CELL_SLOTS; i++)
		text_free(&texts->slots[i].made);
	free(texts->slots);
	text_free(&texts->longer);
	*texts = (struct cell_texts){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Call stacks by number; see stack_rows.h. */
#include "reducer/tables/stack_rows.h"

#include "reducer/base/base.h"

#include <stdlib.h>

static bool row_equal(const void *context, const void *key, uint32_t number)
{
	return ((const struct stack_rows *)context)->list[number].identity == *(const uint64_t *)key;
}

size_t stack_rows_number(struct stack_rows *rows, size_t process, uint32_t stack)
{
	uint64_t identity = frames_identity(rows->frames, process, stack), hash = base_mix(identity);
	uint32_t number = base_index_find(&rows->index, hash, row_equal, rows, &identity);

	if (number == UINT32_MAX) {
		rows->list = base_grow(rows->list, &rows->room, rows->count + 1, sizeof(*rows->list));
		number = (uint32_t)rows->count++;
		rows->list[number] = (struct stack_row){identity, (uint32_t)process, stack};
		base_index_add(&rows->index, hash, number);
	}
	return number;
}

void stack_rows_free(struct stack_rows *rows)
{
	base_index_free(&rows->index);
	free(rows->list);
}

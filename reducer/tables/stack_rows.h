/* SPDX-License-Identifier: Apache-2.0 */
/* Call stacks by number, for tables whose rows they are. Rule: the same stack in several processes is one row, told as the first had it. */
#ifndef REDUCER_TABLES_STACK_ROWS_H
#define REDUCER_TABLES_STACK_ROWS_H

#include "reducer/base/index.h"
#include "reducer/tables/frames.h"

struct stack_row {
	uint64_t identity;
	uint32_t process, stack; /* of table_stack */
};

struct stack_rows {
	struct frames *frames;
	struct stack_row *list;
	size_t count, room;
	struct base_index index;
};

/* The number of the stack: `count` as it was before if it is a new one. */
size_t stack_rows_number(struct stack_rows *rows, size_t process, uint32_t stack);
void stack_rows_free(struct stack_rows *rows);

#endif

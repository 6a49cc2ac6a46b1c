/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a format makes of texts and call stacks: the same ones come again and again, row after row.
 *
 * Rule: keeps what was made of a bounded number of cells, none longer than CELL_LONGEST; all else is made each time.
 */
#ifndef REDUCER_REPORT_CELL_TEXTS_H
#define REDUCER_REPORT_CELL_TEXTS_H

#include "reducer/tables/table.h"

#define CELL_SLOTS 2048u    /* a power of two */
#define CELL_LONGEST 4096u  /* bytes: so 8 MiB at most */

/* Of one table. Start from {0}. */
struct cell_texts {
	struct cell_slot {
		uint64_t key; /* the text's number or the stack, and which of both, + 1; 0 = empty */
		struct text made;
	} *slots;
	struct text longer; /* what is not kept */
};

/* Appends to `out` what stands for the cell, a TABLE_TEXT or TABLE_STACK that is known. */
typedef void cell_make(struct text *out, const struct table *table, size_t row, size_t column);

/* What `make` makes of the cell, whose value this is; it must depend on that alone. It lives until the next call. */
const struct text *cell_text(struct cell_texts *texts, const struct table *table, size_t row, size_t column, union table_value value,
			     cell_make *make);

/* Equal for equal texts or stacks of a table; neither 0 nor UINT64_MAX. */
uint64_t cell_text_key(const struct table *table, size_t column, union table_value value);

void cell_texts_free(struct cell_texts *texts);

#endif

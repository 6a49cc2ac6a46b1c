/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells that name the cause behind a row's stack: function, file, line, module.
 *
 * Rule: for name_row of a table, once the names of the shown rows are known.
 */
#ifndef REDUCER_TABLES_CAUSE_CELLS_H
#define REDUCER_TABLES_CAUSE_CELLS_H

#include "reducer/tables/request.h"

/* Columns of the table. */
struct cause_cells {
	size_t stack, function, file, line, module;
};

/* Fills these cells of a shown row by the stack that stands in it. */
void cause_cells_name(struct table *table, size_t row, const struct cause_cells *cells);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a long table, in a spool. Private to table*.c.
 *
 * Rule: memory is two pages of rows, however many there are: the one that grows and the one that was read last. Who reads rows
 * one after the other reads each page once.
 */
#ifndef REDUCER_TABLES_TABLE_PAGES_H
#define REDUCER_TABLES_TABLE_PAGES_H

#include "reducer/tables/table_cells.h"

struct table_pages *pages_make(size_t columns);
void pages_free(struct table_pages *pages); /* NULL is allowed */

/* The columns to which row `place` is added, and in *place its place there. Rows come one after the other. */
struct table_cells *pages_add(struct table_pages *pages, size_t *place);

/* The columns that hold row `place`, and in *place its place there, until the next call. */
const struct table_cells *pages_read(struct table_pages *pages, size_t *place);

/* Whether any row has a cell in that column. */
bool pages_have(const struct table_pages *pages, size_t column);

#endif

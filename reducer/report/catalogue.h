/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --list: the tables and formats, as tables, so that every format can print the documentation.
 *
 * Rule: made from the tables of analyses and formats; nothing is described a second time.
 */
#ifndef REDUCER_REPORT_CATALOGUE_H
#define REDUCER_REPORT_CATALOGUE_H

#include "reducer/tables/table.h"

/* Two tables: all analyses, all formats. With kinds: one table for each, its rows being the columns. */
struct table **catalogue_make(const struct table_kind *const *kinds, size_t kind_count, size_t *count);
void catalogue_free(struct table **tables, size_t count);

#endif

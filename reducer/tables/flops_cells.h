/* SPDX-License-Identifier: Apache-2.0 */
/* Cells and notes about arithmetic, for the tables that show it; docs/flops.md. */
#ifndef REDUCER_TABLES_FLOPS_CELLS_H
#define REDUCER_TABLES_FLOPS_CELLS_H

#include "reducer/analysis/flops.h"
#include "reducer/tables/request.h"

/* Operations a second, rounded. */
void flops_put_rate(struct table *table, size_t column, double rate);

/* Fills the two cells of a row: operations, and how many a second; ns 0 = the time is not known. Both stay empty if !is_known. */
void flops_put(struct table *table, size_t column, size_t rate_column, bool is_known, uint64_t flops, uint64_t ns);

/* Has a wanted process launched CUDA graphs? What is in them counts when it is captured, not when it runs. */
bool flops_has_replays(const struct request *request);
/* Says so, where some have; nothing else. */
void flops_note_replays(struct table *table, const struct request *request);

/* Says what is not counted, and which setting would bring it, where the wanted processes lack a source. */
void flops_note(struct table *table, const struct request *request);

/* The same, and that a figure may be of a part, of a table of ops where one is in `column`. */
void flops_note_ops(struct table *table, const struct request *request, size_t column);

#endif

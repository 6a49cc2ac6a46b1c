/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as people read them.
 *
 * Rule: three significant digits and the unit; exact numbers are for csv and json.
 */
#ifndef REDUCER_REPORT_HUMAN_H
#define REDUCER_REPORT_HUMAN_H

#include "reducer/tables/table.h"

void human_ns(struct text *out, int64_t ns);        /* 0 s, 850 ns, 1.23 ms, 12.3 s, 2 m 05 s, 1 h 02 m */
void human_count(struct text *out, int64_t count);  /* 1,234,567; 12.3 M from ten millions on */
void human_counted(struct text *out, uint64_t count, const char *many); /* "2 stacks that end early"; "1 stack that ends early" */
void human_cell(struct text *out, const struct table *table, size_t row, size_t column); /* any but a stack; escaped */

#endif

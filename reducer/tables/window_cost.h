/* SPDX-License-Identifier: Apache-2.0 */
/* What recording costs, of jobs whose windows open again and again; window_cost.c. */
#ifndef REDUCER_TABLES_WINDOW_COST_H
#define REDUCER_TABLES_WINDOW_COST_H

#include "reducer/tables/request.h"

/* Says by how much windows made the steps inside them longer, where that can be told. */
void window_cost_note(struct table *table, const struct request *request);

#endif

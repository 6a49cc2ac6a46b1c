/* SPDX-License-Identifier: Apache-2.0 */
/* What the first screen says of slow steps; see reducer/tables/slow_steps.c. */
#ifndef REDUCER_TABLES_SLOW_STEPS_H
#define REDUCER_TABLES_SLOW_STEPS_H

#include "reducer/tables/request.h"
#include "reducer/tables/table.h"

/* A note on the longest slow step and the line that most of it was in; none where nobody looked. */
void slow_steps_note(struct table *table, const struct request *request);

#endif

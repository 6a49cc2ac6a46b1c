/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of the system as columns and cells, for the tables of them: one column a row of collectors/tables/readings.def.
 *
 * Rule: a level is shown as it is, a total as what came since the reading of it before; totals of the process and of its
 * threads begin with them, others with no known moment, so that their first reading shows nothing.
 */
#ifndef REDUCER_TABLES_READINGS_H
#define REDUCER_TABLES_READINGS_H

#include "reducer/tables/request.h"

/* The id of a column of times or bytes ends in its unit. */
#define READINGS_END_NS "_ns"
#define READINGS_END_BYTES "_bytes"
#define READINGS_END_COUNT ""
#define READINGS_END_NONE ""
#define READINGS_END_MILLIWATTS ""
#define READINGS_END_MILLIJOULES ""
#define READINGS_END_MEGAHERTZ ""
#define READINGS_END_CELSIUS ""

/* As the initialiser of a column that is shown as text from `detail` on. */
#define READINGS_COLUMN(name, kind, unit, detail, help)                                                                          \
	{                                                                                                                        \
#name READINGS_END_##unit, #name, TABLE_INTEGER, UNIT_##unit, detail, READINGS_HELP_##kind(help)                 \
	}
#define READINGS_HELP_LEVEL(help) help
#define READINGS_HELP_TOTAL(help) help "; since the reading before"

struct readings;

/* `columns[kind]` is the column + 1 of a reading, 0 = not shown in this table. NULL without memory. */
struct readings *readings_make(const struct use_rows *use, const uint16_t columns[USE_READINGS]);
void readings_free(struct readings *readings);

/* The sample of the same subject before this one, as far as samples were passed to readings_cells; NULL: none. */
const struct use_sample *readings_before(struct readings *readings, const struct use_sample *sample);

/* Says of a long run how many of its samples are kept. */
void readings_note(struct table *table, const struct process *process);

/* Fills the cells of the last row, if there is a table, and takes note of the totals. Samples come in the order of time. */
void readings_cells(struct readings *readings, struct table *table, const struct use_sample *sample);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a table as SQLite reads them: a virtual table, of which one statement copies all rows into the database. Private to sqlite.c.
 *
 * Rule: cells as sqlite.c says they are; a statement for each row would take as long again.
 */
#ifndef REDUCER_REPORT_SQLITE_ROWS_H
#define REDUCER_REPORT_SQLITE_ROWS_H

#include "reducer/report/cell_texts.h"

#include <sqlite3.h>

#define SQLITE_ROWS "tfprof_rows" /* its name in statements */

/* Appends the rows that `table` shows to the table of that name, which has its columns. Returns SQLite's status. */
int sqlite_rows_insert(sqlite3 *handle, const char *name, const struct table *table, cell_make *make);

#endif

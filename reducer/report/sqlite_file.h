/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes databases of SQLite's file format (https://www.sqlite.org/fileformat2.html): tables of rows in the order in which they
 * come, and nothing else. SQLite itself takes twice as long for all the rest it can.
 *
 * Rule: a page is written once and never read again, so memory is some pages of each table that is open. What is wrong with the
 * disk is found by who closes the output, or ends the program (base/spool.h).
 */
#ifndef REDUCER_REPORT_SQLITE_FILE_H
#define REDUCER_REPORT_SQLITE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sqlite_file;
struct sqlite_table;

/* A database without tables, written to `to` as it grows, or at its end out of a spool where that is no file of its own. Never NULL. */
struct sqlite_file *sqlite_file_make(FILE *to);

/*
 * Any number may be open at once; each is closed before the file. `create` is its statement "CREATE TABLE ..." as SQLite would keep
 * it, which must tell as many columns as each row gets. Both texts are copied.
 */
struct sqlite_table *sqlite_table_open(struct sqlite_file *file, const char *name, const char *create);
void sqlite_table_close(struct sqlite_table *table);

/* A row: its cells from the first column to the last, then the end. Texts are valid UTF-8 without zero bytes. */
void sqlite_null(struct sqlite_table *table);
void sqlite_integer(struct sqlite_table *table, int64_t value);
void sqlite_real(struct sqlite_table *table, double value); /* what is no number becomes NULL, as SQLite has it */
void sqlite_text(struct sqlite_table *table, const char *bytes, size_t length);
void sqlite_row_end(struct sqlite_table *table);

/* The database is whole, and `file` freed. Whether all could be written is asked of `to`. */
void sqlite_file_close(struct sqlite_file *file);

#endif

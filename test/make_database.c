/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a database of odd rows with the reducer's writer: make_database PATH ROWS. The case report-sqlite-file knows what is in it.
 *
 * Rule: the same words make the same bytes; PATH "-" is standard output, which may be a pipe.
 */
#include "reducer/report/sqlite_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers beside each power of two, of both signs, as integers and as reals. */
static void put_numbers(struct sqlite_file *file)
{
	struct sqlite_table *table = sqlite_table_open(file, "numbers", "CREATE TABLE numbers (i INTEGER, r REAL)");

	for (unsigned bit = 0; bit < 64; bit++)
		for (int by = -2; by <= 1; by++) {
			int64_t value = (int64_t)((UINT64_C(1) << bit) + (uint64_t)(int64_t)by);
			sqlite_integer(table, value);
			sqlite_real(table, (double)value);
			sqlite_row_end(table);
			sqlite_integer(table, (int64_t)(0 - (uint64_t)value));
			sqlite_real(table, -(double)value);
			sqlite_row_end(table);
		}
	sqlite_table_close(table);
}

static void put_reals(struct sqlite_file *file)
{
	const double reals[] = {0.0, -0.0, 0.1, -1e300, 5e-324, 1e15, 0x1p47, -0x1p47, 0x1p47 - 0.5, INFINITY, -INFINITY, NAN};
	struct sqlite_table *table = sqlite_table_open(file, "reals", "CREATE TABLE reals (r REAL, empty TEXT)");

	for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++) {
		sqlite_real(table, reals[i]);
		sqlite_null(table);
		sqlite_row_end(table);
	}
	sqlite_table_close(table);
}

/* Texts about as long as what fits in a page, and in one and two more. */
static void put_texts(struct sqlite_file *file)
{
	struct sqlite_table *table = sqlite_table_open(file, "texts", "CREATE TABLE texts (length INTEGER, text TEXT)");
	char *text = malloc(300000);

	if (!text)
		exit(1);
	for (size_t i = 0; i < 300000; i++)
		text[i] = (char)('a' + i * i % 23);
	for (size_t length = 0; length < 300000; length = length < 12400 ? length + 1 + (length % 4096 < 3900) * 13 : 2 * length) {
		sqlite_integer(table, (int64_t)length);
		sqlite_text(table, text, length);
		sqlite_row_end(table);
	}
	sqlite_table_close(table);
	free(text);
}

/* Two tables that grow by turns, the second slower. */
static void put_many(struct sqlite_file *file, long rows)
{
	struct sqlite_table *many = sqlite_table_open(file, "many", "CREATE TABLE many (n INTEGER)");
	struct sqlite_table *few = sqlite_table_open(file, "few", "CREATE TABLE few (n INTEGER, twice INTEGER)");

	for (long i = 0; i < rows; i++) {
		sqlite_integer(many, 3 * i);
		sqlite_row_end(many);
		if (i % 7)
			continue;
		sqlite_integer(few, i);
		sqlite_integer(few, 2 * i);
		sqlite_row_end(few);
	}
	sqlite_table_close(few);
	sqlite_table_close(many);
}

/* So many tables without rows, of so many columns, that their names fill many pages. */
static void put_empty(struct sqlite_file *file)
{
	char create[4096], name[32];

	for (int i = 0; i < 400; i++) {
		int length = snprintf(create, sizeof(create), "CREATE TABLE empty%d (", i);
		for (int column = 0; column < 1 + i % 150; column++)
			length += snprintf(create + length, sizeof(create) - (size_t)length, "%scolumn_%d INTEGER", column ? ", " : "",
					   column);
		snprintf(create + length, sizeof(create) - (size_t)length, ")");
		snprintf(name, sizeof(name), "empty%d", i);
		sqlite_table_close(sqlite_table_open(file, name, create));
	}
}

int main(int count, char **words)
{
	FILE *to = count == 3 ? strcmp(words[1], "-") == 0 ? stdout : fopen(words[1], "wb") : NULL;

	if (!to) {
		fprintf(stderr, "usage: make_database PATH ROWS\n");
		return 1;
	}
	struct sqlite_file *file = sqlite_file_make(to);
	put_numbers(file);
	put_reals(file);
	put_texts(file);
	put_many(file, atol(words[2]));
	put_empty(file);
	sqlite_file_close(file);
	return fclose(to) != 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses rows of a table by typed cells: "column=value", "column>=number", "column<number", "column!=value", joined by
 * commas; "" chooses all.
 *
 * Rule: a cell that is not known satisfies nothing; numbers are compared as numbers, texts by equality alone.
 */
#ifndef REDUCER_RULES_SELECT_H
#define REDUCER_RULES_SELECT_H

#include "reducer/tables/table.h"

#define SELECT_TERMS 6

enum select_how { SELECT_EQUAL, SELECT_UNLIKE, SELECT_LEAST, SELECT_BELOW };

struct selector {
	struct {
		size_t column;
		enum select_how how;
		const char *text; /* not terminated */
		size_t length;
		double number;
	} terms[SELECT_TERMS];
	size_t count;
};

/* False when a column does not exist, or there are too many terms. `words` must outlive the selector. */
bool select_parse(struct selector *selector, const struct table_kind *kind, const char *words);
bool select_takes(const struct selector *selector, const struct table *table, size_t row);

#endif

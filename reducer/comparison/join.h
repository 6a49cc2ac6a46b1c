/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of one table of two runs, joined by what names them.
 *
 * Rule: rows of one run with the same name are summed; a row that only one run has stands alone, and is no zero in the other.
 */
#ifndef REDUCER_COMPARISON_JOIN_H
#define REDUCER_COMPARISON_JOIN_H

#include "reducer/tables/request.h"

#define JOIN_KEYS 4
#define JOIN_VALUES 4

struct join_spec {
	const struct table_kind *kind;
	const char *keys[JOIN_KEYS];	 /* columns of texts or stacks whose cells name a row; the rest NULL */
	const char *values[JOIN_VALUES]; /* columns of numbers; the rest NULL */
	unsigned errors;		 /* bit i: value i is a standard error, summed in squares */
};

struct join_side {
	bool is_there;
	bool is_known[JOIN_VALUES];
	double values[JOIN_VALUES];
};
struct join_row {
	char *keys[JOIN_KEYS]; /* "" where the cell was empty; of a stack the innermost Python function of the user's own files */
	struct join_side before, after;
};

struct join {
	struct join_row *rows; /* those of the newer run first, in its order */
	size_t count, room;
};

/* Both requests are of figures_plain or the like. */
void join_make(struct join *join, const struct join_spec *spec, const struct request *before, const struct request *after);
void join_free(struct join *join);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of one table of two runs, joined by what names them.
 *
 * Rule: rows of one run with the same name are summed; a row that only one run has stands alone, and is no zero in the other.
 */
#ifndef REDUCER_COMPARISON_JOIN_H
#define REDUCER_COMPARISON_JOIN_H

#include "reducer/base/index.h"
#include "reducer/tables/request.h"

#define JOIN_KEYS 4
#define JOIN_VALUES 4

struct join_spec {
	const struct table_kind *kind;
	const char *keys[JOIN_KEYS];	 /* columns of texts or stacks whose cells name a row; the rest NULL */
	const char *values[JOIN_VALUES]; /* columns of numbers; the rest NULL */
	unsigned errors;		 /* bit i: value i is a standard error, summed in squares */
	unsigned rank;			 /* by which value rows are called large or small */
};

/* Rows of one run, or of several that are summed. Start from {0}. */
struct join_rows {
	struct join_item {
		char *keys[JOIN_KEYS]; /* "" where the cell was empty; of a stack the innermost Python function of the user's own files */
		bool is_known[JOIN_VALUES];
		double values[JOIN_VALUES];
		double shift;		    /* what the first run had of the rank's value, 0 where it had none: others are near it */
		double squares, before_run; /* of that value: squares of each run's less the shift, and the sum when the run began */
		double spread;		    /* root of the sum of its squared deviations from the mean of runs; join_finish */
	} *items;
	size_t count, room;
	size_t runs; /* gathered */
	struct base_index index;     /* by keys */
	size_t left_out;	     /* where the largest rows alone were kept: how many there were besides */
	double most_of[JOIN_VALUES]; /* what one of those has at most */
};

struct join_side {
	bool is_there;
	bool is_bound; /* is not there, but may have been left out: `values` are what it has at most */
	bool is_known[JOIN_VALUES];
	double values[JOIN_VALUES];
	double spread;
};
struct join_row {
	const char *keys[JOIN_KEYS];
	struct join_side before, after;
};

struct join {
	struct join_row *rows; /* those of the newer run first, in its order */
	size_t count, room;
};

/* Adds a run's. The request is of figures_plain or the like. */
void join_gather(struct join_rows *rows, const struct join_spec *spec, const struct request *request);
/* When all runs are there, so many: works out `spread`. */
void join_finish(struct join_rows *rows, size_t runs);
/* An empty row of these keys, which it takes over; or the one that is there. */
struct join_item *join_item(struct join_rows *rows, char **keys);
/* Only the largest `most` rows are kept; no more can be added then. */
void join_keep(struct join_rows *rows, const struct join_spec *spec, size_t most);
void join_rows_free(struct join_rows *rows);

/* Both must outlive it; the newer ones are whole (join_keep was not at them). */
void join_make(struct join *join, const struct join_rows *before, const struct join_rows *after);
/*
 * Of rows that only the newer run has, where the older one's small ones were left out: those of which `value`, divided by the run's basis,
 * is no more than what was left out may have had are removed, the others get that as a bound. Returns how many were removed.
 */
size_t join_bound(struct join *join, const struct join_rows *before, size_t value, double before_basis, double after_basis);
void join_free(struct join *join);

#endif

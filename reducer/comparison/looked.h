/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of two runs by looks at threads: what comparison.python and comparison.native have in common.
 *
 * Rule: all are estimates: what differs by less than twice its standard error is not called different.
 */
#ifndef REDUCER_COMPARISON_LOOKED_H
#define REDUCER_COMPARISON_LOOKED_H

#include "reducer/comparison/kept.h"

enum looked_column {
	LOOKED_NAME,
	LOOKED_PLACE,
	LOOKED_BEFORE,
	LOOKED_AFTER,
	LOOKED_DIFFERENCE,
	LOOKED_CHANGE,
	LOOKED_ERROR,
	LOOKED_VERDICT,
	LOOKED_COLUMN_COUNT
};

/* Those of times; `of`: a text literal, what they are. */
#define LOOKED_COLUMNS(of) \
	[LOOKED_BEFORE] = {"before_ns", "before", TABLE_INTEGER, UNIT_NS, 0, of "in the older run; empty = never seen"}, \
	[LOOKED_AFTER] = {"after_ns", "after", TABLE_INTEGER, UNIT_NS, 0, "the same in the newer run"}, \
	[LOOKED_DIFFERENCE] = {"difference_ns", "difference", TABLE_INTEGER, UNIT_NS, 0, \
				"after - before; what was not seen in a run counts as 0"}, \
	[LOOKED_CHANGE] = {"change", "change", TABLE_REAL, UNIT_RATIO, 0, "difference by before; empty where there is none"}, \
	[LOOKED_ERROR] = {"error_ns", "+-", TABLE_INTEGER, UNIT_NS, 0, \
			  "standard error of the difference; empty = known of steps alone, which not all runs have"}

/* Values of a join_spec: a time where both runs have steps, its standard error, and the time where not. */
enum looked_value { LOOKED_STEPS, LOOKED_ERROR_OF, LOOKED_ALL };
static inline enum looked_value looked_value(const struct kept_pair *pair)
{
	return pair->basis.has_steps ? LOOKED_STEPS : LOOKED_ALL;
}

/* What of a step the sides' threads waited for a processor: by so much more a time may be longer for nothing that the program did. */
struct looked_delays {
	double before, after;
};

/* As kept_compare, and false where looks at that kind of code were not recorded in all runs, with a note. Then nothing is to be closed. */
bool looked_compare(struct kept_pair *pair, struct table *table, const struct request *request, enum kept_subject subject,
		    const char *what);
/* A row for each function, the largest difference first, and a note on what they are of. Keys 0 and 1 are name and place. */
void looked_rows(struct table *table, struct kept_pair *pair, const struct looked_delays *delays);

#endif

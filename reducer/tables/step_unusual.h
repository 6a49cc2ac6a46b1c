/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that are much longer than a process's usual ones: the first ones, while it still compiles, chooses algorithms, fills caches; and
 * few that last so long, with nothing recorded in them, that means and shares speak of them: a notebook that waits for its next cell, a
 * loop that slept, a wait that nothing tells of.
 *
 * Rule: inferred from what is usual, the median of the process's judged steps, and they count as all others: which of those it was no
 * record says. Rows of a process stand together; `from` is the first of them.
 */
#ifndef REDUCER_TABLES_STEP_UNUSUAL_H
#define REDUCER_TABLES_STEP_UNUSUAL_H

#include "reducer/tables/step_values.h"

/* The judged steps that come first and take at least twice the median; count 0 = none, few steps, or little of the time is theirs. */
struct step_warm {
	size_t count;
	uint64_t first, last, next, ns; /* numbers of the first and last of them and of the step behind; their time */
	double share;			/* of the judged time */
};
struct step_warm step_warm_of(const struct step_rows *rows, size_t from);
/* A sentence about those of the first process that has some; nothing where less of its judged time is theirs. */
void step_warm_say(struct text *text, const struct step_rows *rows, const struct request *request, double share_from);

/* The judged steps that paused; count 0 = likewise. */
struct step_pauses {
	size_t count;
	uint64_t longest, longest_ns; /* number of the longest of them, its time, */
	size_t longest_row;	      /* and its place in the rows */
	uint64_t ns, other_ns;	      /* of all of them: their time; of it nothing was recorded of */
	double share;		      /* of the judged time */
	uint64_t least_ns;	      /* as long as this each is at least */
};
struct step_pauses step_pauses_of(const struct step_rows *rows, size_t from);
/* Whether that judged step of the process is one of them. */
bool step_pauses_has(const struct step_pauses *pauses, const struct step_row *row);
/*
 * As step_warm_say, and whether the program was stopped as a whole in the longest of them: inferred, where the library's own thread did
 * not look either. Nothing where as much of the steps' time (`waited`, 1 = all; below 0 = not known) was spent waiting for a processor:
 * then a step of a usual 1 ms that was kept from running for 20 ms may be all that there was.
 */
void step_pauses_say(struct text *text, const struct step_rows *rows, const struct request *request, double share_from, double waited);

#endif

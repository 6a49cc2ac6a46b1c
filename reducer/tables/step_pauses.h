/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Few steps that last so long, with nothing recorded in them, that means and shares speak of them: a notebook that waits for its next
 * cell, a loop that slept, a wait that nothing tells of.
 *
 * Rule: inferred, and they count as all others: which of those it was no record says.
 */
#ifndef REDUCER_TABLES_STEP_PAUSES_H
#define REDUCER_TABLES_STEP_PAUSES_H

#include "reducer/tables/step_values.h"

struct step_pauses {
	size_t count;
	uint64_t longest, longest_ns; /* number of the longest of them, its time */
	uint64_t ns, other_ns;	      /* of all of them: their time; of it nothing was recorded of */
	double share;		      /* of the judged time */
};
/* Of the judged steps of a process; count 0 = there are none, few steps, or little of the time is theirs. */
struct step_pauses step_pauses_of(const struct step_rows *rows, size_t process);
/* A sentence about those of the first process that has some; nothing where less of its judged time is theirs. */
void step_pauses_say(struct text *text, const struct step_rows *rows, double share_from);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures of a run that are held against those of another run (--against) or against a limit (--limit).
 *
 * Rule: a figure has a name that scripts may rely on, a unit and a meaning; one that was not recorded does not exist. Steps are
 * those that overview.verdict judges, so that the first one, which compiles and fills caches, counts in neither run.
 */
#ifndef REDUCER_COMPARISON_FIGURES_H
#define REDUCER_COMPARISON_FIGURES_H

#include "reducer/tables/step_values.h"

struct figure {
	char *id; /* step_p50, peak:heap */
	enum table_unit unit;
	double value;
	const char *help;
};

struct figures {
	struct figure *items;
	size_t count, room;
	uint64_t *steps; /* the judged ones in ns, ascending */
	size_t step_count;
	size_t all_steps;    /* with those that are not judged */
	enum unit_kind kind; /* what a step is here */
};

/* Of the processes, devices, steps that the request wants. Dies without memory. */
void figures_make(struct figures *figures, const struct request *request);
void figures_free(struct figures *figures);
/* NULL = this run has no figure of that name. */
const struct figure *figures_find(const struct figures *figures, const char *id);

/* What every table of a comparison makes of the rows of other tables: all of them, unsorted, in files' length. */
struct request figures_plain(const struct request *request);

#endif

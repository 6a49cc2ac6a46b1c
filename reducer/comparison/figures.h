/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures of a run, or of several runs of one program, that are held against those of others (--against) or a limit
 * (--limit).
 *
 * Rule: a figure has a name that scripts may rely on, a unit and a meaning; one that was not recorded does not exist. Steps are
 * those that overview.verdict judges, so that the first one, which compiles and fills caches, counts in no run.
 */
#ifndef REDUCER_COMPARISON_FIGURES_H
#define REDUCER_COMPARISON_FIGURES_H

#include "reducer/tables/step_values.h"

#define FIGURES_PARTS 16 /* stretches of a run that tell how it varies: more would depend on each other, see docs/comparison.md  \
			  */

#define FIGURES_CPU "step_cpu"
#define FIGURES_STEP "step_p50"
#define FIGURES_DEVICES "devices"
#define FIGURES_CPU_APART 2.0 /* runs of equal programs differ by less in it, however busy the machine: docs/comparison.md has 1.5 */

/* What a figure must be told apart by. */
enum figure_nature {
	FIGURE_WALL,  /* a time that a busy machine makes longer */
	FIGURE_TIME,  /* a time, but of processors or without the wait for them */
	FIGURE_FIXED, /* counted or measured in bytes: the machine's speed is not in it */
};

struct figure {
	char *id; /* step_p50, peak:heap */
	enum table_unit unit;
	enum figure_nature nature;
	double value; /* of several runs the median */
	char *help;
	double *samples; /* a run each; of one run the same figure of FIGURES_PARTS stretches of it, or none */
	size_t sample_count;
};

struct figures {
	struct figure *items;
	size_t count, room;
	size_t step_count;   /* judged; of several runs in all */
	size_t all_steps;    /* with those that are not judged */
	enum unit_kind kind; /* what a step is here */
	size_t run_count;
	double busy; /* share of the steps' time that their threads waited for a processor, of runs the median; negative = unknown
		      */
};

/* Of the processes, devices, steps that the request wants. Dies without memory. */
void figures_make(struct figures *figures, const struct request *request);
/* Of several runs: values of all that have them. */
void figures_join(struct figures *joined, const struct figures *runs, size_t run_count);
void figures_free(struct figures *figures);
/* NULL = there is no figure of that name. */
const struct figure *figures_find(const struct figures *figures, const char *id);
/* A new one, without samples; texts are copied. */
struct figure *figures_add(struct figures *figures, const char *id, enum table_unit unit, enum figure_nature nature, double value,
			   const char *help);

/* Whole steps of the run; 0 = it has none. */
double figures_steps(const struct request *request);

/* What every table of a comparison makes of the rows of other tables: all of them, unsorted, in files' length. */
struct request figures_plain(const struct request *request);

#endif

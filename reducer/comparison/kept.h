/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is compared of two sides row by row, and may be kept of the older one: ops, kernels, functions, sites, and facts of the run.
 *
 * Rule: rows of all runs of a side are summed, so that estimates of several runs are surer than those of one; a table does not know
 * whether they come from logs or from a baseline. A subject is one row of kept.c and a table's `kept_kind`.
 */
#ifndef REDUCER_COMPARISON_KEPT_H
#define REDUCER_COMPARISON_KEPT_H

#include "reducer/comparison/figures.h"
#include "reducer/comparison/join.h"
#include "reducer/comparison/traits.h"

enum kept_subject { KEPT_OPS, KEPT_KERNELS, KEPT_PYTHON, KEPT_NATIVE, KEPT_SITES, KEPT_SUBJECTS };
#define KEPT_FACTS (1u << KEPT_SUBJECTS) /* traits */
#define KEPT_ALL (KEPT_FACTS | (KEPT_FACTS - 1))

struct kept_kind {
	const char *word; /* in baselines */
	const char *rows; /* what they are, in notes: ops */
	const struct table_kind *table; /* that compares them */
	struct join_spec spec;
	enum op_group group; /* that the rows are of; GROUP_OP = what was asked for */
	bool is_mean;	     /* its values are those of a mean run, not of a step: a peak */
	bool (*is_recorded)(const struct request *request); /* NULL = a run without any has none */
};
extern const struct kept_kind kept_ops, kept_kernels, kept_python, kept_native, kept_sites;
extern const struct kept_kind *const kept_kinds[KEPT_SUBJECTS];

struct kept_rows {
	size_t recorded; /* runs that recorded them */
	struct join_rows rows;
};

/* Of all runs of a side. Start from {0}. */
struct kept {
	size_t run_count, with_steps;	/* runs; those of them that have steps */
	double steps;			/* whole ones, of all */
	double step_delay_ns, delay_ns; /* sums over runs: how long of a mean step, of a run, its thread waited for a processor */
	char *filters;			/* that were asked for, as options; "" = none */
	struct traits traits;		/* of the run that tables of single runs show */
	struct kept_rows subjects[KEPT_SUBJECTS];
};

/* The subjects that these tables compare, a bit each, and KEPT_FACTS. */
unsigned kept_wanted(const struct table_kind *const *kinds, size_t count);
/* Adds a run. */
void kept_add(struct kept *kept, const struct request *request, unsigned subjects);
/* When all runs are there. */
void kept_finish(struct kept *kept);
void kept_free(struct kept *kept);

/* By how much sums of each side are divided. */
struct kept_basis {
	double before, after;
	bool has_steps;
};

/* A subject of two sides. */
struct kept_pair {
	const struct kept_kind *kind;
	const struct kept *before_side, *after_side;
	const struct kept_rows *before, *after;
	struct kept_basis basis; /* steps of both; where not all runs have some, or of a mean run: runs */
	struct join join;
};
/* Joins them. False, with a note in the table, where the older side is a baseline that holds no rows, or rows of other filters. */
bool kept_compare(struct kept_pair *pair, struct table *table, const struct request *request, enum kept_subject subject);
/* Were the rows recorded in all runs of both sides? If not, appends which side lacks some: "The older run has no". */
bool kept_is_recorded(const struct kept_pair *pair, struct text *lacking);
/* What the baseline's small rows are to the newer side's, by that value of theirs: see join_bound. Tells of it in a note. */
void kept_bound(struct kept_pair *pair, struct table *table, size_t value);
/* Of what the times are: of a step, or of whole runs. A sentence. */
void kept_say_basis(const struct kept_pair *pair, struct text *text);
/* The note of a table whose older side is a baseline without any of this. */
void kept_say_missing(struct table *table);
void kept_close(struct kept_pair *pair);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a figure of the newer runs differs from the older ones' by more than either varies, and why that cannot be told.
 *
 * Rule: no certainty that the runs do not give. Of several runs a side a run is one value; of one run a side the stretches of it
 * are, which know nothing of how runs differ from each other; where the machine kept the steps waiting, a time that changed is
 * believed only if what the steps needed without that wait changed too.
 */
#ifndef REDUCER_COMPARISON_VERDICT_H
#define REDUCER_COMPARISON_VERDICT_H

#include "reducer/comparison/figures.h"
#include "reducer/comparison/interval.h"

#define VERDICT_BUSY 0.05 /* share of the steps' time spent waiting for a processor from which a machine is busy */

#define VERDICT_ROUNDING 1e-12 /* shares that differ by less are the same, worked out another way */

struct kept;

/* The figures of both sides. */
struct compared {
	struct figures before, after;		  /* joined, where a side has several runs; before: empty = nothing is compared */
	struct figures *before_runs, *after_runs; /* each, or NULL where there is one alone */
	char *before_program;			  /* that a baseline is of; NULL = it does not say, or there is none */
	struct kept *before_kept, *after_kept;	  /* rows and facts (kept.h); before: NULL = a baseline has none */
};
void compared_free(struct compared *compared);

enum verdict_kind {
	VERDICT_NONE,	/* not asked: a count or a size of one run a side is what it is */
	VERDICT_FEW,	/* too few runs or steps */
	VERDICT_BUSIER, /* more or less, but that may be the machine */
	VERDICT_EQUAL,	/* no difference to tell */
	VERDICT_MORE,
	VERDICT_LESS,
};
struct verdict {
	enum verdict_kind kind;
	struct interval interval;
};

/* Of a figure that both sides have. */
struct verdict verdict_find(const struct compared *compared, const struct figure *before, const struct figure *after);
/* Is the change more than this share (0.05 = 5 %), for sure, and the program's own? */
bool verdict_is_beyond(const struct compared *compared, const struct verdict *verdict, const struct figure *after, double share);
/* Is the change at most this share, for sure? Where the machine was busy, what the steps needed without the wait
 * (or, where that is not known, of processors) must be within it as well: a busier machine before may hide a slower program now.
 */
bool verdict_is_within(const struct compared *compared, const struct verdict *verdict, const struct figure *after, double share);
/* "longer" of a time, "more" of anything else, ...; NULL of VERDICT_NONE. */
const char *verdict_word(enum verdict_kind kind, enum table_unit unit);
/*
 * Of a time by looks that differs by `change` with a standard error: `waited` is how long the side that took longer waited for a processor,
 * of which no look tells where that was.
 */
const char *verdict_of_looks(double change, double error, double waited);
/* Appends what the verdict rests on, or why there is none: part of a sentence. */
void verdict_put_basis(struct text *text, const struct verdict *verdict, const struct compared *compared,
		       const struct figure *before, const struct figure *after);

#endif

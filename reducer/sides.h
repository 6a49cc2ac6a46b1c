/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runs of both sides of a comparison, and their figures.
 *
 * Rule: with --run=each every run of the paths of a side counts as one measurement of it, opened by itself and closed again; a
 * run of another program does not, nor does one that was named twice. The tables of single runs show the newest of the last path.
 */
#ifndef REDUCER_SIDES_H
#define REDUCER_SIDES_H

#include "reducer/asked.h"
#include "reducer/comparison/verdict.h"

/* The older run, of the last --against. False where that is a baseline, which has no logs. */
bool sides_open_base(struct asked *base, const struct options *options);

/*
 * Figures of both sides, and the rows that these tables compare; `base` NULL = there are no logs of an older run. Says on stderr what was
 * left out. Returns how many further runs lack something that was lost or damaged.
 */
size_t sides_compare(struct compared *compared, const struct options *options, const struct report_kind *format,
		     const struct table_kind *const *kinds, size_t kind_count, struct asked *after, struct asked *base);

#endif

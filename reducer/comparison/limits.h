/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --limit: figures that may not grow beyond something, for a build that is to fail when a step gets slower.
 *
 * Rule: a limit that cannot be read is an error, and one that cannot be judged is called so: neither kept nor exceeded. A
 * percentage of a time is exceeded only where all that the change may be lies above it, and kept where all lies below.
 */
#ifndef REDUCER_COMPARISON_LIMITS_H
#define REDUCER_COMPARISON_LIMITS_H

#include "reducer/comparison/verdict.h"

enum limit_scale { LIMIT_PERCENT, LIMIT_NS, LIMIT_BYTES, LIMIT_PLAIN };

struct figure_limit {
	char *figure;
	const char *words; /* as given */
	enum limit_scale scale;
	double value; /* LIMIT_PERCENT: more than the older run's; else at most this */
};

struct figure_limits {
	struct figure_limit *items;
	size_t count, room;
};

/* Adds "NAME=VALUE": a percentage (5%), a time (12ms), a size (2GiB) or a number; dies when it is none. */
void figure_limits_take(struct figure_limits *limits, const char *option, const char *words);
void figure_limits_free(struct figure_limits *limits);

/* In the order of what counts more for the exit status. */
enum limit_state { LIMIT_NONE, LIMIT_KEPT, LIMIT_UNSURE, LIMIT_EXCEEDED };
const char *limit_state_name(enum limit_state state);

/* How the newer figure does. *most: what it may be at most. `compared->before` need not have it where the limit is no percentage.
 */
enum limit_state figure_limit_judge(const struct figure_limit *limit, const struct compared *compared, const struct figure *after,
				    double *most);
/* The same of all limits of a figure: the worst state, the strictest of them. */
enum limit_state figure_limits_judge(const struct figure_limits *limits, const struct compared *compared,
				     const struct figure *after, double *most);

/* The figure of a limit. Dies unless it is there, in the unit that was written, with what it is compared to. */
const struct figure *figure_limit_find(const struct figure_limit *limit, const struct compared *compared);

/* Appends how a limit was judged, as one sentence with its full stop. */
void figure_limit_sentence(struct text *text, const struct figure_limit *limit, const struct compared *compared);

/* Appends a line for each limit that is not kept; returns the worst state. Dies when one has no figure. */
enum limit_state figure_limits_check(const struct figure_limits *limits, const struct compared *compared, struct text *sentences);

#endif

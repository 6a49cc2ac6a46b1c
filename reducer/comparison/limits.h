/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --limit: figures that may not grow beyond something, for a build that is to fail when a step gets slower.
 *
 * Rule: a limit that cannot be judged is an error, never kept in silence. A time of steps that is above its limit, where both
 * runs have enough steps and the difference cannot be told from how they vary, counts as kept.
 */
#ifndef REDUCER_COMPARISON_LIMITS_H
#define REDUCER_COMPARISON_LIMITS_H

#include "reducer/comparison/figures.h"
#include "reducer/comparison/ranks.h"

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

/* Two runs' figures; `before` is empty where there is no older run. */
struct compared {
	struct figures before, after;
	struct ranks ranks; /* of the steps */
};
void compared_make(struct compared *compared, const struct request *request);
void compared_free(struct compared *compared);

enum limit_state { LIMIT_NONE, LIMIT_KEPT, LIMIT_EXCEEDED };
/* How the newer run's figure does. *most: what it may be at most, where it has a limit. */
enum limit_state figure_limits_judge(const struct figure_limits *limits, const struct compared *compared,
				     const struct figure *after, double *most);

/* Appends a sentence, with a line's end, for each limit that is exceeded; returns how many. Dies when one cannot be judged. */
size_t figure_limits_check(const struct figure_limits *limits, const struct request *request, struct text *sentences);

#endif

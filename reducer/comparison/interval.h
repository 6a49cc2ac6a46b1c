/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By how much values of one kind are larger than those of another, and how sure that is.
 *
 * Rule: no shape of the values is taken for granted, and nothing is drawn at random: the change is the median of all ratios of
 * one of each (Hodges and Lehmann, "Estimates of location based on rank tests", 1963), its bounds are the ratios that Mann and
 * Whitney's test would just not reject (1947), by the exact distribution for up to INTERVAL_EXACT values a side. The values must
 * be independent of each other: a run each, or long stretches of one run.
 */
#ifndef REDUCER_COMPARISON_INTERVAL_H
#define REDUCER_COMPARISON_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>

#define INTERVAL_EXACT 40 /* values a side; above, the normal distribution is near enough */

/* How often a bound may miss, at each end. */
#define INTERVAL_OF_RUNS 0.05 /* 3 runs a side reach it */
#define INTERVAL_OF_ONE 0.01  /* of one run: what differs between runs is not in it, so it must be surer of the rest */

struct interval {
	bool is_known;		  /* else there are too few values, or one is not above 0 */
	bool is_taken;		  /* by no values, but by what is taken to be the most that equal programs differ by */
	double change, low, high; /* of the second against the first: 0.05 = 5 % more */
};

/* `miss`: how often each bound may be wrong. */
struct interval interval_make(const double *before, size_t before_count, const double *after, size_t after_count, double miss);

/* The number of pairs that must lie below a bound, least first; SIZE_MAX = so few values are never that sure. */
size_t interval_depth(size_t before_count, size_t after_count, double miss);

#endif

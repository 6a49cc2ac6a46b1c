/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a series of durations changes its level for good, or for long: a job whose steps take longer from some step on.
 *
 * Rule: no shape of the durations is taken for granted and single ones count for nothing: the series is cut into up to LEVELS_BLOCKS
 * stretches of equally many, of which the medians are looked at. The levels are those whose medians are nearest to all of these
 * (least absolute deviations of logarithms, by dynamic programming). A level is one only if it has a tenth of the series, if of all pairs
 * of it and the next one LEVELS_SURE lie the same way round (Mann and Whitney's statistic), and if it differs by LEVELS_RATIO.
 */
#ifndef REDUCER_ANALYSIS_LEVELS_H
#define REDUCER_ANALYSIS_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEVELS_BLOCKS 100
#define LEVELS_LEAST 100 /* values: of fewer nothing is said */
#define LEVELS_MOST 4
#define LEVELS_RATIO 1.25
#define LEVELS_SURE 0.95

struct level {
	size_t first, end; /* of the series, end: behind the last */
	uint64_t median;
	bool is_growing;   /* within itself as well, all along: three quarters of its pairs */
};

/* Returns how many there are: 1 = the series has one level alone, or too few values. Dies without memory. */
size_t levels_find(const uint64_t *values, size_t count, struct level levels[LEVELS_MOST]);

#endif

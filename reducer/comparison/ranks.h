/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the steps of one run are longer than those of another, or only vary as much.
 *
 * Rule: by ranks, so that a few very long steps decide nothing. Mann and Whitney, "On a test of whether one of two random
 * variables is stochastically larger than the other", 1947; with the correction for ties.
 */
#ifndef REDUCER_COMPARISON_RANKS_H
#define REDUCER_COMPARISON_RANKS_H

#include <stddef.h>
#include <stdint.h>

#define RANKS_LEAST 8	 /* of each side: fewer tell nothing at RANKS_SURE */
#define RANKS_SURE 2.576 /* deviations: one in a hundred equal pairs of runs would show as much */

enum ranks_verdict { RANKS_FEW, RANKS_EQUAL, RANKS_LONGER, RANKS_SHORTER };

struct ranks {
	enum ranks_verdict verdict; /* of the second */
	double longer_share;	    /* of all pairs of one of each, those in which the second's is longer; ties count half */
	double deviations;	    /* of that from a half */
};

/* Both ascending. */
struct ranks ranks_compare(const uint64_t *before, size_t before_count, const uint64_t *after, size_t after_count);

/* "longer", ... */
const char *ranks_word(enum ranks_verdict verdict);

#endif

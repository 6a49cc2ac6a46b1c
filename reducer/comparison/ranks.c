/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rank test of two ascending lists.
 *
 * Rule: one walk over both, equal values at once.
 */
#include "reducer/comparison/ranks.h"

#include <math.h>

const char *ranks_word(enum ranks_verdict verdict)
{
	static const char *const words[] = {[RANKS_FEW] = "too few to tell",
					    [RANKS_EQUAL] = "no difference to tell",
					    [RANKS_LONGER] = "longer",
					    [RANKS_SHORTER] = "shorter"};

	return words[verdict];
}

static size_t run_of(const uint64_t *values, size_t count, size_t at, uint64_t value)
{
	size_t end = at;

	while (end < count && values[end] == value)
		end++;
	return end - at;
}

struct ranks ranks_compare(const uint64_t *before, size_t before_count, const uint64_t *after, size_t after_count)
{
	double n = (double)before_count, m = (double)after_count, all = n + m, wins = 0, ties = 0, variance;
	struct ranks ranks = {.verdict = RANKS_FEW, .longer_share = 0.5};
	size_t i = 0, k = 0;

	if (!before_count || !after_count)
		return ranks;
	while (i < before_count || k < after_count) {
		uint64_t value = i < before_count && (k == after_count || before[i] <= after[k]) ? before[i] : after[k];
		size_t one = run_of(before, before_count, i, value), other = run_of(after, after_count, k, value);
		double equal = (double)(one + other);
		wins += (double)other * ((double)i + (double)one / 2);
		ties += equal * equal * equal - equal;
		i += one;
		k += other;
	}
	ranks.longer_share = wins / (n * m);
	variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
	ranks.deviations = variance > 0 ? (wins - n * m / 2) / sqrt(variance) : 0;
	if (before_count < RANKS_LEAST || after_count < RANKS_LEAST)
		return ranks;
	ranks.verdict = fabs(ranks.deviations) < RANKS_SURE ? RANKS_EQUAL : ranks.deviations > 0 ? RANKS_LONGER : RANKS_SHORTER;
	return ranks;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Levels of a series; see reducer/analysis/levels.h. */
#include "reducer/analysis/levels.h"

#include "reducer/base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_LEAST 5	 /* values of a block: fewer blocks where there would be less */
#define SHARE_LEAST 10	 /* one of so many blocks is the least that a level has, */
#define OF_LEVEL_LEAST 4 /* and so many: that four of twenty alike are the largest and stand together is chance once in a hundred series */
#define GROWING 0.75	 /* of the pairs of a level's blocks: the later one is larger */

struct series {
	const uint64_t *values;
	size_t count, blocks, least; /* least: blocks of a level */
	double medians[LEVELS_BLOCKS]; /* logarithms */
	double costs[LEVELS_BLOCKS][LEVELS_BLOCKS]; /* of one level from block i to block j, both included */
};

static size_t begin_of(const struct series *series, size_t block)
{
	return series->count * block / series->blocks;
}

/* Logarithms of values from `first` to before `end`, 0 as 1. */
static double median_of(const struct series *series, size_t first, size_t end)
{
	double *sorted = base_alloc(end - first, sizeof(*sorted)), median;

	for (size_t i = first; i < end; i++)
		sorted[i - first] = log((double)(series->values[i] ? series->values[i] : 1));
	median = base_median(sorted, end - first);
	free(sorted);
	return median;
}

static double distance(const double *values, size_t count, double median)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += fabs(values[i] - median);
	return sum;
}

/* Each level is the one before it and a block more: put in its place, as sorting anew would take most of the time. */
static void find_costs(struct series *series)
{
	double sorted[LEVELS_BLOCKS];

	for (size_t i = 0; i < series->blocks; i++)
		for (size_t j = i, count = 0; j < series->blocks; j++) {
			size_t at = count++;
			for (; at > 0 && sorted[at - 1] > series->medians[j]; at--)
				sorted[at] = sorted[at - 1];
			sorted[at] = series->medians[j];
			series->costs[i][j] = distance(sorted, count, (sorted[(count - 1) / 2] + sorted[count / 2]) / 2);
		}
}

/* The cheapest `levels` of all blocks: where each begins, in blocks. */
static bool split(const struct series *series, size_t levels, size_t begins[LEVELS_MOST])
{
	double best[LEVELS_MOST][LEVELS_BLOCKS + 1]; /* of so many blocks from the first, cut into so many levels more than 1 */
	size_t from[LEVELS_MOST][LEVELS_BLOCKS + 1];

	for (size_t k = 0; k < levels; k++)
		for (size_t end = 0; end <= series->blocks; end++) {
			best[k][end] = INFINITY;
			if (k == 0 && end >= series->least) {
				best[k][end] = series->costs[0][end - 1];
				from[k][end] = 0;
			}
			for (size_t begin = series->least; k && begin + series->least <= end; begin++) {
				double cost = best[k - 1][begin] + series->costs[begin][end - 1];
				if (cost < best[k][end]) {
					best[k][end] = cost;
					from[k][end] = begin;
				}
			}
		}
	if (!isfinite(best[levels - 1][series->blocks]))
		return false;
	for (size_t k = levels, end = series->blocks; k-- > 0; end = begins[k])
		begins[k] = from[k][end];
	return true;
}

/* Of all pairs of a block of each, how many are larger in the second; equal ones are half. */
static double larger_share(const double *first, size_t first_count, const double *second, size_t second_count)
{
	double sum = 0;

	for (size_t i = 0; i < first_count; i++)
		for (size_t j = 0; j < second_count; j++)
			sum += second[j] > first[i] ? 1 : second[j] == first[i] ? 0.5 : 0;
	return sum / (double)(first_count * second_count);
}

static bool are_apart(const struct series *series, size_t first, size_t middle, size_t end)
{
	double share = larger_share(&series->medians[first], middle - first, &series->medians[middle], end - middle);
	double change = median_of(series, begin_of(series, middle), begin_of(series, end)) -
			median_of(series, begin_of(series, first), begin_of(series, middle));

	return change > 0 ? share >= LEVELS_SURE && change >= log(LEVELS_RATIO) : share <= 1 - LEVELS_SURE && -change >= log(LEVELS_RATIO);
}

static bool are_all_apart(const struct series *series, const size_t *begins, size_t levels)
{
	for (size_t k = 0; k + 1 < levels; k++)
		if (!are_apart(series, begins[k], begins[k + 1], k + 2 < levels ? begins[k + 2] : series->blocks))
			return false;
	return true;
}

static bool is_growing(const struct series *series, size_t first, size_t end)
{
	double sum = 0, pairs = 0;

	for (size_t i = first; i < end; i++)
		for (size_t j = i + 1; j < end; j++, pairs++)
			sum += series->medians[j] > series->medians[i];
	return pairs > 0 && sum >= GROWING * pairs;
}

/* The change lies in one of the two blocks at the edge: where both sides are nearest to their levels. */
static size_t refine(const struct series *series, size_t block, double before, double after)
{
	size_t first = begin_of(series, block - 1), end = begin_of(series, block + 1), best = first;
	double cost = 0, least;

	for (size_t i = first; i < end; i++)
		cost += fabs(log((double)(series->values[i] ? series->values[i] : 1)) - after);
	least = cost;
	for (size_t i = first; i < end; i++) {
		double value = log((double)(series->values[i] ? series->values[i] : 1));
		cost += fabs(value - before) - fabs(value - after);
		if (cost < least) {
			least = cost;
			best = i + 1;
		}
	}
	return best;
}

static void put_levels(const struct series *series, const size_t *begins, size_t count, struct level *levels)
{
	double medians[LEVELS_MOST];

	for (size_t k = 0; k < count; k++) {
		size_t end = k + 1 < count ? begins[k + 1] : series->blocks;
		medians[k] = median_of(series, begin_of(series, begins[k]), begin_of(series, end));
		levels[k].is_growing = is_growing(series, begins[k], end);
	}
	for (size_t k = 0; k < count; k++) {
		levels[k].first = k ? refine(series, begins[k], medians[k - 1], medians[k]) : 0;
		levels[k ? k - 1 : 0].end = levels[k].first;
	}
	levels[count - 1].end = series->count;
	for (size_t k = 0; k < count; k++)
		levels[k].median = (uint64_t)llround(exp(median_of(series, levels[k].first, levels[k].end)));
}

size_t levels_find(const uint64_t *values, size_t count, struct level levels[LEVELS_MOST])
{
	struct series *series;
	size_t begins[LEVELS_MOST] = {0}, tried[LEVELS_MOST], found = 1;

	levels[0] = (struct level){.end = count};
	if (count < LEVELS_LEAST)
		return 1;
	series = base_alloc(1, sizeof(*series));
	*series = (struct series){.values = values, .count = count};
	series->blocks = count / BLOCK_LEAST < LEVELS_BLOCKS ? count / BLOCK_LEAST : LEVELS_BLOCKS;
	series->least = series->blocks / SHARE_LEAST > OF_LEVEL_LEAST ? series->blocks / SHARE_LEAST : OF_LEVEL_LEAST;
	for (size_t i = 0; i < series->blocks; i++)
		series->medians[i] = median_of(series, begin_of(series, i), begin_of(series, i + 1));
	find_costs(series);
	for (size_t k = LEVELS_MOST; k > 1 && found == 1; k--)
		if (split(series, k, tried) && are_all_apart(series, tried, k)) {
			memcpy(begins, tried, sizeof(begins));
			found = k;
		}
	put_levels(series, begins, found, levels);
	free(series);
	return found;
}

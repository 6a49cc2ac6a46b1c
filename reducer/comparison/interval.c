/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ratios of all pairs, and which of them are the bounds.
 *
 * Rule: ties need no care: equal ratios are equal bounds.
 */
#include "reducer/comparison/interval.h"

#include "reducer/base/base.h"

#include <math.h>
#include <stdlib.h>

/*
 * How many of all orders of n and m values have u pairs in which the second is the smaller, for each u: the coefficients of
 * the product of (1 - x^(m+i)) / (1 - x^i), i from 1 to n.
 */
static double *count_orders(size_t n, size_t m)
{
	size_t most = n * m;
	double *orders = base_alloc(most + 1, sizeof(*orders));

	orders[0] = 1;
	for (size_t i = 1; i <= n; i++) {
		for (size_t u = most; u >= m + i; u--)
			orders[u] -= orders[u - m - i];
		for (size_t u = i; u <= most; u++)
			orders[u] += orders[u - i];
	}
	return orders;
}

/* The largest u of which at most `miss` of all orders are, or fall below, counted from 1; SIZE_MAX = not even 0 is so rare. */
static size_t exact_depth(size_t n, size_t m, double miss)
{
	double *orders = count_orders(n, m), all = 0, sum = 0;
	size_t depth = 0;

	for (size_t u = 0; u <= n * m; u++)
		all += orders[u];
	while (depth <= n * m && (sum + orders[depth]) / all <= miss)
		sum += orders[depth++];
	free(orders);
	return depth ? depth : SIZE_MAX;
}

size_t interval_depth(size_t before_count, size_t after_count, double miss)
{
	double n = (double)before_count, m = (double)after_count, deviations = 1.0, step = 1.0, depth;

	if (!before_count || !after_count)
		return SIZE_MAX;
	if (before_count <= INTERVAL_EXACT && after_count <= INTERVAL_EXACT)
		return exact_depth(before_count, after_count, miss);
	for (; step > 1e-6; step /= 2) /* the normal distribution's deviations of which `miss` lie beyond */
		while (erfc((deviations + step) / sqrt(2)) / 2 > miss)
			deviations += step;
	depth = floor(n * m / 2 - deviations * sqrt(n * m * (n + m + 1) / 12));
	return depth < 1 ? SIZE_MAX : (size_t)depth;
}

static bool is_any_unknown(const double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!(values[i] > 0))
			return true;
	return false;
}

struct interval interval_make(const double *before, size_t before_count, const double *after, size_t after_count, double miss)
{
	size_t depth = interval_depth(before_count, after_count, miss), count = before_count * after_count;
	struct interval interval = {0};
	double *ratios;

	if (!count || is_any_unknown(before, before_count) || is_any_unknown(after, after_count))
		return interval;
	ratios = base_alloc(count, sizeof(*ratios));
	for (size_t i = 0; i < before_count; i++)
		for (size_t k = 0; k < after_count; k++)
			ratios[i * after_count + k] = after[k] / before[i];
	interval.change = base_median(ratios, count) - 1;
	if (depth != SIZE_MAX) {
		interval.is_known = true;
		interval.low = ratios[depth - 1] - 1;
		interval.high = ratios[count - depth] - 1;
	}
	free(ratios);
	return interval;
}

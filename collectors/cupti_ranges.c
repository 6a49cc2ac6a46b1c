/* SPDX-License-Identifier: Apache-2.0 */
/* Correlation ids of calls inside windows; see collectors/cupti_ranges.h. */
#include "collectors/cupti_ranges.h"

#include "writer/poison.h"

static struct tfp_cupti_range *range_at(struct tfp_cupti_ranges *ranges, uint64_t number)
{
	return &ranges->items[number % TFP_CUPTI_RANGES];
}

void tfp_cupti_range_begin(struct tfp_cupti_ranges *ranges, uint64_t from)
{
	uint64_t count = ranges->count;

	if (count && range_at(ranges, count - 1)->from == TFP_CUPTI_AWAITED) {
		range_at(ranges, count - 1)->to = UINT64_MAX;
		return;
	}
	*range_at(ranges, count) = (struct tfp_cupti_range){from, UINT64_MAX};
	__atomic_store_n((uint64_t *)&ranges->count, count + 1, __ATOMIC_RELEASE);
}

/* The first range from `low` on that begins after the call. */
static uint64_t after(struct tfp_cupti_ranges *ranges, uint64_t low, uint64_t high, uint64_t correlation)
{
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (range_at(ranges, middle)->from <= correlation)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

enum tfp_cupti_wanted tfp_cupti_range_find(struct tfp_cupti_ranges *ranges, uint64_t correlation)
{
	uint64_t count = __atomic_load_n((uint64_t *)&ranges->count, __ATOMIC_ACQUIRE);
	uint64_t first = count > TFP_CUPTI_RANGES ? count - TFP_CUPTI_RANGES : 0;
	uint64_t found = after(ranges, first, count, correlation);

	if (found == first)
		return first ? TFP_CUPTI_FORGOTTEN : TFP_CUPTI_OUTSIDE;
	return correlation <= range_at(ranges, found - 1)->to ? TFP_CUPTI_INSIDE : TFP_CUPTI_OUTSIDE;
}

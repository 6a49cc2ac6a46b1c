/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which correlation ids belong to calls made inside windows.
 *
 * Rule: written by whoever is changing CUPTI's state (never two at once), and the start of the newest by the call that it
 * awaits; read by whoever decodes, also meanwhile. Ranges begin in the order in which windows opened. The newest TFP_CUPTI_RANGES
 * are known; records of calls before them are counted, for nobody can say any more whether they are wanted.
 */
#ifndef TFP_COLLECTORS_CUPTI_RANGES_H
#define TFP_COLLECTORS_CUPTI_RANGES_H

#include "writer/format.h"

#include <stdint.h>

#define TFP_CUPTI_RANGES 4096 /* windows whose records may still be on their way; pages are touched as they open */

#define TFP_CUPTI_AWAITED UINT64_MAX /* as the start of a range: the next call seen begins it */

/* Both ends included. */
struct tfp_cupti_range {
	uint64_t from, to;
};

/* Range number n lies at n % TFP_CUPTI_RANGES. None: nothing is wanted. */
struct tfp_cupti_ranges {
	_Atomic uint64_t count; /* ever */
	struct tfp_cupti_range items[TFP_CUPTI_RANGES];
};

/* The newest; before the first window one that awaits nothing. */
static inline struct tfp_cupti_range *tfp_cupti_range_last(struct tfp_cupti_ranges *ranges)
{
	return &ranges->items[(ranges->count - 1) % TFP_CUPTI_RANGES];
}

/* A window opens: calls from `from` on, or from the next one that is seen (TFP_CUPTI_AWAITED). One that still awaits its first goes on. */
void tfp_cupti_range_begin(struct tfp_cupti_ranges *ranges, uint64_t from);

enum tfp_cupti_wanted { TFP_CUPTI_OUTSIDE = 0, TFP_CUPTI_INSIDE = 1, TFP_CUPTI_FORGOTTEN = 2 };
enum tfp_cupti_wanted tfp_cupti_range_find(struct tfp_cupti_ranges *ranges, uint64_t correlation);

#endif

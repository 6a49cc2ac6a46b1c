/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the last of the segments that a stream of words (periods.h) is cut into ends: no other begins behind it, and what comes there
 * (printing, tearing down) is not its own.
 *
 * Rule: by its own words. Private to periods*.c.
 */
#ifndef REDUCER_MODEL_PERIODS_ENDS_H
#define REDUCER_MODEL_PERIODS_ENDS_H

#include "reducer/model/periods.h"

struct period_ends {
	const struct periods *periods;
	const uint32_t *anchors; /* words that begin a segment */
	size_t count, median_words;
	const uint8_t *is_usual; /* by symbol: the median segment has it */
};

/*
 * `found` has all segments as steps, each up to the next one. Of those with more than one word the last ends with its own work. Where
 * the last one is no beginning of a step, and came later than any step took, it is none, and left out.
 */
void periods_end_last(const struct period_ends *ends, struct period_found *found);

#endif

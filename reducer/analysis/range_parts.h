/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named ranges of a part of the time or of the threads, summed by name: what the first pass (model/range_rows.h, ops.h) has of all.
 *
 * Rule: a range counts for the time in which it began, with all of its duration; one inside another of its name counts again.
 */
#ifndef REDUCER_ANALYSIS_RANGE_PARTS_H
#define REDUCER_ANALYSIS_RANGE_PARTS_H

#include "reducer/analysis/analysis.h"
#include "reducer/analysis/words.h"

struct range_part {
	uint32_t name, domain; /* words */
	uint8_t source;	       /* row of range_sources.def */
	bool is_told_late;     /* TraceMe: on no stack of ranges */
	uint64_t occurrences, marks, cut, process_wide;
	uint64_t whole_ns, least_ns; /* of those that are not cut */
	uint64_t ns, self_ns, most_ns; /* self_ns: of those that a thread owns, without ops and ranges inside */
};

struct range_parts {
	struct range_part *items;
	size_t count, room;
	struct words words;
	struct base_index index;
};

#endif

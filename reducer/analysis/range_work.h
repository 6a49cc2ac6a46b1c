/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What devices did for the ranges that the program announced: the work that calls inside a range started, wherever and whenever
 * the device did it.
 *
 * Rule: times are sums of durations: work that overlaps counts each. Work belongs to the ranges that were open on the thread of
 * its call when that was made; of a graph, to those of the launch. Ranges of the whole process have none.
 */
#ifndef REDUCER_ANALYSIS_RANGE_WORK_H
#define REDUCER_ANALYSIS_RANGE_WORK_H

#include "reducer/analysis/analysis.h"
#include "reducer/analysis/words.h"

struct range_work_row {
	uint32_t name, domain; /* in words */
	uint8_t source;	       /* row of range_sources.def */
	uint64_t kernels;
	uint64_t ns;	  /* of kernels, copies, sets, graphs recorded as a whole; in nested ranges of one name once */
	uint64_t self_ns; /* of what no range inside it holds */
};

struct range_work {
	struct words words;
	struct range_work_row *rows;
	size_t count, room;
	struct base_index index;
	uint64_t beyond, unplaced;     /* pieces of work in ranges that were not followed, of no known call */
	struct range_work_pass *pass; /* during the pass only */
};

/* NULL = no device did anything for a range of that name. */
const struct range_work_row *range_work_find(const struct range_work *work, const char *name, const char *domain, unsigned source);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic by op, and of each process by who told of it and in what type (reducer/model/flops.h).
 *
 * Rule: an op has the figure of its inputs, else what was counted inside it; one inside another of its name is not added again.
 * Sums of a process hold each operation once.
 */
#ifndef REDUCER_ANALYSIS_FLOPS_H
#define REDUCER_ANALYSIS_FLOPS_H

#include "reducer/analysis/analysis.h"
#include "reducer/analysis/words.h"

struct flops_op {
	uint32_t name; /* in words */
	uint8_t source;
	uint64_t flops, occurrences, ns; /* of those with a figure; ns: on the host */
	uint64_t launched; /* what devices were given while it was the innermost op with a figure */
	uint64_t launched_times;
};

struct flops_sum {
	uint64_t log_id;
	size_t process; /* index in run->processes */
	uint64_t flops[FLOPS_ORIGINS][FLOPS_TYPES], times[FLOPS_ORIGINS];
	uint64_t replays; /* launches of CUDA graphs, whose work counts when it is captured alone */
};

struct flops_found {
	struct words words;
	struct flops_op *ops;
	size_t op_count, op_room;
	struct base_index index; /* ops by name and source */
	struct flops_sum *sums;	 /* one a process, by log id */
	size_t sum_count, sum_room;
};

/* NULL = nothing of that name and source has a figure, or `found` is NULL. */
const struct flops_op *flops_find_op(const struct flops_found *found, const char *name, unsigned source);

/* Which of the origins count for a process: those of ops and calls, else that of traces. Adds them up. */
uint64_t flops_add_up(const uint64_t by_origin[FLOPS_ORIGINS]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops of frameworks: how often, how long, with and without what ran inside them, and what was allocated meanwhile.
 *
 * Rule: self time is an op's duration less that of the ops directly inside it on its thread; total time counts an op inside
 * another of the same name once. An op whose begin or end is not in the log has no duration and is counted apart.
 */
#ifndef REDUCER_MODEL_OPS_H
#define REDUCER_MODEL_OPS_H

#include <stddef.h>
#include <stdint.h>

/* One name of one source in one process. Names live as long as the run. */
struct op {
	const char *name; /* as the framework has it; "" = its table was full */
	unsigned source;  /* row of range_sources.def */
	int is_range;     /* a range of the user or of the framework's Python side, not an op */
	uint64_t occurrences, nested; /* nested: of them, inside one of the same name and source on their thread */
	int64_t total_ns, self_ns;
	int64_t least_ns, most_ns; /* of one occurrence, with what ran inside it */
	uint64_t allocations, allocated_bytes; /* by the framework's allocators while it was the innermost op */
	const char *forward; /* of a backward function: the forward op it was made for; NULL = none or several */
	int is_ns;           /* it was told of when it was over, with its times in ns */
	uint64_t joined;     /* of its occurrences, how many found theirs */
};

/* What the log says of ops as a whole. */
struct ops {
	struct op *items; /* in the order of first begin */
	size_t count;
	uint64_t unfinished; /* began and did not end in the log (a window closed, the process ended) */
	uint64_t unbegun;    /* ended without a begin in the log */
	uint64_t crossed;    /* ended on another thread than they began on */
	uint64_t overlapped; /* ended while a later one of their thread was open (async ops, generators) */
	uint64_t nameless;   /* occurrences without a name */
	uint64_t unjoined;   /* backward functions that found no forward op */
};

#endif

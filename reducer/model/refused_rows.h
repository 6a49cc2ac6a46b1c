/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations that failed for want of memory.
 *
 * Rule: kept as they came, the first of them; a program that tries for ever fills a counter, not the memory.
 */
#ifndef REDUCER_MODEL_REFUSED_ROWS_H
#define REDUCER_MODEL_REFUSED_ROWS_H

#include <stddef.h>
#include <stdint.h>

#define REFUSED_MOST 4096 /* of a process */

struct refused {
	int64_t time_ns;
	uint64_t requested_bytes;
	uint32_t stack;	   /* 0 = none */
	uint32_t thread;   /* its serial */
	uint32_t function; /* row of malloc.def */
};

struct refused_rows {
	struct refused *list; /* by time */
	size_t count;
	uint64_t told; /* in all */
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations that failed for want of memory: the host's, a GPU's, a framework's allocator's.
 *
 * Rule: kept as they came, the first of them and the last; a program that tries for ever fills a counter, not the memory.
 */
#ifndef REDUCER_MODEL_REFUSED_ROWS_H
#define REDUCER_MODEL_REFUSED_ROWS_H

#include <stddef.h>
#include <stdint.h>

#define REFUSED_MOST 4096 /* of a process */

struct scan;

struct refused {
	int64_t time_ns; /* ticks during the scan */
	uint64_t requested_bytes; /* UINT64_MAX = not known */
	const char *call;      /* the function that failed, "" = not known */
	const char *allocator; /* as in memory.summary */
	uint32_t stack;	 /* 0 = none */
	uint32_t thread; /* its serial */
	uint32_t op;	 /* number into process->op_names, 0 = none */
	uint32_t stream; /* of the log */
};

struct refused_rows {
	struct refused *list; /* by time */
	size_t count;
	uint64_t told; /* in all */
};

/* One that failed in `row->stream`; its thread is filled in. */
void refused_add(struct scan *scan, const struct refused *row);

/* The last one, where it is of this stream and not before `ticks`: the inner part of a call that failed. NULL = none. */
struct refused *refused_since(struct scan *scan, uint32_t stream, uint64_t ticks);

#endif

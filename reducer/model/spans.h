/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened when, one thing after the other: for formats that draw a time line.
 *
 * Rule: a pass of its own after run_scan; memory follows what is open at one moment and the distinct names, not the log's
 * length. A span is told when it ends, so a range comes after what happened inside it. Times are ns since the run's start.
 * What began and never ended is told at the end, marked is_open.
 */
#ifndef REDUCER_MODEL_SPANS_H
#define REDUCER_MODEL_SPANS_H

#include "reducer/model/run.h"

enum span_kind { SPAN_WHOLE, SPAN_INSTANT, SPAN_COUNTER };

/* Where it is drawn. */
enum span_track {
	SPAN_THREAD,  /* `track`: serial of the thread */
	SPAN_QUEUE,   /* place in process->gpu of the first queue of a stream */
	SPAN_PROCESS, /* of the process as a whole: steps, windows, counters */
};

struct span_argument {
	const char *name;
	const char *text; /* NULL: the number counts */
	uint64_t number;
};
#define SPAN_ARGUMENTS 8
#define SPAN_LANES 16

struct span {
	enum span_kind kind;
	enum span_track on;
	uint32_t track;
	uint32_t lane;         /* of a queue: 0, or a further one where the work of one queue overlaps; below SPAN_LANES */
	size_t process;        /* index in run->processes */
	int64_t start_ns;
	uint64_t duration_ns;  /* of SPAN_WHOLE */
	const char *category;  /* a constant word: call, kernel, copy, set, graph, wait, range, op, step, window, memory, overhead */
	const char *name;
	int is_open;           /* had not ended when the log did */
	uint64_t flow;         /* equal for a call and the device work it started; 0 = none */
	int is_flow_start;     /* the call */
	double value;          /* of SPAN_COUNTER */
	const struct span_argument *arguments;
	size_t argument_count;
};

/* Non-zero ends the pass. Texts live during the call. */
typedef int span_visit(void *context, const struct span *span);

/* Tells all spans of one process. Returns 0, what `visit` returned, or -1 without memory. After run_scan. */
int spans_stream(struct run *run, size_t process, span_visit *visit, void *context);

#endif

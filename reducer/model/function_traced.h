/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions of TensorFlow a thread traced a moment ago: the next call of one of these began with that.
 *
 * Rule: a function that is traced and set aside (get_concrete_function) is called later, after more than its tracing took, or behind
 * the next batch; that was no part of the call. Knows nothing of logs; times are ticks, where nothing else is said.
 */
#ifndef REDUCER_MODEL_FUNCTION_TRACED_H
#define REDUCER_MODEL_FUNCTION_TRACED_H

#include <stddef.h>
#include <stdint.h>

#define FUNCTION_TRACED_MOST 8u /* functions of one thread; another one takes the place of the one that was traced first */

struct function_tracing {
	uint64_t begin, end;
	uint32_t function;
};

struct function_traced {
	struct function_tracing items[FUNCTION_TRACED_MOST]; /* by their ends */
	size_t count;
};

/* A function was traced. What was traced of it just before belongs to that: variables were made. */
void function_traced_add(struct function_traced *traced, uint32_t function, uint64_t begin, uint64_t end);

/* The function is called at `call`, for which what was traced of it is used up. Returns when that began, `call` = nothing was. */
uint64_t function_traced_begin(struct function_traced *traced, uint32_t function, uint64_t call);

/* What is called from now on needed nothing of what was traced. */
void function_traced_leave(struct function_traced *traced);

/* Readings of both clocks: TensorFlow's events tell the time of day. All 0 = there was none. */
struct function_clock {
	uint64_t ticks, realtime_ns;	       /* the newest one */
	uint64_t first_ticks, first_realtime_ns; /* and the first: the log's own rate is an estimate, made in its first moment */
	double hz;
};

/* `hz`: the log's. */
void function_clock_read(struct function_clock *clock, uint64_t ticks, uint64_t realtime_ns, uint64_t hz);

/* The ticks of a time of day, in ns since 1970; 0 = before the first tick, or without a reading. */
uint64_t function_clock_ticks(const struct function_clock *clock, uint64_t realtime_ns);

#endif

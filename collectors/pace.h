/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often our own thread looks at what other threads do (collectors/python_time.h, native_time.h).
 *
 * Rule: times between looks are drawn between half and one and a half of a period, so that steps of a like length are not met at the
 * same place. A two hundredth of a processor is aimed at: where looks are dear they are rarer, and where nothing runs, too.
 */
#ifndef TFP_COLLECTORS_PACE_H
#define TFP_COLLECTORS_PACE_H

#include "writer/stream.h"

/* A thread that has not run for IDLE_AFTER is told of every IDLE, others at each look: it may be another step by the next one. */
#define TFP_PACE_IDLE_AFTER_MS 1000
#define TFP_PACE_IDLE_MS 50
#define TFP_PACE_CLOSED_MS 100 /* between two questions whether a window has opened */

struct tfp_pace {
	uint64_t random;
	uint64_t ran;      /* ticks: when some thread last ran; written by who looks */
	uint64_t due, gap; /* the next look, and the longest time between two that is one look's: beyond it is nobody's */
	uint64_t cost_ns;  /* of a look */
};

void tfp_pace_begin(struct tfp_pace *pace);

/* After a look that took `cost_ns` of this thread's processor time: milliseconds until the next one. */
uint32_t tfp_pace_next(struct tfp_pace *pace, uint32_t period_ms, uint64_t now, uint64_t cost_ns);

/* Milliseconds until that is due, `edge_ms` at most; 0: it is. Who wakes for somebody else and looked would favour what wakes. */
uint32_t tfp_pace_wait(const struct tfp_pace *pace, uint64_t now, uint32_t edge_ms);

static inline uint64_t tfp_pace_ticks(uint64_t ms)
{
	return tfp_state->second_ticks / 1000 * ms;
}

#endif

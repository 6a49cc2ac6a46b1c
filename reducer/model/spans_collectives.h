/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long TensorFlow's collectives between processes last on CPUs: an op starts one and returns, and says on another thread that it is
 * over. Both say it by a trace each, with one number.
 *
 * Rule: a span of the process from one to the other; inferred, as what it waits for no record says. Private to the model.
 */
#ifndef REDUCER_MODEL_SPANS_COLLECTIVES_H
#define REDUCER_MODEL_SPANS_COLLECTIVES_H

#include <stdint.h>

#define COLLECTIVES_MOST 256u /* of which one end is known and the other one may come; the youngest stay */
#define COLLECTIVE_NAME "CollectiveReduce and the like, until done" /* of the span; phases.c knows how it begins */

struct spans_collectives {
	struct collective_end {
		uint64_t number; /* 0 = none */
		int64_t time_ns;
		int is_done;
	} ends[COLLECTIVES_MOST];
	uint64_t count;
};

struct span;

/*
 * A trace is about to be told, with all that was said of it. Whether it is the later one to come of the two ends of a collective: that
 * lasted from *from to *to.
 */
int collectives_take(struct spans_collectives *collectives, const struct span *span, int64_t *from, int64_t *to);

#endif

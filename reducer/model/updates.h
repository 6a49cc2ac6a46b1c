/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds of learning of a loop of TensorFlow that runs eagerly: gradients are taken, then weights are changed by them, and the next
 * gradient begins another round.
 *
 * Rule: known by the kinds of names (function_names.h) and by times alone. Inferred, with half the confidence: two optimizers make two
 * rounds of a batch.
 */
#ifndef REDUCER_MODEL_UPDATES_H
#define REDUCER_MODEL_UPDATES_H

#include "reducer/model/run.h"

#include <stddef.h>
#include <stdint.h>

struct update_round {
	uint64_t begin, end; /* of the first op behind the last change of the round before; of the last change of this one */
	uint32_t thread;     /* serial */
};

struct update_thread {
	struct update_round open; /* begin: 0 = nothing ran yet */
	uint64_t behind;	  /* the first op behind the last change; 0 = none came yet */
	uint32_t thread; /* serial */
	int has_gradient;
};

struct updates {
	struct update_thread *threads;
	struct update_round *rounds; /* by their ends */
	size_t count, beyond; /* beyond: found no room */
};

/* Returns -1 without memory; updates_free in either case. A thread is known by its first stream. */
int updates_begin(struct updates *updates, const struct process *process);
void updates_free(struct updates *updates);

/* An eager op of that kind (function_names.h) began on the thread of stream `first`. Times are not 0, and do not fall on a thread. */
void updates_take(struct updates *updates, size_t first, uint8_t kind, uint64_t time);

/* Nothing is taken any more: the rounds that are open end. */
void updates_end(struct updates *updates, const struct process *process);

/* Rounds of a thread that ended in there: from < end <= to. */
size_t updates_count(const struct updates *updates, uint32_t thread, uint64_t from, uint64_t to);

/*
 * Steps of the rounds that lie in none: beside batches of tf.data, or where a period found no steps, or such as most of do not learn.
 * Fewer than five are left alone. Times are ticks; returns whether there are new steps, which step_choice has to look at.
 */
int updates_make_steps(const struct updates *updates, struct process *process);

#endif

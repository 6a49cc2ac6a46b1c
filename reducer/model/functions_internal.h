/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of TensorFlow's functions and batches while a process is scanned. Private to functions*.c; their rule is in functions.c. */
#ifndef REDUCER_MODEL_FUNCTIONS_INTERNAL_H
#define REDUCER_MODEL_FUNCTIONS_INTERNAL_H

#include "reducer/model/function_traced.h"
#include "reducer/model/internal.h"
#include "reducer/model/scan.h"
#include "reducer/model/updates.h"

#include <stddef.h>
#include <stdint.h>

/* All traces of one function. */
struct group {
	char *name;
	size_t calls, beyond; /* of them those that found no room */
	int has_gradients, updates; /* ops of a tape ran in it; and such as change weights */
	int trains;		    /* ops of a tape or an optimizer did */
	int is_step; /* TensorFlow's part of the library knows it by its name */
};

struct call {
	uint64_t begin, end; /* ticks */
	uint64_t from;	     /* when what it needed traced for it began; else begin */
	uint32_t thread;
	uint16_t group;
};

struct open_call {
	uint64_t key; /* 0 = none is open */
	struct call call;
	/* Of a thread's first stream. */
	size_t last_batch; /* the batch it took last, + 1; 0 = none yet */
	int trains;	   /* it ran an eager op of a gradient or an optimizer */
	struct function_traced traced;
};

/* A loop asked for its next batch, or made the iterator that it asks. */
struct batch_call {
	uint64_t begin, trained; /* ticks; trained: when an eager op that trains began last, before the next of these; 0 = none did */
	uint64_t first, wanted_first; /* what ran first for it, and for the one before in its loop; 0 = nothing */
	uint64_t used, wanted, reached; /* ops that ran for it, and for the one before; when it had as many, ticks, 0 = it has not */
	size_t before, next; /* of the same thread: index + 1, 0 = none */
	uint32_t thread;
	int makes_iterator;
};

struct functions {
	struct scan *scan;
	uint8_t *names;	  /* by op_name */
	uint16_t *groups_of; /* by op_name: group + 1, 0 = not looked for */
	struct group groups[MODEL_FUNCTIONS_MAX];
	size_t group_count;
	struct open_call *open; /* by stream */
	size_t open_count, last_open;
	struct call *calls; /* by their ends */
	size_t count;
	struct batch_call *batches; /* by time */
	size_t batch_count;
	size_t batches_beyond; /* that found no room */
	struct updates updates;
	struct function_clock clock;
	size_t xla_calls;
	int trains_eagerly, is_jax;
};

/* The batches of tf.data that loops took become the steps, where there are as many as that takes. */
void functions_make_batches(struct functions *taken);

/* How many lie in none of the steps that TensorFlow marked, where that is as many as steps take: Keras' predict has them. */
size_t functions_batches_aside(const struct functions *taken);

/* Sets process->aside where a function that trains was called in none of those steps. Once their pauses are known. */
void functions_find_aside(const struct functions *taken);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a span has to do with a program's input: which span is a wait for the next batch, which stage of a pipeline it is.
 *
 * Rule: by source and name alone; the one place that knows how frameworks call these things (TensorFlow 2.15 to 2.21, PyTorch
 * 1.13 to 2.15).
 */
#ifndef REDUCER_ANALYSIS_INPUT_KINDS_H
#define REDUCER_ANALYSIS_INPUT_KINDS_H

#include "reducer/model/spans.h"

#include <stdbool.h>

enum input_kind {
	INPUT_NOT,
	INPUT_ITERATOR, /* of tf.data, one that another iterator asks */
	INPUT_ROOT,	/* of tf.data, one that the program or a loop's body asks: a wait */
	INPUT_GET,	/* TensorFlow's op around such a call: a wait */
	INPUT_LOADER,	/* PyTorch's DataLoader: a wait */
	INPUT_RANGE,	/* a range that the program calls input, next batch, ...: a wait */
};

/*
 * Loops over a dataset inside a tf.function: an op asks the pipeline (ReduceIterator). Where AutoGraph made the loop, its body runs in
 * an iterator, the outermost Scan: what that asks is the input, and those above it are the loop.
 */
enum input_loops {
	LOOPS_UNKNOWN, /* no iterator is known: neither is a wait */
	LOOPS_PLAIN,   /* none has such a Scan */
	LOOPS_IN_SCAN,
};
enum input_loops input_loops_of(const struct process *process);
/* Is it what a loop's body asks for its next element? */
bool input_is_asked_by_loop(const char *name);

enum input_kind input_kind_of(const struct span *span, enum input_loops loops);
/* Whether a range or op of that name fetches a batch: what its thread does inside is done for the input. */
bool input_is_named(const char *name);

/*
 * Whether the program waits for input here. `step_thread`: the thread that marks the steps, 0 = unknown; a loader or a range
 * on another thread works ahead.
 */
bool input_is_wait(const struct span *span, enum input_loops loops, uint32_t step_thread);
/* The same of a span whose kind is known. */
bool input_kind_is_wait(enum input_kind kind, const struct span *span, uint32_t step_thread);

/* The last part of a long name: what the iterator is. Points into `name`. */
const char *input_iterator_name(const char *name);
/* Runs work in other threads; is the part of a pipeline that copies to a device. */
bool input_is_async(const char *name);
bool input_is_device(const char *name);

/* What the host does for the input. */
enum input_category { INPUT_DEMAND_READ, INPUT_ADVANCE_READ, INPUT_PREPROCESSING, INPUT_ENQUEUE, INPUT_OTHER, INPUT_CATEGORIES };
const char *input_category_name(enum input_category category);	 /* demand_read, ... */
const char *input_category_remedy(enum input_category category); /* a sentence or two */
enum input_category input_category_of(const char *iterator);

/* Whether ops that call Python functions, under Python's lock, took half of an iterator's own time or more: then most of it is theirs. */
bool input_is_python(const struct process *process, uint64_t node_ns);
/* What to do where that iterator is what others wait for: a sentence or two. Never NULL. is_python: input_is_python. */
const char *input_remedy(const char *name, bool is_python);
/* The kind of thing that it is: slow source, data service, remote source, has a parallel version, no parallel version, other. */
const char *input_bottleneck_kind(const char *name);

/* Files whose bytes are data of the program: not its code, not the kernel's. Pipes and sockets are not files. */
bool input_is_file(const char *path);
bool input_is_code(const char *path);  /* of Python, libraries */
bool input_is_queue(const char *path); /* pipes and local sockets: what worker processes are fed by */
bool input_is_network(const char *path); /* internet sockets */
bool input_is_data(const char *path);  /* files as above, pipes, sockets */

/* PyTorch's ops that put samples together to a batch. By name: an inference. */
bool input_is_collate(const char *name);
bool input_is_pinning(const char *name);
/* One that lies in another one of these, whose time holds its. */
bool input_is_in_pinning(const char *name);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the data of the steps were brought in: waits by who made them, reads by thread, PyTorch's loaders and their worker
 * processes, copies to the device.
 *
 * Rule: what happened between the first and the last step counts; in a process without steps, between those of the nearest
 * process above it that has some (worker processes). What an op in a worker is for follows from its name and place: inferred.
 */
#ifndef REDUCER_ANALYSIS_LOADING_H
#define REDUCER_ANALYSIS_LOADING_H

#include "reducer/analysis/analysis.h"
#include "reducer/analysis/input_kinds.h"

/* Pieces of time, each a sum of durations. */
enum loading_sum {
	LOADING_ITERATORS,	/* waits for roots of tf.data */
	LOADING_LOADER,		/* waits for a DataLoader on the thread that marks the steps */
	LOADING_FIRST,		/* of them the first one */
	LOADING_STARTS,		/* of them later ones before which worker processes started */
	LOADING_ENDS,		/* of them such in which worker processes ended, and none began: an epoch is over */
	LOADING_RANGES,		/* waits in ranges that the program calls input */
	LOADING_LOADER_READS,	/* in the loader: files */
	LOADING_LOADER_COLLATE, /* in the loader: putting samples together */
	LOADING_DEMAND_READS,	/* files, sockets; pipes too; on the thread that marks the steps */
	LOADING_DEMAND_ANSWERS, /* of them of pipes and local sockets: other processes write what is waited for */
	LOADING_DEMAND_NETWORK, /* of them of internet sockets */
	LOADING_ADVANCE_READS,	/* on other threads */
	LOADING_QUEUE_READS,	/* of pipes and local sockets on other threads and in the loader */
	LOADING_PINNING,
	LOADING_COPIES, /* to a device */
	LOADING_BUSY,	/* of a worker: from an index received to the last that it did for it */
	LOADING_ALIVE,	/* of a worker: from its first index to the last that is known of it */
	LOADING_GUESSED, /* processor time of a worker that got indexes and of whose work nothing else is known */
	LOADING_WORKER_READS,
	LOADING_WORKER_COLLATE,
	LOADING_INSIDE,	 /* waits between a step's marker and its end */
	LOADING_OUTSIDE, /* waits behind the end of the marked range */
	LOADING_SUMS
};

struct loading_row {
	uint64_t log_id;
	size_t process; /* index in run->processes */
	bool has_workers, has_steps;
	uint64_t ns[LOADING_SUMS], counts[LOADING_SUMS];
	uint64_t bytes[LOADING_SUMS]; /* of reads and copies */
	uint64_t window_ns;	      /* from the first to the last step */
	uint64_t forgotten;	      /* things before a loader's call that were too many to keep */
};

/* An op of the input, for input.ops. */
struct loading_op {
	uint64_t log_id;
	char *name;
	enum input_category category;
	uint64_t count, total_ns, self_ns;
};

struct loading {
	struct loading_row *rows; /* by log id */
	size_t count, room;
	struct loading_op *ops; /* by log id, category, name once ended */
	size_t op_count, op_room;
	struct loading_pass *pass; /* during the pass only */
};

/* What a process loaded; NULL = nothing, or no such process. */
const struct loading_row *loading_row_of(const struct loading *loading, uint64_t log_id);

#endif

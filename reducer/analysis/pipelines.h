/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipelines of tf.data: the calls of every iterator, and which one a slow call of the root waited for.
 *
 * A call of a root is looked at with all calls below it that overlap it in time, on its own thread and on others: an iterator
 * is blocking where a call of it overlaps a blocking call of the one that asks it; its own time is that of its calls, cut to the
 * root's, without the time in which iterators below it worked; the bottleneck is the blocking iterator with the most own time.
 * Rule: that is the TensorFlow Profiler's rule, with overlap in the place of element ids, which are only told at a level that
 * costs a tenth of a step. Pipelines of one process with the same iterators (one an epoch) are one row. At most CALLS_MOST calls
 * of a node wait for the root's call at once; those forgotten are counted.
 */
#ifndef REDUCER_ANALYSIS_PIPELINES_H
#define REDUCER_ANALYSIS_PIPELINES_H

#include "reducer/analysis/analysis.h"

#define PIPELINE_SLOW_NS 50000u /* a call of a root that takes longer is slow; the TensorFlow Profiler's threshold */
#define CALLS_MOST 65536u
#define WAITS_MOST (1u << 20) /* slow calls of which a node was the bottleneck that are kept one by one; 16 MiB */

/* A slow call of a root, kept with its bottleneck: whose own time is `ns`. */
struct pipeline_wait {
	int64_t start_ns;
	uint64_t ns;
};

struct pipeline_node {
	uint64_t log_id, pipeline; /* pipeline: hash of the names of all its nodes */
	char *name;		   /* long name */
	char *parameters;	   /* "" = not known */
	size_t process; /* index in run->processes */
	bool is_root, is_device;
	uint64_t calls, total_ns, min_ns, max_ns;
	int64_t first_ns;
	uint64_t thread_self_ns; /* total without what was inside on its thread, ops too */
	uint64_t self_ns;	   /* total without what iterators below it did meanwhile; of calls below a root's */
	uint64_t blocking_calls;   /* calls that a call of the root waited for */
	uint64_t slow_ns;	   /* own time while a slow call of the root waited */
	uint64_t bottleneck_calls; /* slow calls of the root of which it was the bottleneck */
	uint64_t longest_ns;	   /* own time in the longest call of the root */
	uint64_t forgotten;	   /* calls, see the rule */
	struct pipeline_wait *waits; /* in no order */
	size_t wait_count, wait_room;
	/* Of a root. */
	uint64_t slow_calls, made; /* pipelines that are this row */
};

struct pipelines {
	struct pipeline_node *nodes; /* by log id, pipeline, name once ended */
	size_t count, room;
	struct pipelines_pass *pass; /* during the pass only */
};

/* The root of the pipeline that a node belongs to, the node above it; NULL = not in the result. */
const struct pipeline_node *pipelines_root(const struct pipelines *pipelines, const struct pipeline_node *node);
const struct pipeline_node *pipelines_above(const struct pipelines *pipelines, const struct pipeline_node *node);
/* The node of a root's pipeline that slow calls waited for most, and of the longest call alone. NULL = nothing was slow. */
const struct pipeline_node *pipelines_bottleneck(const struct pipelines *pipelines, const struct pipeline_node *root);
const struct pipeline_node *pipelines_longest(const struct pipelines *pipelines, const struct pipeline_node *root);

#endif

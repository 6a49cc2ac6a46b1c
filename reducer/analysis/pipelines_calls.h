/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of one process's iterators during the pass. Private to pipelines*.c; the rule of pipelines.h holds. */
#ifndef REDUCER_ANALYSIS_PIPELINES_CALLS_H
#define REDUCER_ANALYSIS_PIPELINES_CALLS_H

#include "reducer/analysis/pipelines.h"
#include "reducer/model/number_map.h"

#define NODE_NONE UINT32_MAX

struct call {
	int64_t start, end;
};

/* A node of the log: a row is made of it, or it adds to one, at the end. */
struct live_node {
	uint64_t key, parent_key;
	uint32_t parent, child, sibling; /* places; NODE_NONE */
	struct pipeline_node row;
	struct call *calls; /* ended, in the order of ends; a root's: the one that waits to be looked at */
	size_t count, room;
	struct call *blocking; /* of the root's call being looked at: by start */
	size_t blocking_count, blocking_room;
	uint64_t longest; /* of a root: its longest call looked at */
};

struct pipelines_pass {
	const struct analysis_input *input;
	struct live_node *nodes;
	size_t count, room;
	struct number_map places; /* key -> place */
	bool has_facts;
};

/* A call has ended. */
void pipelines_call(struct pipelines_pass *pass, uint32_t place, struct call call);
/* Looks at what still waits. */
void pipelines_settle(struct pipelines_pass *pass);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each stream of each device did.
 *
 * Rule: a role has counts and the sum of the durations of its work; overlap within a stream is not taken away.
 */
#ifndef REDUCER_ANALYSIS_ROLES_H
#define REDUCER_ANALYSIS_ROLES_H

#include "reducer/analysis/analysis.h"
#include "reducer/base/index.h"
#include "reducer/model/number_map.h"

enum stream_role { ROLE_COMPUTE, ROLE_COLLECTIVE, ROLE_COPY_IN, ROLE_COPY_OUT, ROLE_COPY_ON, ROLE_SET, ROLE_GRAPH, STREAM_ROLES };

/* One stream of one process. */
struct stream_row {
	uint64_t log_id; /* of the process */
	uint32_t device, context, stream;
	uint64_t counts[STREAM_ROLES], ns[STREAM_ROLES], bytes;
	uint32_t first_thread;	   /* serial of the first launching thread that is known; 0 = none is */
	uint64_t other_threads;	   /* work that others are known to have launched */
	int64_t first_ns, last_ns; /* of its work */
	uint64_t switches;	   /* in the order of starts: how often the work before it on the device was of another stream */
	uint32_t place;		   /* of its device in roles.lasts */
};

#define ROLE_TURNS 32768u /* pieces of work that wait for some that began before them and were told later */

struct roles {
	struct stream_row *rows; /* by log id, device, context, stream once ended */
	size_t count, room;
	struct base_index places; /* row of device, context, stream */
	const struct analysis_input *input;
	/* During the pass only: whose turn it was, in the order of starts. */
	struct role_turn {
		int64_t start_ns;
		uint32_t row;
	} * turns;
	size_t turn_count;
	bool is_mixed;		   /* they are not in order */
	struct number_map devices; /* place in `lasts` */
	uint32_t *lasts;	   /* row of the last work of each device, + 1; 0 = none */
	size_t last_room;
	uint8_t *kernels; /* by the kernel's place in gpu->names: 0 not looked at yet, 1 computes, 2 a collective */
	size_t kernel_room;
	struct role_alike {
		uint64_t alike; /* span.alike, 0 = none */
		size_t row;
		enum stream_role role;
	} * alikes; /* what follows from that number; during the pass only */
};

const char *stream_role_name(enum stream_role role);

#endif

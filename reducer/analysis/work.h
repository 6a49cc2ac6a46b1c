/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What devices did, by the op that launched it and by kernel; and how long threads were in no op.
 *
 * Rule: times are sums of durations: work that overlaps counts each. What was launched outside every op has op "".
 */
#ifndef REDUCER_ANALYSIS_WORK_H
#define REDUCER_ANALYSIS_WORK_H

#include "reducer/analysis/parts.h"
#include "reducer/analysis/words.h"
#include "reducer/model/spread.h"

/* One kernel of one op; copies, sets and graphs have their span's name. An op of the host (SPAN_OP, SPAN_TRACE) has its own
 * twice. */
struct work_row {
	uint32_t op, name;   /* in words */
	uint8_t what;	     /* enum span_what */
	uint8_t op_source;   /* row of range_sources.def */
	uint8_t part;	     /* of the step: a precision, collectives, a direction */
	uint8_t uses_tensor; /* tensor cores, by its code or else by its name */
	uint64_t occurrences, ns, bytes, least_ns, most_ns;
	spread_squares squares; /* of each one's ns */
	uint64_t self_ns; /* of ops of the host; ns is their total, with those inside them */
};

/* A device of a process: from the first to the last work with an op. */
struct work_device {
	uint64_t log_id;
	uint32_t device;
	int64_t first_ns, last_ns;
	uint64_t ns; /* sum of the durations of what has an op */
};

/* A thread that ran ops. */
struct work_thread {
	uint64_t log_id;
	uint32_t serial;
	int64_t first_ns, last_ns;
	uint64_t covered_ns;  /* in an op at all */
	struct covered *open; /* during the pass only */
	size_t open_count, open_room;
};

struct work {
	struct words words;
	struct work_row *rows;
	size_t count, room;
	struct base_index index;
	struct work_device *devices;
	size_t device_count, device_room;
	struct work_thread *threads;
	size_t thread_count, thread_room, last_thread; /* the last: looked for last, a place */
	struct base_index device_index, thread_index;
	const struct analysis_input *input; /* during the pass only */
	struct parts parts;
	uint8_t *tensor_names; /* by number in words: 0 = not looked at, 1 = no, 2 = its name says tensor cores */
	size_t tensor_room;
	struct work_recent {
		const char *name, *op;
		const struct gpu_shape *shape;
		uint32_t mask, device, row, device_at; /* row + 1, place in devices */
		uint8_t what, op_source;
	} * recent; /* device work of late, by its texts: most comes again and again; during the pass only */
	struct work_alike {
		uint64_t alike; /* span.alike, 0 = none */
		uint32_t row, device_at;
	} * alikes; /* the same by that number; during the pass only */
	struct work_host {
		uint32_t row; /* + 1 */
		uint8_t what, source;
	} * hosts; /* the op of the host of that name that came last, by number in words; during the pass only */
	size_t host_room;
};

#define WORK_RECENT 256u /* a power of two */
#define WORK_ALIKE 1024u /* a power of two */

/* Time between first and last work in which no op ran: of all devices, of all threads. */
uint64_t work_device_idle(const struct work *work);
uint64_t work_host_idle(const struct work *work);

#endif

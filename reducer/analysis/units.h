/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stretches of time that are looked at one by one: steps; where there are none requests, or calls of a framework from
 * outside; where there are none of these either, all that was recorded.
 *
 * Rule: units of one thread follow each other and do not overlap. Times are ns of the run.
 */
#ifndef REDUCER_ANALYSIS_UNITS_H
#define REDUCER_ANALYSIS_UNITS_H

#include "reducer/analysis/analysis.h"

enum unit_kind {
	UNIT_STEP,
	UNIT_REQUEST, /* an outermost range that repeats */
	UNIT_CALL,    /* an outermost call into a framework that repeats: a function, a session */
	UNIT_WHOLE,   /* a process, from its first work to its last */
};
const char *unit_kind_name(enum unit_kind kind);

struct unit {
	int64_t start_ns;
	int64_t end_ns;	   /* to the next of its thread, or to where data ran out; of the last, and of requests and calls, their own */
	int64_t marked_ns; /* to where the range that marks it ended; TIME_UNKNOWN = it says nothing of its end */
	uint64_t number;
	uint32_t thread; /* serial, 0 = of no thread */
	int is_cut;	 /* nothing in the log says where it ended: end_ns is that of the records */
	size_t step;	 /* index in process->steps; SIZE_MAX = is none */
};

struct units {
	enum unit_kind kind;
	struct unit *items; /* by thread, then start */
	size_t count;
	char *name;   /* of requests and calls: what repeats; NULL = none */
	uint64_t unlooked; /* of requests and calls: ranges and calls that were too many, some of which may be more of them */
	double share; /* of requests but the longest: their part of what ops and ranges took outermost; above 1 where some ran at once */
};

/* The units of one process: steps, else requests or calls, else the process as a whole; see enum unit_kind. units_free after it. */
void units_make(struct units *units, const struct analysis_input *input);
void units_free(struct units *units);

/* The same of steps alone, without reading on: none where the process has no steps. */
void units_of_steps(struct units *units, const struct process *process);

/*
 * The unit numbered first to last that a moment lies in; of several threads' the one that began last. NULL = none. What was
 * recorded outside of a process's first and last moment, as a device's late work, belongs to UNIT_WHOLE all the same.
 */
const struct unit *units_at(const struct units *units, int64_t time_ns, uint64_t first, uint64_t last);

#endif

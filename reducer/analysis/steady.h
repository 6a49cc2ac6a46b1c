/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was launched, copied and computed while the program was at its steps: without what it takes to begin and to end.
 *
 * Rule: counts what begins between the second step (of more than five; else the first) and the end of the last one; without
 * steps everything. Device times are sums over devices. Memory: intervals of processes with several devices wait to be
 * joined, at most STEADY_PENDING of them.
 */
#ifndef REDUCER_ANALYSIS_STEADY_H
#define REDUCER_ANALYSIS_STEADY_H

#include "reducer/analysis/analysis.h"

#define STEADY_LARGE 65536				/* bytes: copies below cost latency, not bandwidth */
#define STEADY_SMALL 64					/* bytes: a number that the host reads, not a result */
#define STEADY_PENDING (1u << 16)			/* intervals of 24 bytes */
enum steady_way { STEADY_IN, STEADY_OUT, STEADY_WAYS }; /* to devices; to the host */

struct steady_copies {
	uint64_t count, ns, bytes;
};

struct steady {
	uint64_t processes; /* that this is the sum of */
	uint64_t steps;	    /* that the time consists of; 0 = the processes have none */
	struct steady_copies copies[STEADY_WAYS];
	struct steady_copies pageable[STEADY_WAYS], pinned[STEADY_WAYS]; /* of copies of STEADY_LARGE bytes and more */
	uint64_t small_reads;						 /* copies to the host of at most STEADY_SMALL bytes */
	uint64_t kernels, kernel_ns;					 /* and graphs */
	uint64_t launches, launch_ns;					 /* calls that launch; time in them */
	uint64_t waits, wait_ns;					 /* calls that wait for a device; time in them, of all threads */
	uint64_t alone_ns, any_ns; /* of processes with several devices: just one, any of them ran kernels */
	uint64_t op_ns, eager_ns;  /* self time of TensorFlow's ops; of those called one by one, not inside a function */
	uint64_t late_ns;	   /* came too late to be joined */
	struct steady_pass *pass;  /* during the pass only */
};

#endif

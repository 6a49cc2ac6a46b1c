/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Curves of a whole job: what the wanted processes held together.
 *
 * Rule: a sum of several curves is a bound, and its user says so.
 */
#ifndef REDUCER_TABLES_JOB_H
#define REDUCER_TABLES_JOB_H

#include "reducer/tables/request.h"

/* The account of one allocator in a process; NULL = it has none, or nothing is known of it. */
typedef const struct account *account_of(const struct process *process);
const struct account *account_heap(const struct process *process);
const struct account *account_mmap(const struct process *process);

/* The live curve of the wanted processes. count: curves in it; 1 = that process's own, exact as it is. */
struct job_curve {
	struct timeline timeline; /* freed by job_curve_free */
	size_t count;
	size_t unknown; /* wanted processes of which there is no curve */
	int64_t end_ns; /* of the last process */
};
struct job_curve job_curve(const struct request *request, account_of *of);
void job_curve_free(struct job_curve *curve);

#endif

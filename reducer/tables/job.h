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
const struct account *job_account(const struct process *process, const char *allocator);

/* The allocators of the wanted processes that --allocator wants: heap, mmap, then the others as they first occur, each once.
 * *names is freed with free(). */
size_t job_allocators(const struct request *request, const char ***names);

/* The live curve of the wanted processes. count: curves in it; 1 = that process's own, exact as it is. */
struct job_curve {
	struct timeline timeline; /* freed by job_curve_free */
	size_t count;
	size_t unknown; /* wanted processes of which there is no curve */
	int64_t end_ns; /* of the last process */
};
struct job_curve job_curve(const struct request *request, const char *allocator);
void job_curve_free(struct job_curve *curve);

/* The account of a process for what `process` calls device `id`, whatever number it has there; NULL = it has none. */
const struct account *job_device_account(const struct process *other, const struct process *process, uint32_t id);

/* The most that the wanted processes held of that device together. */
struct job_peak {
	uint64_t bytes;
	size_t accounts;
	bool is_least; /* records are missing: it was that much at least */
};
struct job_peak job_device_peak(const struct request *request, const struct process *process, uint32_t id);

#endif

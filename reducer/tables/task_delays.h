/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the kernel says that tasks of a process waited for a processor: its thread_delay readings, by kernel id.
 *
 * Rule: gathered once for a process, so that a thread's are found in equal time however many threads and readings there are.
 */
#ifndef REDUCER_TABLES_TASK_DELAYS_H
#define REDUCER_TABLES_TASK_DELAYS_H

#include "reducer/model/run.h"

struct task_delays {
	struct task_delay {
		uint32_t task;
		size_t at; /* of its sample: they are by time */
		int64_t time_ns;
		uint64_t value; /* ns since the task began */
	} *items; /* by task, then time */
	size_t count;
};

/* task_delays_free after it. */
struct task_delays task_delays_find(const struct process *process);
/* Where the readings of a task begin; *end: behind its last. */
size_t task_delays_of(const struct task_delays *delays, uint32_t task, size_t *end);
void task_delays_free(struct task_delays *delays);

#endif

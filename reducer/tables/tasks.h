/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of a process by the kernel's ids.
 *
 * Rule: the kernel gives an id again once its thread has ended, so a moment belongs to it.
 */
#ifndef REDUCER_TABLES_TASKS_H
#define REDUCER_TABLES_TASKS_H

#include "reducer/model/run.h"

struct tasks {
	const struct thread **by_tid; /* by kernel id, then start */
	size_t count;
};

struct tasks tasks_make(const struct process *process);
void tasks_free(struct tasks *tasks);

/* The newest of that kernel id that lived then. NULL = the log lists none. */
const struct thread *tasks_at(const struct tasks *tasks, uint32_t tid, int64_t time_ns);
/* The same; where none lived then the oldest: of some the log tells the begin late, by their first call. */
const struct thread *tasks_near(const struct tasks *tasks, uint32_t tid, int64_t time_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Threads by the kernel's ids; see reducer/tables/tasks.h. */
#include "reducer/tables/tasks.h"

#include "reducer/base/base.h"

#include <stdlib.h>

static int compare_tids(const void *a, const void *b)
{
	const struct thread *one = *(const struct thread *const *)a, *other = *(const struct thread *const *)b;

	if (one->tid != other->tid)
		return one->tid < other->tid ? -1 : 1;
	return (one->serial > other->serial) - (one->serial < other->serial);
}

struct tasks tasks_make(const struct process *process)
{
	struct tasks tasks = {base_alloc(process->thread_count + 1, sizeof(*tasks.by_tid)), process->thread_count};

	for (size_t i = 0; i < tasks.count; i++)
		tasks.by_tid[i] = &process->threads[i];
	qsort(tasks.by_tid, tasks.count, sizeof(*tasks.by_tid), compare_tids);
	return tasks;
}

void tasks_free(struct tasks *tasks)
{
	free(tasks->by_tid);
	*tasks = (struct tasks){0};
}

/* The place behind its threads. */
static size_t behind(const struct tasks *tasks, uint32_t tid)
{
	size_t low = 0, high = tasks->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (tasks->by_tid[middle]->tid <= tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct thread *tasks_at(const struct tasks *tasks, uint32_t tid, int64_t time_ns)
{
	for (size_t i = behind(tasks, tid); i > 0 && tasks->by_tid[i - 1]->tid == tid; i--)
		if (tasks->by_tid[i - 1]->start_ns <= time_ns)
			return tasks->by_tid[i - 1];
	return NULL;
}

const struct thread *tasks_near(const struct tasks *tasks, uint32_t tid, int64_t time_ns)
{
	const struct thread *oldest = NULL;

	for (size_t i = behind(tasks, tid); i > 0 && tasks->by_tid[i - 1]->tid == tid; i--) {
		oldest = tasks->by_tid[i - 1];
		if (oldest->start_ns <= time_ns)
			break;
	}
	return oldest;
}

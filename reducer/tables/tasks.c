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

const struct thread *tasks_at(const struct tasks *tasks, uint32_t tid, int64_t time_ns)
{
	size_t low = 0, high = tasks->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (tasks->by_tid[middle]->tid <= tid)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low > 0 && tasks->by_tid[low - 1]->tid == tid; low--)
		if (tasks->by_tid[low - 1]->start_ns <= time_ns)
			return tasks->by_tid[low - 1];
	return NULL;
}

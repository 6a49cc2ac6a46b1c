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
	if (one->start_ns != other->start_ns)
		return one->start_ns < other->start_ns ? -1 : 1;
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

/* The place behind those of lesser ids, and of its own that began by then. */
static size_t behind(const struct tasks *tasks, uint32_t tid, int64_t time_ns)
{
	size_t low = 0, high = tasks->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct thread *thread = tasks->by_tid[middle];
		if (thread->tid < tid || (thread->tid == tid && thread->start_ns <= time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct thread *tasks_at(const struct tasks *tasks, uint32_t tid, int64_t time_ns)
{
	size_t place = behind(tasks, tid, time_ns);

	return place && tasks->by_tid[place - 1]->tid == tid ? tasks->by_tid[place - 1] : NULL;
}

const struct thread *tasks_near(const struct tasks *tasks, uint32_t tid, int64_t time_ns)
{
	size_t place = behind(tasks, tid, time_ns);

	if (place && tasks->by_tid[place - 1]->tid == tid)
		return tasks->by_tid[place - 1];
	return place < tasks->count && tasks->by_tid[place]->tid == tid ? tasks->by_tid[place] : NULL;
}

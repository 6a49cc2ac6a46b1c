/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of thread_delay by task. See task_delays.h. */
#include "reducer/tables/task_delays.h"

#include "reducer/base/base.h"

#include <stdlib.h>

static int by_task(const void *a, const void *b)
{
	const struct task_delay *one = a, *other = b;

	if (one->task != other->task)
		return one->task < other->task ? -1 : 1;
	return (one->at > other->at) - (one->at < other->at);
}

struct task_delays task_delays_find(const struct process *process)
{
	const struct use_rows *use = &process->use;
	struct task_delays delays = {base_alloc(use->count + 1, sizeof(*delays.items)), 0};

	for (size_t i = 0; i < use->count; i++) {
		const struct use_sample *sample = &use->samples[i];
		struct task_delay *delay = &delays.items[delays.count];
		*delay = (struct task_delay){.task = sample->subject, .at = i, .time_ns = sample->time_ns};
		delays.count += sample->of == USE_OF_TASK && use_value(use, sample, USE_thread_delay, &delay->value);
	}
	if (delays.count)
		qsort(delays.items, delays.count, sizeof(*delays.items), by_task);
	return delays;
}

static bool is_before(const void *delays, size_t i, uint64_t task)
{
	return ((const struct task_delays *)delays)->items[i].task < task;
}

size_t task_delays_of(const struct task_delays *delays, uint32_t task, size_t *end)
{
	*end = base_count_before(delays, delays->count, (uint64_t)task + 1, is_before);
	return base_count_before(delays, delays->count, task, is_before);
}

void task_delays_free(struct task_delays *delays)
{
	free(delays->items);
	*delays = (struct task_delays){0};
}

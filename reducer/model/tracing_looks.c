/* SPDX-License-Identifier: Apache-2.0 */
/* Stretches in which a compiler ran, from looks at Python code. See tracing_looks.h. */
#include "reducer/model/tracing_looks.h"

#include "reducer/model/internal.h"

#include <stdlib.h>

static int order(uint32_t thread, uint32_t other_thread, int64_t time, int64_t other_time)
{
	if (thread != other_thread)
		return thread < other_thread ? -1 : 1;
	return (time > other_time) - (time < other_time);
}

static int compare_looks(const void *a, const void *b)
{
	const struct tracing_look *one = a, *other = b;

	return order(one->thread, other->thread, one->time, other->time);
}

static int compare_moments(const void *a, const void *b)
{
	const struct python_moment *one = a, *other = b;

	return order(one->thread, other->thread, one->time, other->time);
}

static int compare_begins(const void *a, const void *b)
{
	const struct python_tracing *one = a, *other = b;

	return order(one->thread, other->thread, one->from_ns, other->from_ns);
}

static int compare_ends(const void *a, const void *b)
{
	const struct python_tracing *one = a, *other = b;

	return order(0, 0, one->to_ns, other->to_ns);
}

/* The first of these moments, from *at on, that is not before the look; they are as the looks have them. */
static int is_contradicted(const struct python_moment *against, size_t count, size_t *at, const struct tracing_look *look,
			   const struct tracing_look *next)
{
	while (*at < count && order(against[*at].thread, look->thread, against[*at].time, look->time) < 0)
		++*at;
	return *at < count && against[*at].thread == look->thread && against[*at].time <= next->time;
}

static int add(struct python_rows *rows, struct python_tracing tracing)
{
	struct python_tracing *tracings = model_room(rows->tracings, rows->tracing_count, sizeof *tracings);

	if (tracings == NULL)
		return 0;
	rows->tracings = tracings;
	tracings[rows->tracing_count++] = tracing;
	return 1;
}

/* Of one thread what overlaps is one stretch; of two compilers at once the one that began first counts. */
static void join(struct python_rows *rows)
{
	struct python_tracing *all = rows->tracings;
	size_t kept = 0;

	qsort(all, rows->tracing_count, sizeof *all, compare_begins);
	for (size_t i = 1; i < rows->tracing_count; i++) {
		struct python_tracing *last = &all[kept], next = all[i];
		if (next.thread == last->thread && next.from_ns <= last->to_ns) {
			if (next.tracer == last->tracer && next.to_ns > last->to_ns)
				last->to_ns = next.to_ns;
			last->stacks += next.tracer == last->tracer ? next.stacks : 0;
			next.from_ns = last->to_ns;
			if (next.to_ns <= next.from_ns)
				continue;
		}
		all[++kept] = next;
	}
	rows->tracing_count = kept + 1;
	qsort(all, rows->tracing_count, sizeof *all, compare_ends);
}

void tracing_add_looks(struct python_rows *rows, struct tracing_look *looks, size_t look_count, struct python_moment *against,
		       size_t against_count, int64_t apart)
{
	size_t at = 0;

	if (look_count == 0)
		return;
	qsort(looks, look_count, sizeof *looks, compare_looks);
	if (against_count != 0)
		qsort(against, against_count, sizeof *against, compare_moments);
	for (size_t i = 0, end; i < look_count; i = end) {
		for (end = i + 1; end < look_count && looks[i].tracer != TRACER_NONE; end++)
			if (looks[end].thread != looks[i].thread || looks[end].tracer != looks[i].tracer ||
			    looks[end].time - looks[end - 1].time > apart ||
			    is_contradicted(against, against_count, &at, &looks[end - 1], &looks[end]))
				break;
		if (end - i > 1 && looks[end - 1].time > looks[i].time &&
		    !add(rows, (struct python_tracing){.from_ns = looks[i].time,
						       .to_ns = looks[end - 1].time,
						       .thread = looks[i].thread,
						       .stacks = (uint32_t)(end - i),
						       .tracer = looks[i].tracer}))
			break;
	}
	if (rows->tracing_count != 0)
		join(rows);
}

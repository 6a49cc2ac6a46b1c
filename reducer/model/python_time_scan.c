/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where Python code was when it was looked at. See scan.h.
 *
 * Rule: of a long run one look stands for several (look_thin.h). Wall and processor time are drawn apart: a wait stands for much of one
 * and none of the other.
 */
#include "reducer/model/look_thin.h"
#include "reducer/model/scan.h"

#include <stdlib.h>

struct python_time {
	struct scan *scan;
	struct look_thin thin;
};

static uint64_t key_of(const void *look)
{
	return ((const struct python_look *)look)->thread;
}

static uint32_t count_of(const void *look)
{
	return ((const struct python_look *)look)->count;
}

/* One of two looks, which stands for the time of both. */
static void join(struct look_thin *thin, void *look, const void *next)
{
	const struct python_look a = *(const struct python_look *)look, b = *(const struct python_look *)next;
	struct python_look drawn = look_thin_is_first(thin, a.wall_ns, b.wall_ns) ? a : b;
	const struct python_look *ran = look_thin_is_first(thin, a.cpu_ns, b.cpu_ns) ? &a : &b;

	drawn.wall_ns = a.wall_ns + b.wall_ns;
	drawn.cpu_ns = a.cpu_ns + b.cpu_ns;
	drawn.cpu_stack = ran->cpu_stack;
	drawn.cpu_time_ns = ran->cpu_time_ns;
	drawn.count = a.count + b.count;
	*(struct python_look *)look = drawn;
}

static const struct look_thin_kind thinned = {sizeof(struct python_look), PYTHON_LOOKS_MOST, key_of, count_of, join};

/* Of a record whose fields thread, stack, wall, cpu, collecting stand first in `fields`. */
static struct python_look look_of(const struct batch *batch, size_t i, const int *fields, uint64_t time)
{
	return (struct python_look){.time_ns = (int64_t)time,
				    .thread = (uint32_t)batch_value(batch, i, fields[0]),
				    .count = 1,
				    .is_collecting = batch_value(batch, i, fields[4]) == 1,
				    .stack = (uint32_t)batch_value(batch, i, fields[1]),
				    .wall_ns = batch_value(batch, i, fields[2]),
				    .cpu_ns = batch_value(batch, i, fields[3]),
				    .cpu_stack = (uint32_t)batch_value(batch, i, fields[1]),
				    .cpu_time_ns = (int64_t)time};
}

static void take_look(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct python_time *taken = state;
	struct python_rows *rows = &taken->scan->process->python;
	struct python_look *looks;

	(void)stream;
	rows->look_count = look_thin(&taken->thin, rows->looks, rows->look_count);
	looks = model_room(rows->looks, rows->look_count, sizeof *looks);
	if (looks == NULL)
		return;
	rows->looks = looks;
	rows->knows_collecting |= fields[4] >= 0 && batch_value(batch, i, fields[4]) < 2;
	looks[rows->look_count++] = look_of(batch, i, fields, batch->times[i]);
}

/* Of a slow step, told behind it. */
static void take_held(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct python_time *taken = state;
	struct python_rows *rows = &taken->scan->process->python;
	uint64_t before = batch_value(batch, i, fields[5]);
	struct python_look *held;

	(void)stream;
	held = rows->held_count < PYTHON_LOOKS_MOST ? model_room(rows->held, rows->held_count, sizeof *held) : NULL;
	if (held == NULL) {
		rows->held_beyond++;
		return;
	}
	rows->held = held;
	held[rows->held_count++] = look_of(batch, i, fields, before <= batch->times[i] ? batch->times[i] - before : 0);
}

static const struct scan_record records[] = {
	{"python_time", take_look, NULL, {"thread", "stack", "wall", "cpu", "collecting"}},
	{"python_held", take_held, NULL, {"thread", "stack", "wall", "cpu", "collecting", "before"}},
};

static void *begin(struct scan *scan)
{
	struct python_time *taken = calloc(1, sizeof *taken);

	if (taken != NULL)
		*taken = (struct python_time){scan, look_thin_make(&thinned, scan->process->log_id)};
	return taken;
}

static void time_looks(struct process *process, struct python_look *looks, size_t count)
{
	double ns_per_tick = process_rate(process);

	for (size_t i = 0; i < count; i++) {
		struct python_look *look = &looks[i];
		look->time_ns = process_ns(process, (uint64_t)look->time_ns);
		look->cpu_time_ns = process_ns(process, (uint64_t)look->cpu_time_ns);
		look->wall_ns = (uint64_t)((double)look->wall_ns * ns_per_tick + 0.5);
	}
}

int python_look_compare(const void *a, const void *b)
{
	const struct python_look *one = a, *other = b;

	if (one->thread != other->thread)
		return one->thread > other->thread ? 1 : -1;
	return one->time_ns > other->time_ns ? 1 : -(one->time_ns < other->time_ns);
}

static void times(struct process *process)
{
	time_looks(process, process->python.looks, process->python.look_count);
	time_looks(process, process->python.held, process->python.held_count);
	if (process->python.held_count)
		qsort(process->python.held, process->python.held_count, sizeof *process->python.held, python_look_compare);
}

const struct scan_subject python_time_subject = {
	.records = records,
	.record_count = sizeof records / sizeof *records,
	.begin = begin,
	.free = free,
	.times = times,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where Python code was when it was looked at. See scan.h.
 *
 * Rule: memory follows the number of threads alone. Where there are more than PYTHON_LOOKS_MOST looks, of several of a thread that follow
 * each other one is drawn, by the time that each stands for, and stands for all: sums stay exact, and what is where stays unbiased. Of
 * as many everywhere: the first hours of a run are known as well as the last. Wall and processor time are drawn apart: a wait stands for
 * much of one and none of the other.
 */
#include "reducer/model/number_map.h"
#include "reducer/model/scan.h"

#include <stdlib.h>

struct python_time {
	struct scan *scan;
	uint64_t random;
	uint64_t each; /* looks that one stands for, but for what came since they were thinned */
	size_t most;   /* looks to come before they are thinned again */
};

static bool is_first(struct python_time *taken, uint64_t first, uint64_t second)
{
	taken->random = taken->random * UINT64_C(6364136223846793005) + 1442695040888963407;
	return first + second != 0 && (taken->random >> 11) % (first + second) < first;
}

/* One of two looks, which stands for the time of both. */
static struct python_look either(struct python_time *taken, const struct python_look *a, const struct python_look *b)
{
	struct python_look drawn = is_first(taken, a->wall_ns, b->wall_ns) ? *a : *b;
	const struct python_look *ran = is_first(taken, a->cpu_ns, b->cpu_ns) ? a : b;

	drawn.wall_ns = a->wall_ns + b->wall_ns;
	drawn.cpu_ns = a->cpu_ns + b->cpu_ns;
	drawn.cpu_stack = ran->cpu_stack;
	drawn.cpu_time_ns = ran->cpu_time_ns;
	drawn.count = a->count + b->count;
	return drawn;
}

/* Each thread's looks that stand for fewer become one, in place, until it stands for as many. Without memory for the map they stay. */
static void merge(struct python_time *taken, struct python_rows *rows)
{
	struct number_map open = {0}; /* by thread: the place of one that stands for fewer, + 1; 0 = none */
	size_t kept = 0;

	for (size_t i = 0; i < rows->look_count; i++) {
		struct python_look look = rows->looks[i];
		uint32_t place = number_map_find(&open, 1, look.thread);
		if (place != NUMBER_MAP_NONE && place != 0) {
			rows->looks[place - 1] = either(taken, &rows->looks[place - 1], &look);
		} else {
			rows->looks[kept++] = look;
			place = (uint32_t)kept;
		}
		number_map_set(&open, 1, look.thread, rows->looks[place - 1].count < taken->each ? place : 0);
	}
	number_map_free(&open);
	rows->look_count = kept;
}

/* What came since becomes like what was there; where that is not few enough all of it stands for twice as many. */
static void thin(struct python_time *taken, struct python_rows *rows)
{
	size_t before = SIZE_MAX;

	merge(taken, rows);
	while (rows->look_count > PYTHON_LOOKS_MOST / 2 && rows->look_count < before) {
		before = rows->look_count;
		taken->each *= 2;
		merge(taken, rows);
	}
	/* Of many threads each has one look at least. */
	taken->most = rows->look_count > PYTHON_LOOKS_MOST / 2 ? 2 * rows->look_count : PYTHON_LOOKS_MOST;
}

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
	if (rows->look_count == taken->most)
		thin(taken, rows);
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
		*taken = (struct python_time){
			.scan = scan, .random = scan->process->log_id, .each = 1, .most = PYTHON_LOOKS_MOST};
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

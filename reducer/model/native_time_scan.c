/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where native code was when it was looked at. See scan.h.
 *
 * Rule: of a long run one look stands for several (look_thin.h), of those that ran and those that waited apart. What a look says of a
 * time before its process is not believed.
 */
#include "reducer/model/look_thin.h"
#include "reducer/model/scan.h"

#include <stdlib.h>

enum { THREAD, STACK, CPU, WALL, BEFORE, CALL };

struct native_time {
	struct scan *scan;
	struct look_thin thin;
};

static uint64_t key_of(const void *of)
{
	const struct native_look *look = of;

	return (uint64_t)look->thread << 1 | look->is_wait;
}

static uint32_t count_of(const void *look)
{
	return ((const struct native_look *)look)->count;
}

static void join(struct look_thin *thin, void *of, const void *next)
{
	const struct native_look a = *(const struct native_look *)of, b = *(const struct native_look *)next;
	struct native_look *look = of;

	*look = look_thin_is_first(thin, a.amount_ns, b.amount_ns) ? a : b;
	look->amount_ns = a.amount_ns + b.amount_ns;
	look->count = a.count + b.count;
}

static const struct look_thin_kind thinned = {sizeof(struct native_look), NATIVE_LOOKS_MOST, key_of, count_of, join};

static void add(struct native_time *taken, const struct native_look *look)
{
	struct native_rows *rows = &taken->scan->process->native;
	struct native_look *looks;

	rows->look_count = look_thin(&taken->thin, rows->looks, rows->look_count);
	looks = model_room(rows->looks, rows->look_count, sizeof *looks);
	if (looks == NULL)
		return;
	rows->looks = looks;
	looks[rows->look_count++] = *look;
}

static void take(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	uint64_t before = batch_value(batch, i, fields[BEFORE]), cpu = batch_value(batch, i, fields[CPU]);
	uint64_t moment = before <= batch->times[i] ? batch->times[i] - before : 0, wall = batch_value(batch, i, fields[WALL]);
	struct native_look look = {.time_ns = (int64_t)moment,
				   .amount_ns = cpu,
				   .thread = (uint32_t)batch_value(batch, i, fields[THREAD]),
				   .stack = (uint32_t)batch_value(batch, i, fields[STACK]),
				   .count = 1,
				   .call = NATIVE_NO_CALL};

	(void)stream;
	if (cpu)
		add(state, &look);
	look.is_wait = true;
	look.amount_ns = wall < moment ? wall : moment;
	look.call = (uint16_t)batch_value(batch, i, fields[CALL]);
	if (wall)
		add(state, &look);
}

static const struct scan_record records[] = {
	{"native_time", take, NULL, {[THREAD] = "thread", "stack", "cpu", "wall", "before", "call"}},
};

static void *begin(struct scan *scan)
{
	struct native_time *taken = calloc(1, sizeof *taken);

	if (taken != NULL)
		*taken = (struct native_time){scan, look_thin_make(&thinned, scan->process->log_id)};
	return taken;
}

static void times(struct process *process)
{
	double ns_per_tick = process_rate(process);

	for (size_t i = 0; i < process->native.look_count; i++) {
		struct native_look *look = &process->native.looks[i];
		uint64_t ticks = (uint64_t)look->time_ns, most = (uint64_t)((double)ticks * ns_per_tick + 0.5);
		look->time_ns = process_ns(process, ticks);
		if (look->is_wait)
			look->amount_ns = (uint64_t)((double)look->amount_ns * ns_per_tick + 0.5);
		else if (look->count == 1 && look->amount_ns > most)
			look->amount_ns = most;
	}
}

static void close_process(struct process *process)
{
	free(process->native.looks);
}

const struct scan_subject native_time_subject = {
	.records = records,
	.record_count = sizeof records / sizeof *records,
	.begin = begin,
	.free = free,
	.times = times,
	.close = close_process,
};

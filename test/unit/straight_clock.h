/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: a process whose clock's ticks, and whose devices' times, are ns of the run. */
#ifndef TEST_UNIT_STRAIGHT_CLOCK_H
#define TEST_UNIT_STRAIGHT_CLOCK_H

#include "reducer/model/clock.h"
#include "reducer/model/gpu.h"
#include "reducer/model/gpu_clock.h"
#include "reducer/model/run.h"

struct straight_clock {
	struct log log;
	struct clock_map map;
	struct gpu_knot knot;
	struct gpu_clock device;
};

/* `clock`, zeroed or set before, must outlive the process; `gpu` may be NULL. clock_free(&clock->map) after the last time. */
static inline void straight_clock_set(struct straight_clock *clock, struct process *process, struct gpu *gpu)
{
	clock_free(&clock->map);
	*clock = (struct straight_clock){.map.ns_per_tick = 1, .knot.slope = 1};
	clock_add(&clock->map, 0, 0);
	clock_add(&clock->map, UINT64_C(1) << 40, UINT64_C(1) << 40);
	clock_settle(&clock->map);
	clock->device = (struct gpu_clock){.process = process, .knots = &clock->knot, .count = 1, .room = 1, .ns_per_tick = 1, .tail = 1};
	process->log = &clock->log;
	process->clock = &clock->map;
	if (gpu)
		gpu->clock = &clock->device;
}

#endif

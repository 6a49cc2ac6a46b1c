/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device times (CUPTI's clock) against the ticks of the log. Private to the model.
 *
 * Rule: piecewise linear through readings, never one line through all: CLOCK_REALTIME is stepped and slewed. Every answer
 * has an error: the width of the readings, a step that lies between two of them, the drift since the last one.
 */
#ifndef REDUCER_MODEL_GPU_CLOCK_H
#define REDUCER_MODEL_GPU_CLOCK_H

#include <stddef.h>
#include <stdint.h>

struct process;

struct gpu_knot {
	uint64_t ticks;    /* since the log's origin */
	uint64_t ns;       /* device time */
	uint32_t error;    /* ns, of the reading and of a step between it and the one before */
	double slope;      /* ns a tick from here to the next; of the last one the clock's tail counts */
};

struct gpu_clock {
	const struct process *process;
	struct gpu_knot *knots; /* by ticks */
	size_t count, room;
	double ns_per_tick;     /* mean, until two readings say better */
	double tail;            /* ns a tick behind the last knot */
	double drift;           /* relative: how far the slopes seen so far differ from the mean */
	int is_own;             /* CUPTI's clock is not CLOCK_REALTIME: only gpu_clock records count */
	int has_reading;        /* CUPTI's clock was read at least once */
};

/* `ns_per_tick` must not be 0. The origin (ticks 0) is the first reading of CLOCK_REALTIME. Returns -1 without memory. */
int gpu_clock_begin(struct gpu_clock *clock, const struct process *process);
void gpu_clock_free(struct gpu_clock *clock);

/* A clock record: CLOCK_REALTIME at `ticks` (since the origin). */
void gpu_clock_realtime(struct gpu_clock *clock, uint64_t ticks, uint64_t ns, uint64_t width_ticks);

/* A gpu_clock record: CUPTI's clock itself. */
void gpu_clock_reading(struct gpu_clock *clock, uint64_t ticks, uint64_t ns, uint64_t width_ticks);

/* The part of gpu_clock_ns for times before the last reading, and for what no 64 bits hold. */
uint64_t gpu_clock_ns_far(const struct gpu_clock *clock, uint64_t ticks, uint64_t *error);

/*
 * Device time at `ticks`. *error receives ns, may be NULL. While a log is read most questions are about what follows the last
 * reading.
 */
static inline uint64_t gpu_clock_ns(const struct gpu_clock *clock, uint64_t ticks, uint64_t *error)
{
	const struct gpu_knot *last = &clock->knots[clock->count - 1];
	double away;

	if (ticks < last->ticks)
		return gpu_clock_ns_far(clock, ticks, error);
	away = (double)(int64_t)(ticks - last->ticks) * clock->tail;
	if (!(away >= 0 && away < 9e15))
		return gpu_clock_ns_far(clock, ticks, error);
	if (error != NULL)
		*error = last->error + (uint64_t)(away * clock->drift);
	return last->ns + (uint64_t)(int64_t)away;
}

/* The other way round (0 for times before the log). */
uint64_t gpu_clock_ticks(const struct gpu_clock *clock, uint64_t ns, uint64_t *error);

/* The stretch between two knots in which one asked last, as clock_near: once the clock has all its knots. Start from {0}. */
struct gpu_clock_near {
	uint64_t from, length; /* ns of the device */
	uint64_t ticks;	       /* at `from` */
	double slope;	       /* ns a tick */
	int has_looked, is_wild; /* is_wild: device times run backwards somewhere, nothing is kept */
};

/* The piece of the clock around `ns`, kept in `near` for the next call; length 0 where none may be kept. */
void gpu_clock_near_find(const struct gpu_clock *clock, struct gpu_clock_near *near, uint64_t ns);

/* The same as gpu_clock_ticks. */
static inline uint64_t gpu_clock_ticks_near(const struct gpu_clock *clock, struct gpu_clock_near *near, uint64_t ns)
{
	if (ns - near->from >= near->length)
		gpu_clock_near_find(clock, near, ns);
	if (near->length == 0)
		return gpu_clock_ticks(clock, ns, NULL);
	return near->ticks + (uint64_t)(int64_t)((double)(int64_t)(ns - near->from) / near->slope);
}

/* The stretch between two readings in which one asked last for device times, once the clock has all its knots. Start from {0}. */
struct gpu_clock_stretch {
	uint64_t from, length; /* ticks */
	uint64_t ns, error;    /* device time at `from`; ns, the same all through the stretch */
	double slope;	       /* ns a tick */
};

/* Makes `stretch` that around `ticks`; length 0 before the first knot and behind the last, where gpu_clock_ns must be asked. */
void gpu_clock_stretch_find(const struct gpu_clock *clock, struct gpu_clock_stretch *stretch, uint64_t ticks);

/* The same as gpu_clock_ns. */
static inline uint64_t gpu_clock_ns_near(const struct gpu_clock *clock, struct gpu_clock_stretch *stretch, uint64_t ticks, uint64_t *error)
{
	if (ticks - stretch->from >= stretch->length)
		gpu_clock_stretch_find(clock, stretch, ticks);
	if (stretch->length == 0)
		return gpu_clock_ns(clock, ticks, error);
	*error = stretch->error;
	return stretch->ns + (uint64_t)(int64_t)((double)(int64_t)(ticks - stretch->from) * stretch->slope);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Device times and ticks. See gpu_clock.h. */
#include "reducer/model/gpu_clock.h"

#include "reducer/model/clock.h"
#include "reducer/model/run.h"

#include <stdlib.h>

#define KNOTS_MAX (1u << 18)      /* three days of one a second; of longer ones half, a quarter, ... stay */
#define APART_NS 10000000.0       /* closer readings say nothing about the slope */
#define SAME_CLOCK_NS 1000000     /* CUPTI's clock is CLOCK_REALTIME when it lies no further off */
#define DRIFT_LEAST 2e-5          /* relative: 20 us a second, what a free oscillator does */
#define DRIFT_MOST 6e-4           /* the kernel slews by at most 5e-4; beyond that it was a step */
#define NEAR_MOST (UINT64_C(1) << 50) /* ns behind the last knot: 13 days */

int gpu_clock_begin(struct gpu_clock *clock, const struct process *process)
{
	const struct tfp_file_header *header = &process->log->header;

	*clock = (struct gpu_clock){.process = process, .ns_per_tick = process->clock->ns_per_tick, .drift = DRIFT_LEAST};
	if (!(clock->ns_per_tick > 0))
		clock->ns_per_tick = 1;
	clock->knots = calloc(16, sizeof *clock->knots);
	if (clock->knots == NULL)
		return -1;
	clock->room = 16;
	clock->knots[0] = (struct gpu_knot){.ticks = 0, .ns = header->origin.realtime_ns};
	clock->count = 1;
	clock->tail = clock->ns_per_tick;
	return 0;
}

void gpu_clock_free(struct gpu_clock *clock)
{
	free(clock->knots);
	*clock = (struct gpu_clock){0};
}

static double slope_from(const struct gpu_clock *clock, size_t at);

static double distance(double a)
{
	return a < 0 ? -a : a;
}

/* How far the clock went off the mean between two readings, and what that means. */
static uint32_t between(struct gpu_clock *clock, const struct gpu_knot *last, uint64_t ticks, uint64_t ns)
{
	double passed = (double)(ticks - last->ticks) * clock->ns_per_tick;
	double off = distance((double)(int64_t)(ns - last->ns) - passed), drift = passed > 0 ? off / passed : 0;

	if (drift > DRIFT_MOST && passed > APART_NS)
		return off < 4e9 ? (uint32_t)off : UINT32_MAX;
	if (drift > clock->drift && passed > 50 * APART_NS)
		clock->drift = drift;
	return 0;
}

/* Every other one, and the last: a step that lies between two that stay is an error of both. */
static void thin(struct gpu_clock *clock)
{
	struct gpu_knot *knots = clock->knots;
	size_t kept = 1;

	for (size_t i = 2; i < clock->count; i += i + 2 == clock->count ? 1 : 2) {
		uint32_t error = knots[i - 1].error > knots[i].error ? knots[i - 1].error : knots[i].error;

		knots[kept] = knots[i];
		knots[kept++].error = error;
	}
	clock->count = kept;
	for (size_t i = 0; i + 1 < kept; i++)
		knots[i].slope = slope_from(clock, i);
}

static int make_room(struct gpu_clock *clock)
{
	struct gpu_knot *knots;

	if (clock->count < clock->room)
		return 0;
	if (clock->room >= KNOTS_MAX) {
		thin(clock);
		return 0;
	}
	knots = realloc(clock->knots, clock->room * 2 * sizeof *knots);
	if (knots == NULL)
		return -1;
	clock->knots = knots;
	clock->room *= 2;
	return 0;
}

static void add(struct gpu_clock *clock, uint64_t ticks, uint64_t ns, uint64_t width_ticks)
{
	struct gpu_knot *last = &clock->knots[clock->count - 1];
	double width = (double)width_ticks * clock->ns_per_tick / 2;
	uint32_t error = width < 1e9 ? (uint32_t)width : 1000000000u;

	if (clock->count > 0 && ticks <= last->ticks)
		return;
	if (clock->count > 1 && (double)(ticks - last->ticks) * clock->ns_per_tick < APART_NS &&
	    distance((double)(int64_t)(ns - last->ns) - (double)(ticks - last->ticks) * clock->ns_per_tick) < 1000)
		return;
	if (make_room(clock) != 0)
		return;
	last = &clock->knots[clock->count - 1];
	if (clock->count > 0) {
		uint32_t step = between(clock, last, ticks, ns);

		error = step > UINT32_MAX - error ? UINT32_MAX : error + step;
	}
	clock->knots[clock->count++] = (struct gpu_knot){.ticks = ticks, .ns = ns, .error = error};
	if (clock->count > 1)
		clock->knots[clock->count - 2].slope = slope_from(clock, clock->count - 2);
	clock->tail = slope_from(clock, clock->count - 1);
}

void gpu_clock_realtime(struct gpu_clock *clock, uint64_t ticks, uint64_t ns, uint64_t width_ticks)
{
	if (!clock->is_own && ns != 0)
		add(clock, ticks, ns, width_ticks);
}

void gpu_clock_reading(struct gpu_clock *clock, uint64_t ticks, uint64_t ns, uint64_t width_ticks)
{
	uint64_t error;
	int64_t off = (int64_t)(ns - gpu_clock_ns(clock, ticks, &error));

	if (ns == 0)
		return;
	if (!clock->has_reading && (off > SAME_CLOCK_NS + (int64_t)error || off < -SAME_CLOCK_NS - (int64_t)error)) {
		clock->is_own = 1;
		clock->count = 0;
		clock->tail = clock->ns_per_tick;
	}
	clock->has_reading = 1;
	if (clock->count == 0)
		clock->knots[clock->count++] = (struct gpu_knot){.ticks = ticks, .ns = ns};
	else
		add(clock, ticks, ns, width_ticks);
}

static uint64_t key_of(const struct gpu_clock *clock, size_t at, int is_ns)
{
	return is_ns ? clock->knots[at].ns : clock->knots[at].ticks;
}

/*
 * Index of the last knot whose key is not above; 0 before the first. While the log is read for the first time most questions are
 * about the last stretch; later a guess is often right, because knots are about equally far apart.
 */
static size_t segment(const struct gpu_clock *clock, uint64_t key, int is_ns)
{
	size_t low = 0, high = clock->count, guess = 0;
	uint64_t first = key_of(clock, 0, is_ns), last = key_of(clock, high - 1, is_ns);

	if (clock->count > 1 && last <= key)
		return clock->count - 1;
	if (high > 1 && key > first)
		guess = (size_t)((double)(key - first) / (double)(last - first) * (double)(high - 1));
	if (guess > 0 && guess + 1 < high && key_of(clock, guess, is_ns) <= key && key < key_of(clock, guess + 1, is_ns))
		return guess;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (key_of(clock, middle, is_ns) <= key)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* ns a tick from a knot on. */
static double slope_from(const struct gpu_clock *clock, size_t at)
{
	const struct gpu_knot *knots = clock->knots;

	if (at + 1 >= clock->count && at > 0 && knots[at].error < 1000000)
		at--; /* behind the last: as it went before */
	if (at + 1 >= clock->count || knots[at + 1].ticks <= knots[at].ticks || knots[at + 1].ns <= knots[at].ns)
		return clock->ns_per_tick;
	if ((double)(knots[at + 1].ticks - knots[at].ticks) * clock->ns_per_tick < APART_NS)
		return clock->ns_per_tick;
	return (double)(knots[at + 1].ns - knots[at].ns) / (double)(knots[at + 1].ticks - knots[at].ticks);
}

static double slope(const struct gpu_clock *clock, size_t at)
{
	return at + 1 >= clock->count ? clock->tail : clock->knots[at].slope;
}

static void tell_error(const struct gpu_clock *clock, size_t at, double away_ns, uint64_t *error)
{
	double beyond = at + 1 >= clock->count || away_ns < 0 ? distance(away_ns) * clock->drift : 0;

	if (error == NULL)
		return;
	*error = clock->knots[at].error;
	if (at + 1 < clock->count)
		*error = clock->knots[at + 1].error > *error ? clock->knots[at + 1].error : *error;
	*error += beyond < 9e18 ? (uint64_t)beyond : UINT64_C(9000000000000000000);
}

uint64_t gpu_clock_ns_far(const struct gpu_clock *clock, uint64_t ticks, uint64_t *error)
{
	size_t at = segment(clock, ticks, 0);
	const struct gpu_knot *knot = &clock->knots[at];
	double away = (double)(int64_t)(ticks - knot->ticks) * slope(clock, at);

	tell_error(clock, at, away, error);
	return away < 0 && -away > (double)knot->ns ? 0 : knot->ns + (uint64_t)(int64_t)away;
}

uint64_t gpu_clock_ticks(const struct gpu_clock *clock, uint64_t ns, uint64_t *error)
{
	size_t at = segment(clock, ns, 1);
	const struct gpu_knot *knot = &clock->knots[at];
	double away_ns = (double)(int64_t)(ns - knot->ns), away = away_ns / slope(clock, at);

	tell_error(clock, at, away_ns, error);
	if (away > 9e18)
		away = 9e18;
	return away < 0 && -away > (double)knot->ticks ? 0 : knot->ticks + (uint64_t)(int64_t)away;
}

/* Between knots whose device times rise one by one there is one stretch for each time. */
static int is_rising(const struct gpu_clock *clock)
{
	for (size_t i = 1; i < clock->count; i++)
		if (clock->knots[i].ns <= clock->knots[i - 1].ns)
			return 0;
	return clock->count > 0;
}

void gpu_clock_near_find(const struct gpu_clock *clock, struct gpu_clock_near *near, uint64_t ns)
{
	size_t at;

	near->length = 0;
	if (!near->has_looked)
		near->is_wild = !is_rising(clock);
	near->has_looked = 1;
	if (near->is_wild || ns < clock->knots[0].ns)
		return;
	at = segment(clock, ns, 1);
	near->from = clock->knots[at].ns;
	near->ticks = clock->knots[at].ticks;
	near->slope = slope(clock, at);
	near->length = at + 1 < clock->count ? clock->knots[at + 1].ns - near->from : NEAR_MOST;
	if (near->length > NEAR_MOST || ns - near->from >= near->length || !(near->slope > 1e-3))
		near->length = 0; /* gpu_clock_ticks keeps what is too large within bounds */
}

void gpu_clock_stretch_find(const struct gpu_clock *clock, struct gpu_clock_stretch *stretch, uint64_t ticks)
{
	const struct gpu_knot *last = &clock->knots[clock->count - 1], *knot;

	*stretch = (struct gpu_clock_stretch){0};
	if (ticks < clock->knots[0].ticks || ticks >= last->ticks)
		return;
	knot = &clock->knots[segment(clock, ticks, 0)];
	*stretch = (struct gpu_clock_stretch){
		.from = knot->ticks, .length = knot[1].ticks - knot->ticks, .ns = knot->ns, .slope = knot->slope};
	tell_error(clock, (size_t)(knot - clock->knots), 0, &stretch->error);
}

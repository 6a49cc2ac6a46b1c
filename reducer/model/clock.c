/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks to nanoseconds. See clock.h. */
#include "reducer/model/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KNOTS_MAX (1u << 20) /* 16 MiB; more readings than one a second for 12 days are thinned first */
#define OTHER_NS 1e9 /* clocks that differ by less count as one: as far apart may two readings of a process be that was stopped between */
#define AHEAD_MOST 2  /* times: a short process knows its rate badly */
#define ASLEEP_NS 3.2e16 /* a year */
#define FIRST_TRIED 4u /* readings in a row that may be wrong where the first one is */
#define NEAR_MOST (UINT64_C(1) << 50) /* ticks behind the last knot: days */

static int by_ticks(const void *a, const void *b)
{
	const struct clock_knot *left = a, *right = b;

	return left->ticks < right->ticks ? -1 : left->ticks > right->ticks;
}

/* May the second reading follow the first? The counter may go on while a machine sleeps, CLOCK_MONOTONIC_RAW never runs ahead of it. */
static int may_follow(const struct clock_map *map, const struct clock_knot *one, const struct clock_knot *next)
{
	double told = (double)next->ns - (double)one->ns, passed;

	if (next->ns < one->ns || next->ticks < one->ticks)
		return 0;
	if (map->clock_hz == 0)
		return 1;
	passed = (double)(next->ticks - one->ticks) / (double)map->clock_hz * 1e9;
	return told <= AHEAD_MOST * passed + OTHER_NS && passed - told <= ASLEEP_NS;
}

/* From that reading on each that may follow the last such: returns how many there are. `keeps`: and leaves those alone. */
static size_t follow(struct clock_map *map, size_t from, int keeps)
{
	struct clock_knot last = map->knots[from];
	size_t count = 1;

	if (keeps)
		map->knots[0] = last;
	for (size_t i = from + 1; i < map->count; i++) {
		if (!may_follow(map, &last, &map->knots[i]))
			continue;
		last = map->knots[i];
		if (keeps)
			map->knots[count] = last;
		count++;
	}
	return count;
}

/* One wrong reading, of a damaged log, must not stand for those behind it: of the first ones that counts which most others follow. */
static void drop_wrong(struct clock_map *map)
{
	size_t best = 0, most = follow(map, 0, 0);

	for (size_t from = 1; from < FIRST_TRIED && from < map->count && most < map->count; from++) {
		size_t count = follow(map, from, 0);
		best = count > most ? from : best;
		most = count > most ? count : most;
	}
	if (most < map->count)
		map->count = follow(map, best, 1);
}

/* Drops readings that are close to the one before, or wrong. The last one wins over one it is too close to. */
static void thin(struct clock_map *map, uint64_t apart)
{
	size_t kept = 0;

	if (map->count < 2)
		return;
	qsort(map->knots, map->count, sizeof *map->knots, by_ticks);
	drop_wrong(map);
	for (size_t i = 1; i < map->count; i++) {
		int is_far = map->knots[i].ns >= map->knots[kept].ns + apart && map->knots[i].ticks > map->knots[kept].ticks;

		if (is_far)
			map->knots[++kept] = map->knots[i];
	}
	map->count = kept + 1;
}

int clock_add(struct clock_map *map, uint64_t ticks, uint64_t raw_ns)
{
	if (map->count == KNOTS_MAX)
		thin(map, CLOCK_APART_NS * UINT64_C(10));
	if (map->count == map->capacity) {
		size_t capacity = map->capacity == 0 ? 16 : map->capacity * 2;
		struct clock_knot *knots = capacity > KNOTS_MAX ? NULL : realloc(map->knots, capacity * sizeof *knots);

		if (knots == NULL)
			return -1;
		map->knots = knots;
		map->capacity = capacity;
	}
	map->knots[map->count++] = (struct clock_knot){ticks, raw_ns};
	return 0;
}

/* What the process measured last wins over its first estimate, unless that word was damaged. */
static uint64_t rate_of(const struct log *log)
{
	uint64_t first = log->header.clock_hz, last = log->live.clock_hz;

	return last != 0 && (first == 0 || (last > first - first / 8 && last < first + first / 8)) ? last : first;
}

int clock_fits(const struct clock_map *map, const struct log *log)
{
	const struct tfp_file_header *header = &log->header;
	double hz = (double)rate_of(log), passed, told;

	if (map->count == 0 || hz == 0 || map->kind == TFP_CLOCK_MONOTONIC)
		return 1;
	passed = (double)(int64_t)(header->origin.ticks - map->knots[0].ticks) / hz * 1e9;
	told = (double)(int64_t)(header->origin.raw_ns - map->knots[0].ns);
	return fabs(told - passed) < OTHER_NS + fabs(passed) / 4; /* a short process knows its rate badly */
}

int clock_add_origin(struct clock_map *map, const struct log *log)
{
	const struct tfp_file_header *header = &log->header;

	if (map->count == 0 || header->origin.ticks < map->first_ticks) {
		map->first_ticks = header->origin.ticks;
		map->first_realtime_ns = header->origin.realtime_ns;
	}
	if (rate_of(log) != 0)
		map->clock_hz = rate_of(log);
	return clock_add(map, header->origin.ticks, header->origin.raw_ns);
}

/* The knot before a time between the first and the last. Knots are about equally far apart: most often a guess is right. */
static size_t knot_before(const struct clock_map *map, uint64_t ticks)
{
	const struct clock_knot *knots = map->knots;
	size_t low = 0, high = map->count - 1;
	size_t guess = (size_t)((double)(ticks - knots[0].ticks) * map->knots_per_tick);

	if (guess < high && knots[guess].ticks <= ticks && ticks < knots[guess + 1].ticks)
		return guess;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (knots[middle].ticks <= ticks)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* ns on the map's own scale, relative to knot 0. */
static double since_first_knot(const struct clock_map *map, uint64_t ticks)
{
	const struct clock_knot *knots = map->knots;
	size_t low, high = map->count - 1;

	if (map->count < 2 || ticks <= knots[0].ticks)
		return (double)(int64_t)(ticks - knots[0].ticks) * map->ns_per_tick;
	if (ticks >= knots[high].ticks)
		return (double)(knots[high].ns - knots[0].ns) + (double)(ticks - knots[high].ticks) * map->ns_per_tick;
	low = knot_before(map, ticks);
	high = low + 1;
	return (double)(knots[low].ns - knots[0].ns) +
	       (double)(ticks - knots[low].ticks) * (double)(knots[high].ns - knots[low].ns) /
		       (double)(knots[high].ticks - knots[low].ticks);
}

/* Two readings far enough apart give the slope; else the process's own estimate; else one tick is one nanosecond. */
void clock_settle(struct clock_map *map)
{
	const struct clock_knot *first, *last;
	struct clock_knot shortest[2] = {{0, 0}, {0, 0}};

	if (map->count == 0)
		return;
	qsort(map->knots, map->count, sizeof *map->knots, by_ticks);
	shortest[0] = map->knots[0];
	shortest[1] = map->knots[map->count - 1];
	thin(map, CLOCK_APART_NS);
	first = &map->knots[0];
	last = &map->knots[map->count - 1];
	if (map->kind == TFP_CLOCK_MONOTONIC)
		map->ns_per_tick = 1;
	else if (last->ns > first->ns && last->ticks > first->ticks)
		map->ns_per_tick = (double)(last->ns - first->ns) / (double)(last->ticks - first->ticks);
	else if (map->clock_hz != 0)
		map->ns_per_tick = 1e9 / (double)map->clock_hz;
	else if (shortest[1].ns > shortest[0].ns && shortest[1].ticks > shortest[0].ticks)
		map->ns_per_tick = (double)(shortest[1].ns - shortest[0].ns) / (double)(shortest[1].ticks - shortest[0].ticks);
	else
		map->ns_per_tick = 1;
	if (map->ns_per_tick < 1e-3 || map->ns_per_tick > 1e3)
		map->ns_per_tick = 1;
	map->knots_per_tick = map->count > 1 ? (double)(map->count - 1) / (double)(last->ticks - first->ticks) : 0;
	map->first_ns = since_first_knot(map, map->first_ticks);
}

int clock_begin_own(struct clock_map *own, const struct clock_map *shared, const struct tfp_file_header *header)
{
	*own = *shared;
	own->knots = NULL;
	own->count = own->capacity = 0;
	own->knots_per_tick = 0;
	own->first_ns = shared->first_ns - since_first_knot(shared, header->origin.ticks);
	return clock_add(own, header->origin.ticks, header->origin.raw_ns);
}

void clock_join(struct clock_map *shared, const struct clock_map *own)
{
	for (size_t i = 1; i < own->count; i++) /* the first is the origin, which is known */
		if (clock_add(shared, own->knots[i].ticks, own->knots[i].ns) != 0)
			return;
}

int64_t clock_ns(const struct clock_map *map, uint64_t ticks)
{
	double ns;

	if (map->count == 0)
		return map->offset_ns;
	ns = since_first_knot(map, ticks) - map->first_ns;
	if (ns > 9e18 || ns < -9e18)
		return ns > 0 ? INT64_MAX / 2 : INT64_MIN / 2;
	return map->offset_ns + (int64_t)(ns + (ns < 0 ? -0.5 : 0.5));
}

void clock_near_find(const struct clock_map *map, struct clock_near *near, uint64_t ticks)
{
	const struct clock_knot *knots = map->knots, *low;
	double most;

	*near = (struct clock_near){0};
	if (map->count == 0 || ticks < knots[0].ticks)
		return;
	low = &knots[ticks >= knots[map->count - 1].ticks ? map->count - 1 : knot_before(map, ticks)];
	near->from = low->ticks;
	near->base = (double)(low->ns - knots[0].ns);
	if (low == &knots[map->count - 1]) {
		near->length = NEAR_MOST;
		near->rise = map->ns_per_tick;
		near->run = 1;
	} else {
		near->length = low[1].ticks - low->ticks;
		near->rise = (double)(low[1].ns - low->ns);
		near->run = (double)(low[1].ticks - low->ticks);
	}
	most = near->base + (double)near->length * near->rise / near->run;
	if (ticks - near->from >= near->length || !(most < 4e18 && map->first_ns < 4e18 && map->first_ns > -4e18))
		near->length = 0; /* clock_ns keeps what is too large within bounds */
}

void clock_free(struct clock_map *map)
{
	free(map->knots);
	memset(map, 0, sizeof *map);
}

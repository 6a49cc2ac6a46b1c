/* SPDX-License-Identifier: Apache-2.0 */
/* Busy time over time. See gpu_lanes.h. */
#include "reducer/model/gpu_lanes.h"

#include "reducer/base/base.h"
#include "reducer/model/gpu.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_WIDTH 10 /* log2: 1024 ns */
#define WIDTH_MAX 53
#define WAITING_ROOM (GPU_SWEEP_WAITING + GPU_SWEEP_WAITING / 2)

/* Doubles the width: pairs of cells become one. The origin stays a multiple of the width. */
static void widen(struct gpu_lane *lane)
{
	uint64_t odd = lane->origin >> lane->width & 1;

	for (uint32_t i = 0; i < GPU_LANE_CELLS / 2 + 1; i++) {
		uint64_t sum = 0;

		for (uint64_t k = 0; k < 2; k++) {
			uint64_t at = 2 * (uint64_t)i + k - odd;

			sum += at < GPU_LANE_CELLS ? lane->cells[at] : 0; /* before the first one `at` wraps */
		}
		/* Cells at or before i are read already: 2i - 1 >= i but for i = 0, where cell 0 is read first. */
		lane->cells[i] = sum;
	}
	memset(lane->cells + GPU_LANE_CELLS / 2 + 1, 0, (GPU_LANE_CELLS / 2 - 1) * sizeof *lane->cells);
	lane->width++;
	lane->origin = lane->origin >> lane->width << lane->width;
}

/* Moves the cells up so that an earlier origin fits. */
static void begin_earlier(struct gpu_lane *lane, uint64_t from)
{
	uint64_t shift;

	while (lane->width < WIDTH_MAX && ((lane->origin - (from >> lane->width << lane->width)) >> lane->width) +
						  ((lane->last - lane->origin) >> lane->width) + 1 >= GPU_LANE_CELLS)
		widen(lane);
	shift = (lane->origin - (from >> lane->width << lane->width)) >> lane->width;
	if (shift >= GPU_LANE_CELLS)
		return;
	memmove(lane->cells + shift, lane->cells, (GPU_LANE_CELLS - shift) * sizeof *lane->cells);
	memset(lane->cells, 0, shift * sizeof *lane->cells);
	lane->origin -= shift << lane->width;
}

static int begin(struct gpu_lane *lane, uint64_t from)
{
	lane->cells = calloc(GPU_LANE_CELLS, sizeof *lane->cells);
	if (lane->cells == NULL) {
		lane->is_cut = 1;
		return -1;
	}
	lane->width = FIRST_WIDTH;
	lane->origin = from >> FIRST_WIDTH << FIRST_WIDTH;
	lane->first = from;
	lane->last = from;
	return 0;
}

void gpu_lane_spread(struct gpu_lane *lane, uint64_t from, uint64_t to)
{
	if (lane->cells == NULL && (lane->is_cut || begin(lane, from) != 0))
		return;
	if (from < lane->origin)
		begin_earlier(lane, from);
	while (lane->width < WIDTH_MAX && to > lane->origin && (to - 1 - lane->origin) >> lane->width >= GPU_LANE_CELLS)
		widen(lane);
	lane->first = from < lane->first ? from : lane->first;
	lane->last = to > lane->last ? to : lane->last;
	lane->busy_ns += to - from;
	lane->intervals++;
	while (from < to) {
		uint64_t at = (from - lane->origin) >> lane->width, next = lane->origin + ((at + 1) << lane->width);
		uint64_t end = to < next ? to : next;

		if (at >= GPU_LANE_CELLS)
			return;
		lane->cells[at] += end - from;
		from = end;
	}
}

void gpu_lane_free(struct gpu_lane *lane)
{
	free(lane->cells);
	lane->cells = NULL;
}

/* What of [start, end) lies behind `*covered`; moves that on. */
static void cover(struct gpu_lane *lane, uint64_t *covered, uint64_t start, uint64_t end)
{
	if (start < *covered)
		start = *covered;
	if (end > start)
		gpu_lane_add(lane, start, end);
	if (end > *covered)
		*covered = end;
}

static uint32_t length_of(const struct gpu_gap *gap)
{
	return gap->end - gap->start < UINT32_MAX ? (uint32_t)(gap->end - gap->start) : UINT32_MAX;
}

/* Those of 4 s and more are taken for equally long. */
static void keep_longest(struct gpu_sweep *sweep)
{
	uint32_t *lengths = sweep->gap_count <= GPU_GAPS_MOST ? NULL : malloc(sweep->gap_count * sizeof *lengths), least;
	size_t equal = GPU_GAPS_MOST, kept = 0;

	if (sweep->gap_count <= GPU_GAPS_MOST)
		return;
	if (lengths == NULL) {
		sweep->gap_count = GPU_GAPS_MOST;
		sweep->is_cut = 1;
		return;
	}
	for (size_t i = 0; i < sweep->gap_count; i++)
		lengths[i] = length_of(&sweep->gaps[i]);
	least = base_at_rank(lengths, sweep->gap_count, sweep->gap_count - GPU_GAPS_MOST);
	for (size_t i = 0; i < sweep->gap_count; i++)
		equal -= lengths[i] > least;
	for (size_t i = 0; i < sweep->gap_count; i++)
		if (lengths[i] > least || (lengths[i] == least && equal != 0)) {
			equal -= lengths[i] == least;
			sweep->gaps[kept++] = sweep->gaps[i];
		}
	sweep->gap_count = kept;
	sweep->gap_least = least;
	free(lengths);
}

static void add_gap(struct gpu_sweep *sweep, uint64_t start, uint64_t end)
{
	struct gpu_gap *wider;

	if (sweep->gap_count == GPU_GAPS_ROOM)
		keep_longest(sweep);
	if (sweep->gap_count == sweep->gap_room) {
		size_t room = sweep->gap_room == 0 ? 256 : 2 * sweep->gap_room;

		wider = realloc(sweep->gaps, room * sizeof *wider);
		if (wider == NULL) {
			sweep->is_cut = 1;
			return;
		}
		sweep->gaps = wider;
		sweep->gap_room = room;
	}
	sweep->gaps[sweep->gap_count++] = (struct gpu_gap){start, end};
}

/* All rested from `start` to `end`. */
static inline void note_gap(struct gpu_sweep *sweep, uint64_t start, uint64_t end)
{
	if (end == start || sweep->busy.cells == NULL)
		return;
	sweep->all_gaps++;
	if (end - start > sweep->gap_least)
		add_gap(sweep, start, end);
}

/* The part of the stream's lane. */
static inline void take_of_stream(struct gpu_sweep *sweep, const struct gpu_interval *interval)
{
	struct gpu_queue *queue = sweep->queues == NULL ? NULL : &(*sweep->queues)[interval->queue];

	if (queue != NULL && !queue->lane.is_cut)
		cover(&queue->lane, &queue->covered, interval->start, interval->end);
}

/* Starts come in order, so what is covered once ends at busy_end and what is covered twice at second_end. */
static void take(struct gpu_sweep *sweep, const struct gpu_interval *interval)
{
	uint64_t twice = interval->end < sweep->busy_end ? interval->end : sweep->busy_end;

	sweep->passed = interval->start;
	take_of_stream(sweep, interval);
	if (interval->start >= sweep->busy_end && interval->end > interval->start) { /* alone: the device was idle before it */
		note_gap(sweep, sweep->busy_end, interval->start);
		gpu_lane_add(&sweep->busy, interval->start, interval->end);
		gpu_lane_add(interval->is_kernel ? &sweep->kernels : &sweep->copies, interval->start, interval->end);
		sweep->busy_end = interval->end;
		*(interval->is_kernel ? &sweep->kernel_end : &sweep->copy_end) = interval->end;
		return;
	}
	cover(&sweep->overlap, &sweep->second_end, interval->start, twice);
	cover(&sweep->busy, &sweep->busy_end, interval->start, interval->end);
	if (interval->is_kernel)
		cover(&sweep->kernels, &sweep->kernel_end, interval->start, interval->end);
	else
		cover(&sweep->copies, &sweep->copy_end, interval->start, interval->end);
}

/* Where the cell ends that `from` lies in; 0 = it lies in none. */
static uint64_t cell_end(const struct gpu_lane *lane, uint64_t from)
{
	uint64_t at = (from - lane->origin) >> lane->width;

	return lane->cells == NULL || at >= GPU_LANE_CELLS ? 0 : lane->origin + ((at + 1) << lane->width);
}

/* Intervals from `from` to `to`, which lie in one cell and `ns` of which are busy. */
static void add_several(struct gpu_lane *lane, uint64_t from, uint64_t to, uint64_t ns, uint64_t count)
{
	gpu_lane_add(lane, from, from + ns);
	lane->last = to > lane->last ? to : lane->last;
	lane->intervals += count - 1;
}

/* Kernels that follow each other within one cell, the device idle before each: taken at once. Returns how many of `count`. */
static size_t take_alone(struct gpu_sweep *sweep, const struct gpu_interval *intervals, size_t count)
{
	uint64_t start = intervals->start, covered = sweep->busy_end, ns = 0, end, end_kernels;
	size_t taken = 0;

	if (!intervals->is_kernel || start < covered)
		return 0;
	end = cell_end(&sweep->busy, start);
	end_kernels = cell_end(&sweep->kernels, start);
	end = end < end_kernels ? end : end_kernels;
	for (; taken < count; taken++) {
		const struct gpu_interval *one = &intervals[taken];

		if (!one->is_kernel || one->start < covered || one->end <= one->start || one->end > end)
			break;
		note_gap(sweep, covered, one->start);
		take_of_stream(sweep, one);
		ns += one->end - one->start;
		covered = one->end;
	}
	if (taken == 0)
		return 0;
	add_several(&sweep->busy, start, covered, ns, taken);
	add_several(&sweep->kernels, start, covered, ns, taken);
	sweep->passed = intervals[taken - 1].start;
	sweep->busy_end = sweep->kernel_end = covered;
	return taken;
}

/* Of intervals in order what lies behind those before. */
static void add_total(struct gpu_sweep *sweep, const struct gpu_interval *intervals, size_t count)
{
	uint64_t covered = sweep->busy_end, ns = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t start = intervals[i].start > covered ? intervals[i].start : covered;

		ns += intervals[i].end > start ? intervals[i].end - start : 0;
		covered = intervals[i].end > covered ? intervals[i].end : covered;
	}
	sweep->busy.busy_ns += ns;
	sweep->busy_end = covered;
}

static void take_first(struct gpu_sweep *sweep, size_t count)
{
	const struct gpu_interval *waiting = sweep->waiting + sweep->waiting_from;

	if (sweep->is_total && count != 0) {
		add_total(sweep, waiting, count);
		sweep->passed = waiting[count - 1].start;
	}
	for (size_t i = 0; i < count && !sweep->is_total;) {
		size_t taken = take_alone(sweep, waiting + i, count - i);

		if (taken == 0)
			take(sweep, &waiting[i]);
		i += taken == 0 ? 1 : taken;
	}
	sweep->waiting_from += count;
	sweep->waiting_count -= count;
	if (sweep->waiting_from + GPU_SWEEP_WAITING <= WAITING_ROOM)
		return;
	memmove(sweep->waiting, sweep->waiting + sweep->waiting_from, sweep->waiting_count * sizeof *sweep->waiting);
	sweep->waiting_from = 0;
}

void gpu_sweep_add_any(struct gpu_sweep *sweep, const struct gpu_interval *interval)
{
	struct gpu_interval *waiting;
	size_t at;

	if (sweep->waiting == NULL && !sweep->is_cut)
		sweep->waiting = calloc(WAITING_ROOM, sizeof *sweep->waiting);
	if (sweep->waiting == NULL) {
		sweep->is_cut = 1;
		return;
	}
	if (interval->start < sweep->passed) {
		sweep->late++;
		if (sweep->is_total) {
			add_total(sweep, interval, 1);
			return;
		}
		take_of_stream(sweep, interval);
		cover(&sweep->busy, &sweep->busy_end, interval->start, interval->end);
		return;
	}
	if (sweep->waiting_count == GPU_SWEEP_WAITING)
		take_first(sweep, GPU_SWEEP_WAITING / 4);
	waiting = sweep->waiting + sweep->waiting_from;
	for (at = sweep->waiting_count; at > 0 && waiting[at - 1].start > interval->start; at--)
		waiting[at] = waiting[at - 1];
	waiting[at] = *interval;
	sweep->waiting_count++;
}

void gpu_sweep_end(struct gpu_sweep *sweep)
{
	if (sweep->waiting != NULL)
		take_first(sweep, sweep->waiting_count);
	free(sweep->waiting);
	sweep->waiting = NULL;
	keep_longest(sweep);
}

void gpu_sweep_free(struct gpu_sweep *sweep)
{
	gpu_lane_free(&sweep->busy);
	gpu_lane_free(&sweep->overlap);
	gpu_lane_free(&sweep->kernels);
	gpu_lane_free(&sweep->copies);
	free(sweep->waiting);
	sweep->waiting = NULL;
	free(sweep->gaps);
	sweep->gaps = NULL;
}

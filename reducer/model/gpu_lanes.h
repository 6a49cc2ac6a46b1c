/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Busy time over time: of a stream, and of a device with all its streams. Private to the model but for reading.
 *
 * Rule: memory is bounded: stretches of equal width, doubled whenever there are too many. Intervals come nearly in order;
 * of one that comes too late
 * for the union of its device or stream only what lies behind the others counts, and `late` says how many there were. Work of one
 * stream may overlap: the nodes of a graph are all told as of the stream that it was launched on.
 */
#ifndef REDUCER_MODEL_GPU_LANES_H
#define REDUCER_MODEL_GPU_LANES_H

#include <stddef.h>
#include <stdint.h>

#define GPU_LANE_CELLS 1024  /* stretches of a lane */
#define GPU_SWEEP_WAITING 16384 /* intervals of a device that wait for earlier ones: 576 KiB */

/* Busy ns by stretch. */
struct gpu_lane {
	uint64_t *cells;   /* NULL = nothing yet */
	uint64_t origin;   /* device time of the first one, a multiple of the width */
	unsigned width;    /* log2 of ns */
	uint32_t used;     /* cells up to the last one that is not 0 */
	uint64_t first, last; /* device times: of the first start, of the last end */
	uint64_t busy_ns, intervals;
	int is_cut;        /* no memory, or there are too many: busy_ns alone is known, if that */
};

/* The rare part of gpu_lane_add: what begins, widens, or lies in several stretches. */
void gpu_lane_spread(struct gpu_lane *lane, uint64_t from, uint64_t to);

/* Adds busy time [from, to) in device time. */
static inline void gpu_lane_add(struct gpu_lane *lane, uint64_t from, uint64_t to)
{
	uint64_t at = (from - lane->origin) >> lane->width; /* what begins before the origin lies far behind the last one */

	if (lane->cells == NULL || to <= from || at >= GPU_LANE_CELLS || (to - 1 - lane->origin) >> lane->width != at) {
		gpu_lane_spread(lane, from, to);
		return;
	}
	lane->first = from < lane->first ? from : lane->first;
	lane->last = to > lane->last ? to : lane->last;
	lane->busy_ns += to - from;
	lane->intervals++;
	lane->cells[at] += to - from;
}

void gpu_lane_free(struct gpu_lane *lane);

struct gpu_interval {
	uint64_t start, end;
	uint32_t queue;	    /* place of the one that has its stream's lane */
	uint32_t is_kernel; /* or a graph; else a copy or set */
};

#define GPU_GAPS_MOST 4096 /* gaps of a device that are kept */
#define GPU_GAPS_ROOM 16384 /* for a while: 256 KiB */

/* From the end of all that ran to the next start, device times. */
struct gpu_gap {
	uint64_t start, end;
};

/* The union of a device's intervals. */
struct gpu_sweep {
	uint32_t device;
	struct gpu_queue *const *queues; /* whose lanes become the unions of the streams' intervals; NULL = of none */
	struct gpu_gap *gaps;	  /* the longest between intervals, in the order of time; of equal ones the first */
	size_t gap_count, gap_room;
	uint64_t gap_least;	  /* no longer than this one are left out */
	uint64_t all_gaps;	  /* how many there were */
	struct gpu_lane busy;     /* at least one interval */
	struct gpu_lane overlap;  /* at least two at once */
	struct gpu_lane kernels, copies; /* the union of what is_kernel, and of the rest */
	struct gpu_interval *waiting; /* by start; room for half as many again, so that they rarely move up */
	size_t waiting_from, waiting_count; /* of `waiting`: the first, how many */
	uint64_t passed;          /* start of the last one taken */
	uint64_t busy_end, second_end, kernel_end, copy_end; /* ends of what is covered so far */
	uint64_t late;            /* intervals that came after later ones had been taken */
	int is_cut;
	int is_total;             /* nobody asks when it was busy: of all this busy.busy_ns alone is made. Set before the first */
};

/* The part of gpu_sweep_add for what begins, is full, or comes too early. */
void gpu_sweep_add_any(struct gpu_sweep *sweep, const struct gpu_interval *interval);

/* In the order in which the log tells them; some wait for those that began before them. */
static inline void gpu_sweep_add(struct gpu_sweep *sweep, const struct gpu_interval *interval)
{
	size_t end = sweep->waiting_from + sweep->waiting_count;

	/* count - 1 < room - 1: some wait, and there is room for one more */
	if (sweep->waiting_count - 1 >= GPU_SWEEP_WAITING - 1 || sweep->waiting[end - 1].start > interval->start) {
		gpu_sweep_add_any(sweep, interval);
		return;
	}
	sweep->waiting[end] = *interval;
	sweep->waiting_count++;
}
/* Takes all that wait. */
void gpu_sweep_end(struct gpu_sweep *sweep);
void gpu_sweep_free(struct gpu_sweep *sweep);

#endif

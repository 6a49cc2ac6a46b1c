/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_timeline: when devices and their streams were busy.
 *
 * Rule: stretches of equal length of a device, at most --points; busy is the union of what ran, so it never exceeds the
 * stretch; overlap is time with at least two things at once. A stream's row counts what ran on that stream.
 */
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/process_cells.h"

enum { TIME, DURATION, PROCESS, DEVICE, STREAM, BUSY, IDLE, OVERLAP, KERNELS, COPIES, BUSY_SHARE, MACHINE, MEMBER, COLUMNS };

static const struct table_column columns[] = {
	[TIME] = {"time_ns", "time", TABLE_INTEGER, UNIT_NS, 0, "start of the stretch, from the start of the run"},
	[DURATION] = {"duration_ns", "length", TABLE_INTEGER, UNIT_NS, 1, "its length"},
	[PROCESS] = {"process", "process", TABLE_INTEGER, UNIT_NONE, 2, "pid: what this process ran"},
	[DEVICE] = {"device", "device", TABLE_INTEGER, UNIT_NONE, 0, "CUDA ordinal"},
	[STREAM] = {"stream", "stream", TABLE_INTEGER, UNIT_NONE, 0, "CUPTI's stream id; empty = the whole device"},
	[BUSY] = {"busy_ns", "busy", TABLE_INTEGER, UNIT_NS, 0, "something ran"},
	[IDLE] = {"idle_ns", "idle", TABLE_INTEGER, UNIT_NS, 0, "nothing of this process ran"},
	[OVERLAP] = {"overlap_ns", "overlap", TABLE_INTEGER, UNIT_NS, 0, "two or more ran at once; of a device only"},
	[KERNELS] = {"kernel_ns", "kernels", TABLE_INTEGER, UNIT_NS, 1, "a kernel or graph ran; of a device only"},
	[COPIES] = {"copy_ns", "copies", TABLE_INTEGER, UNIT_NS, 1, "a copy or set ran; of a device only"},
	[BUSY_SHARE] = {"busy_share", "busy", TABLE_REAL, UNIT_RATIO, 0, "busy_ns / duration_ns"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

/* Busy ns of a lane between two device times; cells are split evenly where a border cuts them. */
static uint64_t lane_sum(const struct gpu_lane *lane, uint64_t from, uint64_t to)
{
	uint64_t width = UINT64_C(1) << lane->width;
	uint64_t before = from > lane->origin ? (from - lane->origin) >> lane->width : 0; /* cells that end by then */
	double sum = 0;

	for (uint64_t i = before; lane->cells && i < GPU_LANE_CELLS && lane->origin + i * width < to; i++) {
		uint64_t start = lane->origin + i * width, end = start + width;
		uint64_t first = start > from ? start : from, last = end < to ? end : to;
		if (last > first && lane->cells[i])
			sum += (double)lane->cells[i] * (double)(last - first) / (double)width;
	}
	return (uint64_t)(sum + 0.5);
}

/* The stretches of a device: cells joined until there are at most `points`. */
struct grid {
	uint64_t from, to, width;
};

static struct grid grid_of(const struct gpu_sweep *sweep, size_t points)
{
	struct grid grid = {.width = UINT64_C(1) << sweep->busy.width};

	for (;; grid.width *= 2) {
		grid.from = sweep->busy.first / grid.width * grid.width;
		grid.to = sweep->busy.last;
		if ((grid.to - grid.from + grid.width - 1) / grid.width <= (points ? points : 1))
			return grid;
	}
}

struct place {
	const struct process *process;
	uint32_t device;
	const struct gpu_queue *queue; /* that has a stream's lane; NULL = the device */
};

/* Busy ns of the place. */
static uint64_t busy_sum(const struct place *place, const struct gpu_sweep *sweep, uint64_t from, uint64_t to)
{
	return lane_sum(place->queue ? &place->queue->lane : &sweep->busy, from, to);
}

/* A stretch: whole cells, so that sums are exact, and what of them lies between the device's first start and last end. */
struct stretch {
	uint64_t from, to, first, last;
};

static void add_row(struct table *table, const struct place *place, const struct stretch *stretch, const struct gpu_sweep *sweep)
{
	const struct gpu *gpu = place->process->gpu;
	uint64_t from = stretch->from, to = stretch->to, length = stretch->last - stretch->first;
	uint64_t busy = busy_sum(place, sweep, from, to);
	int64_t start = gpu_run_ns(gpu, stretch->first);

	busy = busy > length ? length : busy;
	table_row(table);
	table_integer(table, TIME, start);
	table_integer(table, DURATION, (int64_t)length);
	table_process(table, PROCESS, MACHINE, place->process);
	gpu_put_device(table, DEVICE, place->device);
	if (place->queue)
		table_integer(table, STREAM, place->queue->stream);
	table_integer(table, BUSY, (int64_t)busy);
	table_integer(table, IDLE, (int64_t)(length - busy));
	table_real(table, BUSY_SHARE, length ? (double)busy / (double)length : 0);
	if (place->queue)
		return;
	table_integer(table, OVERLAP, (int64_t)lane_sum(&sweep->overlap, from, to));
	table_integer(table, KERNELS, (int64_t)lane_sum(&sweep->kernels, from, to));
	table_integer(table, COPIES, (int64_t)lane_sum(&sweep->copies, from, to));
}

static void add_stretches(struct table *table, const struct request *request, const struct place *place,
			  const struct gpu_sweep *sweep, size_t points)
{
	struct grid grid = grid_of(sweep, points);

	/* A device's time may be any number, as a damaged log says: behind the last stretch it is not counted on, it would begin anew. */
	for (uint64_t at = grid.from; at < grid.to; at = grid.to - at > grid.width ? at + grid.width : grid.to) {
		uint64_t end = at + grid.width < at ? UINT64_MAX : at + grid.width;
		struct stretch stretch = {at, end, at < sweep->busy.first ? sweep->busy.first : at, end > grid.to ? grid.to : end};
		int64_t start = gpu_run_ns(place->process->gpu, stretch.first);
		if (stretch.last > stretch.first && start >= request->from_ns && start <= request->to_ns)
			add_row(table, place, &stretch, sweep);
	}
}

/* Streams that did something of which no curve is kept. */
static size_t uncharted(const struct gpu *gpu, uint32_t device)
{
	size_t count = 0;

	for (size_t i = 0; i < gpu->queue_count; i++)
		count += gpu->queues[i].device == device && gpu->queues[i].lane.busy_ns && !gpu->queues[i].lane.cells;
	return count;
}

static void take_device(struct table *table, const struct request *request, const struct process *process,
			const struct gpu_sweep *sweep, size_t points)
{
	const struct gpu *gpu = process->gpu;
	struct place place = {.process = process, .device = sweep->device};
	size_t streams = 0, without = uncharted(gpu, sweep->device);

	if (!sweep->busy.cells)
		return;
	if (!request->stream)
		add_stretches(table, request, &place, sweep, points);
	for (size_t i = 0; i < gpu->queue_count; i++)
		streams += gpu->queues[i].device == sweep->device && gpu->queues[i].lane.cells;
	for (size_t i = 0; i < gpu->queue_count; i++) {
		place.queue = &gpu->queues[i];
		if (place.queue->device == sweep->device && place.queue->lane.cells && gpu_wants_queue(request, gpu, (uint32_t)i))
			add_stretches(table, request, &place, sweep, points / (streams ? streams : 1));
	}
	if (sweep->late)
		table_note(table, NOTE_INFERRED,
			   "Process %s, device %u: %llu " BY_COUNT("interval", "intervals") " came so late that only what lay "
			   "behind the others was counted as busy.",
			   process->called, sweep->device, (unsigned long long)sweep->late);
	if (without)
		table_note(table, NOTE_MISSING,
			   "Process %s, device %u: there are no rows of %zu " BY_COUNT("stream", "streams") ", too many to keep "
			   "all. The device's rows have their work.",
			   process->called, sweep->device, without);
}

static void fill(struct table *table, const struct request *request)
{
	if (!gpu_any(table, request))
		return;
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!process->gpu || !request_wants_process(request, process))
			continue;
		for (size_t k = 0; k < process->gpu->sweep_count; k++)
			if (gpu_wants_device_number(request, process->gpu, process->gpu->sweeps[k].device))
				take_device(table, request, process, &process->gpu->sweeps[k], request->points);
	}
	table_note(table, NOTE_INFO,
		   "From the first to the last thing that ran on a device; before and behind it nothing of the process did.");
	gpu_notes(table, request);
}

const struct table_kind table_device_timeline = {
	.id = "device_timeline",
	.title = "Devices over time",
	.help = "Busy, idle and overlapping time of every device and stream, by stretches of time.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_WINDOW | FILTER_PROCESS | FILTER_DEVICE | FILTER_STREAM | FILTER_POINTS,
	.text_rows = 100,
	.needs_scan = true,
	.sums = RUN_SUM_CURVES,
	.fill = fill,
};

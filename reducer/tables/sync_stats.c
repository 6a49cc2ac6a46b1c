/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_stats: which call waited for what, and how long.
 *
 * Rule: waiting is what the device's own record says where there is one; else the time inside the call, and the row says so.
 */
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/process_cells.h"

#include <stdlib.h>

enum {
	RANK, FUNCTION, WAITED_FOR, STREAM, EVENT, CONTEXT, PROCESS, THREAD, OCCURRENCES, TOTAL, AVERAGE, LEAST, MOST, MEDIAN, P99, HOST,
	SOURCE, UNTIMED, PERCENTILES, DEVIATION, MACHINE, MEMBER, COLUMNS
};

static const struct table_column columns[] = {
	[RANK] = {"rank", "#", TABLE_INTEGER, UNIT_NONE, 1, "by total time"},
	[FUNCTION] = {"function", "function", TABLE_TEXT, UNIT_NONE, 0, "the call that waited; empty = no call is known"},
	[WAITED_FOR] = {"waited_for", "for", TABLE_TEXT, UNIT_NONE, 0,
			"event, stream for event (the device waited, not the host), stream, context; empty = not said"},
	[STREAM] = {"stream", "stream", TABLE_INTEGER, UNIT_NONE, 0, "CUPTI's stream id"},
	[EVENT] = {"event", "event", TABLE_INTEGER, UNIT_NONE, 2, "CUPTI's event id"},
	[CONTEXT] = {"context", "context", TABLE_INTEGER, UNIT_NONE, 3, "CUPTI's context id"},
	[PROCESS] = {"process", "process", TABLE_INTEGER, UNIT_NONE, 3, "pid"},
	[THREAD] = {"thread", "thread", TABLE_INTEGER, UNIT_NONE, 1, "kernel thread id of the caller"},
	[OCCURRENCES] = {"occurrences", "times", TABLE_INTEGER, UNIT_COUNT, 0, "how often"},
	[TOTAL] = {"total_ns", "waited", TABLE_INTEGER, UNIT_NS, 0, "time waited, in all"},
	[AVERAGE] = {"avg_ns", "avg", TABLE_INTEGER, UNIT_NS, 0, "each time"},
	[LEAST] = {"min_ns", "min", TABLE_INTEGER, UNIT_NS, 2, "shortest"},
	[MOST] = {"max_ns", "max", TABLE_INTEGER, UNIT_NS, 1, "longest"},
	[MEDIAN] = {"p50_ns", "p50", TABLE_INTEGER, UNIT_NS, 3, "half took at most that"},
	[P99] = {"p99_ns", "p99", TABLE_INTEGER, UNIT_NS, 3, "99 of 100 took at most that"},
	[HOST] = {"host_ns", "in call", TABLE_INTEGER, UNIT_NS, 1, "time inside the calls"},
	[SOURCE] = {"source", "from", TABLE_TEXT, UNIT_NONE, 2,
		    "device: CUPTI's record of the wait; call: only the call is known"},
	[UNTIMED] = {"untimed", "untimed", TABLE_INTEGER, UNIT_COUNT, 4, "waits with impossible times"},
	[PERCENTILES] = {"percentiles", "pct. are", TABLE_TEXT, UNIT_NONE, 4, "exact, or classed (at most 1/128 off)"},
	[DEVIATION] = {"deviation_ns", "deviation", TABLE_REAL, UNIT_NS, 4,
		       "standard deviation of one wait, of a sample; empty = fewer than two"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

struct row {
	const struct process *process;
	const struct gpu_wait *wait;
};

static const char *wait_name(uint32_t kind)
{
	static const char *const names[] = {NULL, "event", "stream for event", "stream", "context"};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "other";
}

/*
 * A wait names its context and stream itself: the filters look at that. A context is of one device, so that a wait for all of it, or
 * for a stream on which nothing ran, has that device.
 */
static bool is_wanted(const struct request *request, const struct process *process, const struct gpu_wait *wait, size_t *placeless)
{
	const struct gpu *gpu = process->gpu;
	bool has_device = false, has_stream = false, is_wanted = false;

	if (!gpu_wants_thread(request, process, wait->thread))
		return false;
	if (!request->device && !request->stream)
		return true;
	for (size_t i = 0; i < gpu->queue_count; i++) {
		bool is_same = gpu->queues[i].stream == wait->stream;
		if (!wait->kind || gpu->queues[i].context != wait->context)
			continue;
		has_device = true;
		has_stream |= is_same;
		is_wanted |= (is_same || !request->stream) && gpu_wants_queue(request, gpu, (uint32_t)i);
	}
	*placeless += request->stream ? !has_stream : !has_device;
	return is_wanted;
}

static int by_total(const void *a, const void *b)
{
	const struct gpu_wait *x = ((const struct row *)a)->wait, *y = ((const struct row *)b)->wait;

	if (x->times.sum != y->times.sum)
		return x->times.sum > y->times.sum ? -1 : 1;
	return x->occurrences < y->occurrences ? 1 : x->occurrences > y->occurrences ? -1 : 0;
}

static void add_row(struct table *table, const struct row *row, size_t rank)
{
	const struct gpu_wait *wait = row->wait;

	table_row(table);
	table_integer(table, RANK, (int64_t)rank);
	gpu_put_function(table, FUNCTION, row->process->gpu, wait->function);
	table_string(table, WAITED_FOR, wait_name(wait->kind));
	if (wait->stream != GPU_NONE && wait->kind)
		table_integer(table, STREAM, wait->stream);
	if (wait->event != GPU_NONE && wait->kind && wait->kind <= 2)
		table_integer(table, EVENT, wait->event);
	if (wait->context != GPU_NONE && wait->kind)
		table_integer(table, CONTEXT, wait->context);
	table_process(table, PROCESS, MACHINE, row->process);
	gpu_put_thread(table, THREAD, row->process, wait->thread);
	table_integer(table, OCCURRENCES, (int64_t)wait->occurrences);
	gpu_put_spread(table, TOTAL, &wait->times);
	gpu_put_deviation(table, DEVIATION, &wait->times);
	table_integer(table, HOST, (int64_t)wait->host_ns);
	table_string(table, SOURCE, wait->kind ? "device" : "call");
	table_integer(table, UNTIMED, (int64_t)wait->untimed);
	table_string(table, PERCENTILES, wait->times.is_classed ? "classed" : "exact");
}

static void fill(struct table *table, const struct request *request)
{
	size_t limit = request_row_limit(request, table->kind), count = 0, room = 0, placeless = 0;
	struct row *rows = NULL;
	bool any_classed = false;

	if (!gpu_any(table, request))
		return;
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!process->gpu || !request_wants_process(request, process))
			continue;
		for (size_t k = 0; k < process->gpu->wait_count; k++) {
			if (!is_wanted(request, process, &process->gpu->waits[k], &placeless))
				continue;
			rows = base_grow(rows, &room, count + 1, sizeof(*rows));
			rows[count++] = (struct row){process, &process->gpu->waits[k]};
		}
	}
	if (count)
		qsort(rows, count, sizeof(*rows), by_total);
	for (size_t i = 0; i < count && i < limit; i++) {
		any_classed |= rows[i].wait->times.is_classed != 0;
		add_row(table, &rows[i], i + 1);
	}
	table->omitted_count = count - table->row_count;
	free(rows);
	gpu_note_percentiles(table, any_classed);
	gpu_note_placeless(table, placeless, "kinds of waits");
}

const struct table_kind table_sync_stats = {
	.id = "sync_stats",
	.title = "Waiting for the device",
	.help = "Calls in which the host waited for a device, and waits of streams for events: what for, how often, how long.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = GPU_FILTERS,
	.text_rows = 25,
	.needs_scan = true,
	.nothing = "No call that waits for a device was seen, nor did CUPTI tell of one.",
	.fill = fill,
};

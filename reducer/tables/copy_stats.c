/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_stats: copies and sets by direction, memory and manner.
 *
 * Rule: bandwidth is bytes of timed records by their time; one whose time is impossible counts in bytes alone.
 */
#include "reducer/base/index.h"
#include "reducer/tables/gpu_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	RANK, KIND, SOURCE, DESTINATION, MANNER, DEVICE, PEER, OP, OCCURRENCES, BYTES, AVERAGE_BYTES, LEAST_BYTES, MOST_BYTES, TOTAL,
	AVERAGE, LEAST, MOST, MEDIAN, P99, BANDWIDTH, BEST, SHARE, UNTIMED, PERCENTILES, DEVIATION, COLUMNS
};

static const struct table_column columns[] = {
	[RANK] = {"rank", "#", TABLE_INTEGER, UNIT_NONE, 1, "by total time"},
	[KIND] = {"kind", "kind", TABLE_TEXT, UNIT_NONE, 0, "H host, D device, A array, P peer device; set = a memset"},
	[SOURCE] = {"source_memory", "from", TABLE_TEXT, UNIT_NONE, 0, "pageable, pinned, device, array, managed; empty = not said"},
	[DESTINATION] = {"destination_memory", "to", TABLE_TEXT, UNIT_NONE, 0, "likewise; of a set the only one"},
	[MANNER] = {"manner", "manner", TABLE_TEXT, UNIT_NONE, 0,
		    "sync: the host waited; async: asked for so, from or to pageable memory it may still have waited; empty = not said"},
	[DEVICE] = {"device", "device", TABLE_INTEGER, UNIT_NONE, 1, "that did it: CUDA ordinal"},
	[PEER] = {"peer_devices", "peers", TABLE_TEXT, UNIT_NONE, 3, "from>to, of a peer copy"},
	[OP] = {"op_name", "op", TABLE_TEXT, UNIT_NONE, 2,
		"innermost op or range that the calling thread was in; of a graph's node: that it was made in"},
	[OCCURRENCES] = {"occurrences", "times", TABLE_INTEGER, UNIT_COUNT, 0, "how many"},
	[BYTES] = {"total_bytes", "bytes", TABLE_INTEGER, UNIT_BYTES, 0, "in all"},
	[AVERAGE_BYTES] = {"avg_bytes", "avg size", TABLE_INTEGER, UNIT_BYTES, 1, "of one"},
	[LEAST_BYTES] = {"min_bytes", "min size", TABLE_INTEGER, UNIT_BYTES, 3, "smallest"},
	[MOST_BYTES] = {"max_bytes", "max size", TABLE_INTEGER, UNIT_BYTES, 3, "largest"},
	[TOTAL] = {"total_ns", "total", TABLE_INTEGER, UNIT_NS, 0, "time on the device"},
	[AVERAGE] = {"avg_ns", "avg", TABLE_INTEGER, UNIT_NS, 1, "of one"},
	[LEAST] = {"min_ns", "min", TABLE_INTEGER, UNIT_NS, 3, "shortest"},
	[MOST] = {"max_ns", "max", TABLE_INTEGER, UNIT_NS, 3, "longest"},
	[MEDIAN] = {"p50_ns", "p50", TABLE_INTEGER, UNIT_NS, 3, "half took at most that"},
	[P99] = {"p99_ns", "p99", TABLE_INTEGER, UNIT_NS, 3, "99 of 100 took at most that"},
	[BANDWIDTH] = {"bytes_per_s", "rate", TABLE_REAL, UNIT_BYTES_PER_S, 0,
		       "bytes a second: bytes by time of the timed ones; empty from host to host"},
	[BEST] = {"best_bytes_per_s", "best", TABLE_REAL, UNIT_BYTES_PER_S, 3, "of the fastest single one"},
	[SHARE] = {"share", "share", TABLE_REAL, UNIT_RATIO, 2, "of the time of all copies and sets"},
	[UNTIMED] = {"untimed", "untimed", TABLE_INTEGER, UNIT_COUNT, 4, "with impossible times: not in the times"},
	[PERCENTILES] = {"percentiles", "pct. are", TABLE_TEXT, UNIT_NONE, 4, "exact, or classed (at most 1/128 off)"},
	[DEVIATION] = {"deviation_ns", "deviation", TABLE_REAL, UNIT_NS, 4,
		       "standard deviation of one of them, of a sample; empty = fewer than two"},
};

struct row {
	const char *op;
	struct gpu_copy sum;
	uint32_t device;
};

struct rows {
	struct row *list;
	size_t count, room;
	struct base_index index;
};

/* What rows are told apart by; numbers alone, so that bytes may be hashed. */
struct key {
	uint32_t kind, source, destination, flags, source_device, destination_device, device, padding;
	uint64_t op; /* address of its name: each once */
};

static struct key key_of(const struct gpu_copy *copy, const char *op, uint32_t device)
{
	return (struct key){copy->kind, copy->source, copy->destination, copy->flags, copy->source_device, copy->destination_device,
			    device, 0, (uint64_t)(uintptr_t)op};
}

static bool is_row(const void *context, const void *key, uint32_t number)
{
	const struct row *row = &((const struct rows *)context)->list[number];
	const struct key own = key_of(&row->sum, row->op, row->device);

	return memcmp(&own, key, sizeof(own)) == 0;
}

static struct row *row_of(struct rows *rows, const struct gpu_copy *copy, const char *op, uint32_t device)
{
	const struct key key = key_of(copy, op, device);
	uint64_t hash = base_hash(BASE_HASH, &key, sizeof(key));
	uint32_t number = base_index_find(&rows->index, hash, is_row, rows, &key);
	struct row *row;

	if (number != UINT32_MAX)
		return &rows->list[number];
	base_index_add(&rows->index, hash, (uint32_t)rows->count);
	rows->list = base_grow(rows->list, &rows->room, rows->count + 1, sizeof(*rows->list));
	row = &rows->list[rows->count++];
	*row = (struct row){.op = op, .device = device, .sum = *copy};
	row->sum.times = (struct spread){0};
	row->sum.occurrences = row->sum.untimed = row->sum.bytes = row->sum.timed_bytes = row->sum.most_bytes = 0;
	row->sum.least_bytes = UINT64_MAX;
	row->sum.best_bandwidth = 0;
	return row;
}

static void merge(struct gpu_copy *to, const struct gpu_copy *from)
{
	to->occurrences += from->occurrences;
	to->untimed += from->untimed;
	to->bytes += from->bytes;
	to->timed_bytes += from->timed_bytes;
	to->least_bytes = from->least_bytes < to->least_bytes ? from->least_bytes : to->least_bytes;
	to->most_bytes = from->most_bytes > to->most_bytes ? from->most_bytes : to->most_bytes;
	to->best_bandwidth = from->best_bandwidth > to->best_bandwidth ? from->best_bandwidth : to->best_bandwidth;
	spread_merge(&to->times, &from->times);
}

static void take_process(struct rows *rows, const struct request *request, const struct process *process)
{
	const struct gpu *gpu = process->gpu;

	for (size_t i = 0; i < gpu->copy_count; i++) {
		const struct gpu_copy *copy = &gpu->copies[i];
		const char *op = copy->op && copy->op < process->op_count ? process->op_names[copy->op] : NULL;
		if (gpu_wants_queue(request, gpu, copy->queue) && gpu_wants_thread(request, process, copy->thread))
			merge(&row_of(rows, copy, op, gpu_queue_device(gpu, copy->queue))->sum, copy);
	}
}

static int by_total(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->sum.times.sum != y->sum.times.sum)
		return x->sum.times.sum > y->sum.times.sum ? -1 : 1;
	return x->sum.bytes < y->sum.bytes ? 1 : x->sum.bytes > y->sum.bytes ? -1 : 0;
}

static void put_peers(struct table *table, const struct gpu_copy *sum)
{
	struct text text = {0};

	if (sum->source_device == GPU_NONE && sum->destination_device == GPU_NONE)
		return;
	text_format(&text, "%u>%u", sum->source_device, sum->destination_device);
	table_text(table, PEER, text.bytes, text.length);
	text_free(&text);
}

static void put_bytes(struct table *table, const struct gpu_copy *sum)
{
	table_integer(table, BYTES, (int64_t)sum->bytes);
	table_integer(table, AVERAGE_BYTES, (int64_t)(sum->bytes / sum->occurrences));
	table_integer(table, LEAST_BYTES, (int64_t)sum->least_bytes);
	table_integer(table, MOST_BYTES, (int64_t)sum->most_bytes);
}

static void add_row(struct table *table, const struct row *row, size_t rank, uint64_t all)
{
	const struct gpu_copy *sum = &row->sum;
	bool is_on_host = sum->kind == GPU_COPY_ON_HOST;

	table_row(table);
	table_integer(table, RANK, (int64_t)rank);
	table_string(table, KIND, gpu_copy_name(sum->kind));
	table_string(table, SOURCE, gpu_memory_name(sum->source));
	table_string(table, DESTINATION, gpu_memory_name(sum->destination));
	table_string(table, MANNER, sum->flags & 1 ? "async" : sum->flags & 2 ? NULL : "sync");
	gpu_put_device(table, DEVICE, row->device);
	put_peers(table, sum);
	table_string(table, OP, row->op);
	table_integer(table, OCCURRENCES, (int64_t)sum->occurrences);
	if (sum->bytes)
		put_bytes(table, sum);
	gpu_put_spread(table, TOTAL, &sum->times);
	gpu_put_deviation(table, DEVIATION, &sum->times);
	if (sum->times.sum && sum->bytes && !is_on_host)
		table_real(table, BANDWIDTH, (double)sum->timed_bytes * 1e9 / (double)sum->times.sum);
	if (sum->best_bandwidth > 0 && !is_on_host)
		table_real(table, BEST, sum->best_bandwidth);
	if (all)
		table_real(table, SHARE, (double)sum->times.sum / (double)all);
	table_integer(table, UNTIMED, (int64_t)sum->untimed);
	table_string(table, PERCENTILES, sum->times.is_classed ? "classed" : "exact");
}

static void fill(struct table *table, const struct request *request)
{
	struct rows rows = {0};
	uint64_t all = 0;
	uint64_t on_host = 0;
	uint64_t sizeless = 0; /* copies without a word how large they were: a copy of nothing does not reach the device */
	bool any_classed = false;

	if (!gpu_any(table, request))
		return;
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request->run->processes[i].gpu && request_wants_process(request, &request->run->processes[i]))
			take_process(&rows, request, &request->run->processes[i]);
	if (rows.count)
		qsort(rows.list, rows.count, sizeof(*rows.list), by_total);
	for (size_t i = 0; i < rows.count; i++)
		all += rows.list[i].sum.times.sum;
	for (size_t i = 0; i < rows.count; i++) {
		any_classed |= rows.list[i].sum.times.is_classed != 0;
		sizeless += rows.list[i].sum.bytes ? 0 : rows.list[i].sum.occurrences;
		on_host += rows.list[i].sum.kind == GPU_COPY_ON_HOST ? rows.list[i].sum.occurrences : 0;
		add_row(table, &rows.list[i], i + 1, all);
		spread_free(&rows.list[i].sum.times);
	}
	free(rows.list);
	base_index_free(&rows.index);
	gpu_note_percentiles(table, any_classed);
	if (sizeless)
		table_note(table, NOTE_MISSING,
			   "The size of %" PRIu64 " " BY_COUNT("copy or set", "copies and sets") " is not recorded.", sizeless);
	if (on_host)
		table_note(table, NOTE_INFO,
			   "%" PRIu64 " " BY_COUNT("copy", "copies") " from host to host: made by the processor while the caller waits. "
			   "Their time holds the wait for the work before them in the stream: no device was busy with them, and tables of "
			   "what devices did do not have them.", on_host);
	gpu_note_whole_graphs(table, request);
	gpu_notes(table, request);
}

const struct table_kind table_copy_stats = {
	.id = "copy_stats",
	.title = "Copies and sets",
	.help = "Copies between host and devices and on them, and memsets: by direction, kind of memory, and whether the host waited.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = GPU_FILTERS,
	.text_rows = 25,
	.needs_scan = true,
	.nothing = "No device's record of a copy or set is in the log; calls that asked for one are in launches and api_stats.",
	.fill = fill,
};

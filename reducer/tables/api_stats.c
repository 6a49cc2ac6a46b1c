/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_stats: calls of GPU functions by function and result.
 *
 * Rule: time is what the calling thread spent inside the call. A call made inside another recorded one is counted in both.
 */
#include "reducer/base/index.h"
#include "reducer/tables/gpu_rows.h"

#include <stdlib.h>
#include <string.h>

enum {
	RANK, FUNCTION, LIBRARY, KIND, RESULT, CALLS, TOTAL, AVERAGE, LEAST, MOST, MEDIAN, P99, SHARE, CAPTURED, NESTED, PERCENTILES,
	DEVIATION, COLUMNS
};

static const struct table_column columns[] = {
	[RANK] = {"rank", "#", TABLE_INTEGER, UNIT_NONE, 1, "by total time"},
	[FUNCTION] = {"function", "function", TABLE_TEXT, UNIT_NONE, 0, "as the library exports it"},
	[LIBRARY] = {"library", "library", TABLE_TEXT, UNIT_NONE, 1, "cuda runtime, cuda driver, cublas, ..."},
	[KIND] = {"kind", "kind", TABLE_TEXT, UNIT_NONE, 2,
		  "launch, copy, set, graph, graph work, alloc, free, sync, event, stream, module, context, library, other"},
	[RESULT] = {"result", "result", TABLE_INTEGER, UNIT_NONE, 0,
		    "what it returned: 0 = success, else the library's error number"},
	[CALLS] = {"calls", "calls", TABLE_INTEGER, UNIT_COUNT, 0, "how often, with that result"},
	[TOTAL] = {"total_ns", "total", TABLE_INTEGER, UNIT_NS, 0, "time inside, in all"},
	[AVERAGE] = {"avg_ns", "avg", TABLE_INTEGER, UNIT_NS, 0, "of one call"},
	[LEAST] = {"min_ns", "min", TABLE_INTEGER, UNIT_NS, 2, "shortest"},
	[MOST] = {"max_ns", "max", TABLE_INTEGER, UNIT_NS, 1, "longest"},
	[MEDIAN] = {"p50_ns", "p50", TABLE_INTEGER, UNIT_NS, 2, "half took at most that"},
	[P99] = {"p99_ns", "p99", TABLE_INTEGER, UNIT_NS, 1, "99 of 100 took at most that"},
	[SHARE] = {"share", "share", TABLE_REAL, UNIT_RATIO, 2, "of the time of all calls"},
	[CAPTURED] = {"captured", "captured", TABLE_INTEGER, UNIT_COUNT, 3, "calls that only added to a graph"},
	[NESTED] = {"nested", "nested", TABLE_INTEGER, UNIT_COUNT, 3,
		    "calls made inside another recorded call of their thread"},
	[PERCENTILES] = {"percentiles", "pct. are", TABLE_TEXT, UNIT_NONE, 4, "exact, or classed (at most 1/128 off)"},
	[DEVIATION] = {"deviation_ns", "deviation", TABLE_REAL, UNIT_NS, 4,
		       "standard deviation of a call, of a sample; empty = fewer than two"},
};

struct row {
	const struct gpu_function *function;
	struct gpu_api sum;
};

struct rows {
	struct row *list;
	size_t count, room;
	struct base_index index;
};

/* What rows are told apart by. */
struct key {
	const struct gpu_function *function;
	uint32_t result;
};

static bool is_row(const void *context, const void *key, uint32_t number)
{
	const struct row *row = &((const struct rows *)context)->list[number];
	const struct key *wanted = key;

	return row->sum.result == wanted->result && strcmp(row->function->name, wanted->function->name) == 0 &&
	       strcmp(row->function->library, wanted->function->library) == 0;
}

static struct row *row_of(struct rows *rows, const struct gpu_function *function, uint32_t result)
{
	const struct key key = {function, result};
	uint64_t hash = base_hash(base_hash(BASE_HASH, function->name, strlen(function->name)), &result, sizeof(result));
	uint32_t number = base_index_find(&rows->index, hash, is_row, rows, &key);

	if (number != UINT32_MAX)
		return &rows->list[number];
	base_index_add(&rows->index, hash, (uint32_t)rows->count);
	rows->list = base_grow(rows->list, &rows->room, rows->count + 1, sizeof(*rows->list));
	rows->list[rows->count] = (struct row){.function = function, .sum = {.result = result}};
	return &rows->list[rows->count++];
}

static void take_process(struct rows *rows, const struct request *request, const struct process *process)
{
	const struct gpu *gpu = process->gpu;

	for (size_t i = 0; i < gpu->api_count; i++) {
		const struct gpu_api *api = &gpu->apis[i];
		struct row *row;
		if (!gpu_wants_thread(request, process, api->thread) || api->function >= gpu->function_count)
			continue;
		row = row_of(rows, &gpu->functions[api->function], api->result);
		row->sum.captured += api->captured;
		row->sum.nested += api->nested;
		spread_merge(&row->sum.times, &api->times);
	}
}

static int by_total(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->sum.times.sum != y->sum.times.sum)
		return x->sum.times.sum > y->sum.times.sum ? -1 : 1;
	return strcmp(x->function->name, y->function->name);
}

static void add_row(struct table *table, const struct row *row, size_t rank, uint64_t all)
{
	table_row(table);
	table_integer(table, RANK, (int64_t)rank);
	table_string(table, FUNCTION, row->function->name);
	table_string(table, LIBRARY, row->function->library);
	table_string(table, KIND, gpu_kind_name(row->function->kind));
	table_integer(table, RESULT, row->sum.result);
	table_integer(table, CALLS, (int64_t)row->sum.times.count);
	gpu_put_spread(table, TOTAL, &row->sum.times);
	gpu_put_deviation(table, DEVIATION, &row->sum.times);
	if (all)
		table_real(table, SHARE, (double)row->sum.times.sum / (double)all);
	table_integer(table, CAPTURED, (int64_t)row->sum.captured);
	table_integer(table, NESTED, (int64_t)row->sum.nested);
	table_string(table, PERCENTILES, row->sum.times.is_classed ? "classed" : "exact");
}

/* What docs/gpu.md calls a call of another kind leaves no record by default. */
static void note_others(struct table *table, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!process->gpu || !request_wants_process(request, process) || strcmp(process_setting(process, "CUDA_API"), "0") != 0)
			continue;
		table_note(table, NOTE_MISSING, "Calls that start, allocate, load and await nothing (cudaSetDevice, cudaEventCreate, "
			   "cudaLaunchHostFunc, ...) are not recorded: TFPROF_CUDA_API=1 records every CUDA call.");
		return;
	}
}

static void fill(struct table *table, const struct request *request)
{
	struct rows rows = {0};
	uint64_t all = 0;
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
		add_row(table, &rows.list[i], i + 1, all);
		spread_free(&rows.list[i].sum.times);
	}
	free(rows.list);
	base_index_free(&rows.index);
	gpu_note_percentiles(table, any_classed);
	note_others(table, request);
	gpu_notes(table, request);
}

const struct table_kind table_api_stats = {
	.id = "api_stats",
	.title = "GPU calls",
	.help = "Calls of the CUDA runtime and driver and of GPU libraries, by function and result: how often, how long the host was "
		"inside.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_WINDOW | FILTER_PROCESS | FILTER_THREAD,
	.text_rows = 25,
	.needs_scan = true,
	.sums = RUN_SUM_CALLS,
	.fill = fill,
};

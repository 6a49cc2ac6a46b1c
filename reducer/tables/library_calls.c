/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library_calls: calls of cuBLAS, cuDNN, cuFFT, NCCL and the like with their shapes, and the kernels that ran for them.
 *
 * Rule: a kernel belongs to the library call that was open on its launching thread, by the record, not by its name.
 */
#include "reducer/model/flops.h"
#include "reducer/tables/flops_cells.h"
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/process_cells.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	RANK, FUNCTION, LIBRARY, ARGUMENTS, OP, PROCESS, THREAD, CALLS, FAILED, TOTAL, AVERAGE, LEAST, MOST, MEDIAN, P99, LAUNCHES,
	KERNELS, DEVICE_TIME, DEVICE_AVERAGE, NAMES, FLOPS, FLOPS_RATE, DEVIATION, MACHINE, MEMBER, COLUMNS
};

static const struct table_column columns[] = {
	[RANK] = {"rank", "#", TABLE_INTEGER, UNIT_NONE, 1, "by time on the device, then in the call"},
	[FUNCTION] = {"function", "function", TABLE_TEXT, UNIT_NONE, 0, "as the library exports it"},
	[LIBRARY] = {"library", "library", TABLE_TEXT, UNIT_NONE, 2, "cublas, cublaslt, cudnn, cufft, nccl"},
	[ARGUMENTS] = {"arguments", "arguments", TABLE_TEXT, UNIT_NONE, 0, "name=value: shapes, types, communicator"},
	[OP] = {"op_name", "op", TABLE_TEXT, UNIT_NONE, 2, "innermost op or range that the thread was in"},
	[PROCESS] = {"process", "process", TABLE_INTEGER, UNIT_NONE, 3, "pid"},
	[THREAD] = {"thread", "thread", TABLE_INTEGER, UNIT_NONE, 3, "kernel thread id of the caller"},
	[CALLS] = {"calls", "calls", TABLE_INTEGER, UNIT_COUNT, 0, "how often with these arguments"},
	[FAILED] = {"failed", "failed", TABLE_INTEGER, UNIT_COUNT, 2, "calls that returned an error"},
	[TOTAL] = {"host_ns", "in call", TABLE_INTEGER, UNIT_NS, 1, "time inside the calls"},
	[AVERAGE] = {"host_avg_ns", "avg", TABLE_INTEGER, UNIT_NS, 3, "of one call"},
	[LEAST] = {"host_min_ns", "min", TABLE_INTEGER, UNIT_NS, 4, "shortest"},
	[MOST] = {"host_max_ns", "max", TABLE_INTEGER, UNIT_NS, 4, "longest"},
	[MEDIAN] = {"host_p50_ns", "p50", TABLE_INTEGER, UNIT_NS, 4, "half took at most that"},
	[P99] = {"host_p99_ns", "p99", TABLE_INTEGER, UNIT_NS, 4, "99 of 100 took at most that"},
	[LAUNCHES] = {"launches", "launches", TABLE_INTEGER, UNIT_COUNT, 1, "launches, copies and sets made inside"},
	[KERNELS] = {"kernels", "kernels", TABLE_INTEGER, UNIT_COUNT, 2, "kernels that ran for them"},
	[DEVICE_TIME] = {"device_ns", "on device", TABLE_INTEGER, UNIT_NS, 0, "time on the device, in all"},
	[DEVICE_AVERAGE] = {"device_avg_ns", "a call", TABLE_INTEGER, UNIT_NS, 1, "of one call"},
	[NAMES] = {"kernel_names", "kernel names", TABLE_TEXT, UNIT_NONE, 1, "the first four distinct ones; ... = there are more"},
	[FLOPS] = {"flops", "flop", TABLE_INTEGER, UNIT_FLOPS, 1,
		   "arithmetic of the calls that did not fail, by their arguments (docs/flops.md); empty = these do not tell it"},
	[FLOPS_RATE] = {"flops_per_s", "flop/s", TABLE_INTEGER, UNIT_FLOPS_PER_S, 0,
			"flops by the time on the device; empty = not all calls have theirs"},
	[DEVIATION] = {"host_deviation_ns", "deviation", TABLE_REAL, UNIT_NS, 4,
		       "standard deviation of a call, of a sample; empty = fewer than two"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

struct row {
	const struct process *process;
	const struct gpu_library_call *call;
};

static int by_device(const void *a, const void *b)
{
	const struct gpu_library_call *x = ((const struct row *)a)->call, *y = ((const struct row *)b)->call;

	if (x->device_ns != y->device_ns)
		return x->device_ns > y->device_ns ? -1 : 1;
	return x->times.sum < y->times.sum ? 1 : x->times.sum > y->times.sum ? -1 : 0;
}

/* "m=4,n=5,..." from the names that the function's fact gives. */
static void put_arguments(struct table *table, const struct gpu_function *function, const struct gpu_library_call *call)
{
	const char *at = function->arguments;
	struct text text = {0};

	for (size_t i = 0; i < GPU_LIBRARY_ARGUMENTS && *at; i++) {
		size_t length = strcspn(at, ",");
		text_format(&text, "%s%.*s=%" PRId64, i ? "," : "", (int)length, at, (int64_t)call->arguments[i]);
		at += length + (at[length] == ',');
	}
	if (text.length)
		table_text(table, ARGUMENTS, text.bytes, text.length);
	text_free(&text);
}

static void put_names(struct table *table, const struct gpu *gpu, const struct gpu_library_call *call)
{
	struct text text = {0};

	for (size_t i = 0; i < 4 && call->kernels[i] != GPU_NONE; i++) {
		if (i)
			text_string(&text, "; ");
		gpu_kernel_text(&text, gpu, call->kernels[i]);
	}
	if (call->is_more)
		text_string(&text, "; ...");
	if (text.length)
		table_text(table, NAMES, text.bytes, text.length);
	text_free(&text);
}

/* The time on the device is that of all of the calls: none was captured into a graph or lost its kernels, as far as one sees. */
static bool has_whole_time(const struct gpu *gpu, const struct gpu_library_call *call)
{
	return call->kernel_count >= call->calls - call->failed && (!gpu->graph_count || call->kernel_count >= call->launches);
}

static void put_flops(struct table *table, const struct gpu *gpu, const struct gpu_library_call *call)
{
	const struct gpu_function *function = &gpu->functions[call->function];
	struct flops flops = flops_of_call(function->name, function->arguments, call->arguments, GPU_LIBRARY_ARGUMENTS);

	flops.is_known &= !__builtin_mul_overflow(flops.count, call->calls - call->failed, &flops.count);
	flops_put(table, FLOPS, FLOPS_RATE, flops.is_known, flops.count, has_whole_time(gpu, call) ? call->device_ns : 0);
}

static void add_row(struct table *table, const struct row *row, size_t rank)
{
	const struct gpu_library_call *call = row->call;
	const struct gpu *gpu = row->process->gpu;

	table_row(table);
	table_integer(table, RANK, (int64_t)rank);
	gpu_put_function(table, FUNCTION, gpu, call->function);
	if (call->function < gpu->function_count) {
		table_string(table, LIBRARY, gpu->functions[call->function].library);
		put_arguments(table, &gpu->functions[call->function], call);
		put_flops(table, gpu, call);
	}
	gpu_put_op(table, OP, row->process, call->op);
	table_process(table, PROCESS, MACHINE, row->process);
	gpu_put_thread(table, THREAD, row->process, call->thread);
	table_integer(table, CALLS, (int64_t)call->calls);
	table_integer(table, FAILED, (int64_t)call->failed);
	gpu_put_spread(table, TOTAL, &call->times);
	gpu_put_deviation(table, DEVIATION, &call->times);
	table_integer(table, LAUNCHES, (int64_t)call->launches);
	table_integer(table, KERNELS, (int64_t)call->kernel_count);
	table_integer(table, DEVICE_TIME, (int64_t)call->device_ns);
	if (call->calls)
		table_integer(table, DEVICE_AVERAGE, (int64_t)(call->device_ns / call->calls));
	put_names(table, gpu, call);
}

static void fill(struct table *table, const struct request *request)
{
	size_t limit = request_row_limit(request, table->kind), count = 0, room = 0;
	struct row *rows = NULL;
	bool has_flops = false;

	if (!gpu_any(table, request))
		return;
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!process->gpu || !request_wants_process(request, process))
			continue;
		for (size_t k = 0; k < process->gpu->library_call_count; k++) {
			if (!gpu_wants_thread(request, process, process->gpu->library_calls[k].thread))
				continue;
			rows = base_grow(rows, &room, count + 1, sizeof(*rows));
			rows[count++] = (struct row){process, &process->gpu->library_calls[k]};
		}
	}
	if (count)
		qsort(rows, count, sizeof(*rows), by_device);
	for (size_t i = 0; i < count && i < limit; i++)
		add_row(table, &rows[i], i + 1);
	table->omitted_count = count - table->row_count;
	for (size_t r = 0; r < table->row_count; r++)
		has_flops |= table_is_known(table, r, FLOPS);
	if (has_flops)
		flops_note_replays(table, request);
	free(rows);
}

const struct table_kind table_library_calls = {
	.id = "library_calls",
	.title = "Calls of GPU libraries",
	.help = "Public calls of cuBLAS, cuBLASLt, cuDNN, cuFFT and NCCL by their arguments, with the kernels that ran for them.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_WINDOW | FILTER_PROCESS | FILTER_THREAD,
	.text_rows = 25,
	.needs_scan = true,
	.nothing = "No call of cuBLAS, cuBLASLt, cuDNN, cuFFT or NCCL was seen: the program makes none, links them "
		   "statically, or came by a framework's own kernels.",
	.fill = fill,
};

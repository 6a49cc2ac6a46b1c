/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_stats: which kernels the time on the devices went to.
 *
 * Rule: one row a kernel with its launch configuration and operation; sums are exact, names demangled. Whether tensor cores
 * were used is read from the code of the loaded module where the log holds it; else it is guessed from the name, and said so.
 */
#include "reducer/analysis/parts.h"
#include "reducer/tables/fused_ops.h"
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/kernel_class.h"
#include "reducer/tables/occupancy.h"
#include "reducer/analysis/tensor_names.h"

#include "reducer/base/index.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	RANK, NAME, REGISTERS, STATIC_SHARED, DYNAMIC_SHARED, SHARED, BLOCK, GRID, OP, ELIGIBLE, USED, OCCURRENCES, TOTAL,
	AVERAGE, LEAST, MOST, MEDIAN, P99, OCCUPANCY, LIMIT, SHARE, SOURCE, UNTIMED, PERCENTILES, LOCAL, CLUSTER, WAVES,
	DEVICE, MANGLED, CLASS, PRECISION, DEVIATION, FUSED, COLUMNS
};

static const struct table_column columns[] = {
	[RANK] = {"rank", "#", TABLE_INTEGER, UNIT_NONE, 0, "by total time"},
	[NAME] = {"kernel_name", "kernel", TABLE_TEXT, UNIT_NONE, 0, "its name, demangled, without parameters"},
	[REGISTERS] = {"registers_per_thread", "regs", TABLE_INTEGER, UNIT_COUNT, 2, "registers of a thread"},
	[STATIC_SHARED] = {"static_shared_bytes", "static sh.", TABLE_INTEGER, UNIT_BYTES, 4,
			   "shared memory of a block, fixed in the code"},
	[DYNAMIC_SHARED] = {"dynamic_shared_bytes", "dyn. sh.", TABLE_INTEGER, UNIT_BYTES, 4,
			    "shared memory of a block, asked for at launch"},
	[SHARED] = {"shared_bytes", "shared", TABLE_INTEGER, UNIT_BYTES, 3, "both together"},
	[BLOCK] = {"block", "block", TABLE_TEXT, UNIT_NONE, 2, "threads of a block: x,y,z"},
	[GRID] = {"grid", "grid", TABLE_TEXT, UNIT_NONE, 2, "blocks: x,y,z"},
	[OP] = {"op_name", "op", TABLE_TEXT, UNIT_NONE, 1,
		"innermost op or range that its launching thread was in; of a graph's node: that it was made in; empty = none was known"},
	[ELIGIBLE] = {"tensor_core_eligible", "tc could", TABLE_INTEGER, UNIT_NONE, 3,
		      "1 = a matrix product or convolution, by the name of operation or kernel (inferred)"},
	[USED] = {"tensor_core_used", "tc", TABLE_INTEGER, UNIT_NONE, 2,
		  "1 = holds matrix instructions; see tensor_core_source; empty = a device of AMD's"},
	[OCCURRENCES] = {"occurrences", "times", TABLE_INTEGER, UNIT_COUNT, 0, "how often it ran"},
	[TOTAL] = {"total_ns", "total", TABLE_INTEGER, UNIT_NS, 0, "time on the device, in all"},
	[AVERAGE] = {"avg_ns", "avg", TABLE_INTEGER, UNIT_NS, 0, "total_ns / occurrences with a time"},
	[LEAST] = {"min_ns", "min", TABLE_INTEGER, UNIT_NS, 1, "shortest"},
	[MOST] = {"max_ns", "max", TABLE_INTEGER, UNIT_NS, 1, "longest"},
	[MEDIAN] = {"p50_ns", "p50", TABLE_INTEGER, UNIT_NS, 3, "half took at most that"},
	[P99] = {"p99_ns", "p99", TABLE_INTEGER, UNIT_NS, 3, "99 of 100 took at most that"},
	[OCCUPANCY] = {"occupancy_percent", "occup. %", TABLE_REAL, UNIT_NONE, 2,
		       "warps that fit on a multiprocessor at once, of the most it takes (theoretical)"},
	[LIMIT] = {"occupancy_limit", "limited by", TABLE_TEXT, UNIT_NONE, 3, "what keeps more blocks from fitting"},
	[SHARE] = {"share", "share", TABLE_REAL, UNIT_RATIO, 1, "of the time of all kernels shown and not shown"},
	[SOURCE] = {"tensor_core_source", "tc from", TABLE_TEXT, UNIT_NONE, 4,
		    "code: the module's own instructions; name: inferred from it"},
	[UNTIMED] = {"untimed", "untimed", TABLE_INTEGER, UNIT_COUNT, 4, "occurrences with impossible times: not in the times"},
	[PERCENTILES] = {"percentiles", "pct. are", TABLE_TEXT, UNIT_NONE, 4, "exact, or classed (at most 1/128 off)"},
	[LOCAL] = {"local_bytes", "local", TABLE_INTEGER, UNIT_BYTES, 4,
		   "local memory of a thread: spilled registers and arrays"},
	[CLUSTER] = {"cluster", "cluster", TABLE_TEXT, UNIT_NONE, 4, "blocks of a cluster: x,y,z; empty = none"},
	[WAVES] = {"waves", "waves", TABLE_REAL, UNIT_NONE, 4, "blocks of the grid / blocks that fit on the device at once"},
	[DEVICE] = {"device", "device", TABLE_INTEGER, UNIT_NONE, 3, "CUDA ordinal; empty where it ran on several"},
	[MANGLED] = {"mangled_name", "mangled", TABLE_TEXT, UNIT_NONE, 5, "its name as the linker knows it"},
	[CLASS] = {"class", "class", TABLE_TEXT, UNIT_NONE, 3,
		   "what it is for, by the names of kernel and operation (inferred): product, "
		   "collective, layout, image, norm part, other"},
	[PRECISION] = {"precision", "precision", TABLE_TEXT, UNIT_NONE, 2,
		       "16, tf32, 8, 32, 64 (bits) or unknown: what it computes in, by its name (inferred)"},
	[DEVIATION] = {"deviation_ns", "deviation", TABLE_REAL, UNIT_NS, 4,
		       "standard deviation of one run, of a sample; empty = fewer than two"},
	[FUSED] = {"fused_ops", "fused", TABLE_TEXT, UNIT_NONE, 3,
		   "of a Triton kernel that torch.compile wrote: the ops that it was made of, parted out of its name (inferred)"},
};

/* A row: the same kernel, configuration and operation, over processes, queues and threads. */
struct row {
	const struct process *process; /* one of them */
	const struct gpu_shape *shape; /* NULL = unknown */
	const char *op;
	uint32_t device; /* GPU_NONE - 1 = several */
	uint64_t occurrences, untimed;
	struct spread times;
	bool has_shapes; /* several, with --group-by=kernel */
};
#define SEVERAL (GPU_NONE - 1)

struct rows {
	struct row *list;
	size_t count, room;
	struct base_index index;
	bool is_by_kernel; /* --group-by=kernel: configurations and operations together */
};

static const char *name_of(const struct row *row)
{
	const struct gpu *gpu = row->process->gpu;

	return row->shape && row->shape->kernel < gpu->name_count ? gpu->names[row->shape->kernel] : "";
}

/* All but name and id of two shapes. */
static bool same_shape(const struct gpu_shape *a, const struct gpu_shape *b)
{
	return memcmp(a->grid, b->grid, sizeof(a->grid)) == 0 && memcmp(a->block, b->block, sizeof(a->block)) == 0 &&
	       memcmp(a->cluster, b->cluster, sizeof(a->cluster)) == 0 && a->registers == b->registers &&
	       a->static_shared == b->static_shared && a->dynamic_shared == b->dynamic_shared &&
	       a->local_bytes == b->local_bytes && a->kind == b->kind;
}

/* Of one process the same texts have the same address. */
static bool same_text(const char *a, const char *b)
{
	return a == b || strcmp(a, b) == 0;
}

static bool row_equal(const void *context, const void *key, uint32_t number)
{
	const struct row *have = &((const struct rows *)context)->list[number], *want = key;

	if (((const struct rows *)context)->is_by_kernel)
		return !have->shape == !want->shape && same_text(name_of(have), name_of(want));
	if (!have->shape || !want->shape)
		return have->shape == want->shape && same_text(have->op, want->op);
	return same_text(have->op, want->op) && same_shape(have->shape, want->shape) && same_text(name_of(have), name_of(want));
}

static uint64_t row_hash(const struct rows *rows, const struct row *row)
{
	const char *name = name_of(row);
	uint64_t hash = base_hash(BASE_HASH, name, strlen(name));

	if (rows->is_by_kernel)
		return hash;
	hash = base_hash(hash, row->op, strlen(row->op));
	if (!row->shape)
		return hash;
	hash = base_hash(hash, row->shape->grid, sizeof(row->shape->grid));
	return base_hash(hash, row->shape->block, sizeof(row->shape->block));
}

static struct row *row_of(struct rows *rows, const struct row *key)
{
	uint64_t hash = row_hash(rows, key);
	uint32_t number = base_index_find(&rows->index, hash, row_equal, rows, key);

	if (number == UINT32_MAX) {
		number = (uint32_t)rows->count++;
		rows->list = base_grow(rows->list, &rows->room, rows->count, sizeof(*rows->list));
		rows->list[number] = *key;
		base_index_add(&rows->index, hash, number);
	}
	return &rows->list[number];
}

static void take_process(struct rows *rows, const struct request *request, const struct process *process)
{
	const struct gpu *gpu = process->gpu;

	for (size_t i = 0; i < gpu->kernel_count; i++) {
		const struct gpu_kernel *kernel = &gpu->kernels[i];
		struct row key = {.process = process, .device = gpu_queue_device(gpu, kernel->queue)}, *row;
		if (!gpu_wants_queue(request, gpu, kernel->queue) || !gpu_wants_thread(request, process, kernel->thread))
			continue;
		key.shape = kernel->shape < gpu->shape_count ? &gpu->shapes[kernel->shape] : NULL;
		key.op = kernel->op < process->op_count ? process->op_names[kernel->op] : "";
		row = row_of(rows, &key);
		row->occurrences += kernel->occurrences;
		row->untimed += kernel->untimed;
		row->device = row->device == key.device ? row->device : SEVERAL;
		row->has_shapes |= row->shape && key.shape && !same_shape(row->shape, key.shape);
		if (strcmp(row->op, key.op) != 0)
			row->op = "(several)";
		spread_merge(&row->times, &kernel->times);
	}
}

static int by_total(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->times.sum != y->times.sum)
		return x->times.sum > y->times.sum ? -1 : 1;
	return x->occurrences != y->occurrences ? (x->occurrences > y->occurrences ? -1 : 1) : strcmp(name_of(x), name_of(y));
}

static void put_three(struct table *table, size_t column, const uint32_t three[3])
{
	char text[48];

	snprintf(text, sizeof(text), "%u,%u,%u", three[0], three[1], three[2]);
	table_string(table, column, text);
}

static const struct gpu_device *device_of(const struct row *row)
{
	return gpu_find_device(row->process->gpu, row->device == SEVERAL ? 0 : row->device);
}

static void put_occupancy(struct table *table, const struct row *row)
{
	const struct gpu_shape *shape = row->shape;
	const struct gpu_device *device = device_of(row);
	struct occupancy occupancy;
	char text[64];

	if (shape->occupancy) /* the file of another profiler says so */
		table_real(table, OCCUPANCY, shape->occupancy / 1000.0);
	if (shape->occupancy || !occupancy_of_launch(device, shape, &occupancy))
		return;
	table_real(table, OCCUPANCY, 100.0 * (double)occupancy.warps / (double)occupancy.most_warps);
	table_string(table, LIMIT, occupancy_limit_text(occupancy.limits, text));
	if (occupancy.blocks && device->multiprocessors)
		table_real(table, WAVES,
			   (double)shape->grid[0] * shape->grid[1] * shape->grid[2] /
				   ((double)occupancy.blocks * (double)device->multiprocessors));
}

static void put_tensor(struct table *table, const struct row *row)
{
	const struct gpu *gpu = row->process->gpu;
	const struct gpu_device *device = gpu_find_device(gpu, row->device);
	bool is_from_code, used = gpu_uses_tensor_cores(gpu, row->shape->kernel, device, &is_from_code);

	bool is_told = is_from_code || !gpu_is_of_hip(gpu);

	if (is_told) {
		table_integer(table, USED, used);
		table_string(table, SOURCE, is_from_code ? "code" : "name");
	}
	table_integer(table, ELIGIBLE, (is_told && used) || tensor_name_could(name_of(row), row->op));
}

static void put_fused(struct table *table, const char *kernel)
{
	struct text text = {0};

	fused_ops_put(&text, kernel);
	if (text.length)
		table_text(table, FUSED, text.bytes, text.length);
	text_free(&text);
}

static void put_shape(struct table *table, const struct row *row)
{
	const struct gpu_shape *shape = row->shape;

	gpu_put_kernel(table, NAME, row->process->gpu, shape->kernel);
	table_string(table, MANGLED, name_of(row));
	put_tensor(table, row);
	put_fused(table, name_of(row));
	if (row->has_shapes)
		return;
	table_integer(table, REGISTERS, shape->registers);
	table_integer(table, STATIC_SHARED, shape->static_shared);
	table_integer(table, DYNAMIC_SHARED, shape->dynamic_shared);
	table_integer(table, SHARED, (int64_t)shape->static_shared + shape->dynamic_shared);
	table_integer(table, LOCAL, shape->local_bytes);
	put_three(table, BLOCK, shape->block);
	put_three(table, GRID, shape->grid);
	if (shape->cluster[0])
		put_three(table, CLUSTER, shape->cluster);
	put_occupancy(table, row);
}

static void add_row(struct table *table, const struct row *row, size_t rank, uint64_t all)
{
	table_row(table);
	table_integer(table, RANK, (int64_t)rank);
	if (row->shape)
		put_shape(table, row);
	else
		table_string(table, NAME, "[unknown: its name was not recorded]");
	if (row->op[0])
		table_string(table, OP, row->op);
	table_string(table, PRECISION, part_precision(part_of_kernel(name_of(row), false)));
	table_string(table, CLASS, kernel_class_name(kernel_class_of(name_of(row), row->op)));
	table_integer(table, OCCURRENCES, (int64_t)row->occurrences);
	table_integer(table, UNTIMED, (int64_t)row->untimed);
	gpu_put_spread(table, TOTAL, &row->times);
	gpu_put_deviation(table, DEVIATION, &row->times);
	table_string(table, PERCENTILES, row->times.is_classed ? "classed" : "exact");
	if (all)
		table_real(table, SHARE, (double)row->times.sum / (double)all);
	if (row->device != SEVERAL)
		gpu_put_device(table, DEVICE, row->device);
}

/* Of a capture window that opens when CUDA has long been started CUPTI does not describe the devices. */
static void note_undescribed(struct table *table, const struct rows *rows)
{
	uint64_t count = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->list[i];
		count += row->shape && !row->has_shapes && !row->shape->occupancy && !device_of(row);
	}
	if (count)
		table_note(table, NOTE_MISSING,
			   "Of %" PRIu64 " " BY_COUNT("row", "rows") " occupancy and waves are not known: the log does not describe the "
			   "device, as where a capture window opened after the program had started CUDA.", count);
}

static void fill(struct table *table, const struct request *request)
{
	size_t limit = request_row_limit(request, table->kind);
	struct rows rows = {.is_by_kernel = request->group == GROUP_KERNEL};
	uint64_t all = 0;
	bool any_classed = false;

	if (!gpu_any(table, request))
		return;
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request->run->processes[i].gpu && request_wants_process(request, &request->run->processes[i]))
			take_process(&rows, request, &request->run->processes[i]);
	if (rows.count)
		qsort(rows.list, rows.count, sizeof(*rows.list), by_total);
	note_undescribed(table, &rows);
	for (size_t i = 0; i < rows.count; i++)
		all += rows.list[i].times.sum;
	for (size_t i = 0; i < rows.count; i++) {
		any_classed |= rows.list[i].times.is_classed != 0;
		if (i < limit)
			add_row(table, &rows.list[i], i + 1, all);
		spread_free(&rows.list[i].times);
	}
	table->omitted_count = rows.count - table->row_count;
	base_index_free(&rows.index);
	free(rows.list);
	gpu_note_percentiles(table, any_classed);
	table_note(table, NOTE_INFERRED,
		   "class, fused_ops, tensor_core_eligible, and tensor_core_used where its source is name, are inferred from names.");
	gpu_note_whole_graphs(table, request);
	gpu_notes(table, request);
}

const struct table_kind table_kernel_stats = {
	.id = "kernel_stats",
	.title = "Kernels",
	.help = "Every kernel by launch configuration and operation: how often, how long, how much of the device it can fill.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = GPU_FILTERS | FILTER_GROUP_KERNEL,
	.text_rows = 25,
	.needs_scan = true,
	.fill = fill,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver functions that launch kernels, and occupancy.
 *
 * Rule: the first launch of a function loads it (lazy loading), which the subscriber hears as overhead.
 */
#include <string.h>

#include "driver.h"

static int launch(const struct sim_launch *launch, void *handle)
{
	struct sim_stream *stream;
	int result = sim_stream_find(handle, &stream);
	uint64_t start = sim_clock_now();

	if (result)
		return result;
	if (!launch->function)
		return SIM_INVALID_HANDLE;
	if (!__atomic_exchange_n(&launch->function->is_loaded, true, __ATOMIC_ACQ_REL)) {
		if (launch->function->module)
			sim_module_loaded(launch->function->module, stream->context);
		sim_tell_overhead(65536u * 5, start, sim_clock_now());
	}
	return sim_launch(stream, launch);
}

int do_cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
		      unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra)
{
	struct sim_launch what = {.function = sim_driver_function(function), .grid = {grid_x, grid_y, grid_z},
				  .block = {block_x, block_y, block_z}, .shared = shared};

	(void)parameters;
	(void)extra;
	return launch(&what, stream);
}

int do_cuLaunchCooperativeKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
				 unsigned block_z, unsigned shared, void *stream, void **parameters)
{
	struct sim_launch what = {.function = sim_driver_function(function), .grid = {grid_x, grid_y, grid_z},
				  .block = {block_x, block_y, block_z}, .shared = shared, .is_cooperative = true};

	(void)parameters;
	return launch(&what, stream);
}

/* CUlaunchConfig: grid and block, shared bytes, stream, attributes (64 bytes each: id at 0, value at 8). */
struct configuration {
	unsigned grid[3], block[3], shared;
	void *stream;
	const unsigned char *attributes;
	unsigned count;
};

int do_cuLaunchKernelEx(void *config, void *function, void **parameters, void **extra)
{
	const struct configuration *from = config;
	struct sim_launch what = {.function = sim_driver_function(function)};
	int id, flag;

	(void)parameters;
	(void)extra;
	if (!from)
		return SIM_INVALID_VALUE;
	memcpy(what.grid, from->grid, sizeof what.grid);
	memcpy(what.block, from->block, sizeof what.block);
	what.shared = from->shared;
	for (unsigned i = 0; i < from->count; i++) {
		memcpy(&id, from->attributes + 72 * i, sizeof id);
		memcpy(&flag, from->attributes + 72 * i + 8, sizeof flag);
		if (id == 2)
			what.is_cooperative = flag != 0;
		else if (id == 4)
			memcpy(what.cluster, from->attributes + 72 * i + 8, sizeof what.cluster);
	}
	return launch(&what, from->stream);
}

/* Blocks of a function that fit one multiprocessor at once: by threads, blocks, registers, shared memory. */
int do_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *handle, int size, size_t shared, unsigned flags)
{
	const struct sim_function *function = sim_driver_function(handle);
	const struct sim_device *f;
	struct sim_context *context;
	int result = sim_here(&context), warps, by_threads, by_registers, by_shared;
	size_t used;

	(void)flags;
	if (result)
		return result;
	if (!function || !blocks || size <= 0)
		return function ? SIM_INVALID_VALUE : SIM_INVALID_HANDLE;
	f = &context->machine->facts;
	warps = (size + 31) / 32;
	used = (function->static_shared + shared + 1024 + 127) / 128 * 128;
	by_threads = f->max_threads_per_sm / 32 / warps;
	by_registers = function->registers ? f->registers_per_sm / ((int)(function->registers + 7) / 8 * 8 * 32 * warps) : by_threads;
	by_shared = (int)(f->shared_per_sm / used);
	*blocks = f->max_blocks_per_sm;
	*blocks = by_threads < *blocks ? by_threads : *blocks;
	*blocks = by_registers < *blocks ? by_registers : *blocks;
	*blocks = by_shared < *blocks ? by_shared : *blocks;
	return SIM_OK;
}

int do_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int size, size_t shared)
{
	return do_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, size, shared, 0);
}

int do_cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, void *handle, int blocks, int size)
{
	const struct sim_function *function = sim_driver_function(handle);
	struct sim_context *context;
	size_t room;
	int result = sim_here(&context);

	if (result || !function || !bytes || blocks <= 0 || size <= 0)
		return result ? result : SIM_INVALID_VALUE;
	room = context->machine->facts.shared_per_sm / (size_t)blocks - 1024;
	*bytes = room > function->static_shared ? room - function->static_shared : 0;
	return SIM_OK;
}

/* Blocks of a cluster, by attribute 4 of the launch. */
static unsigned cluster_of(const struct configuration *from)
{
	unsigned size[3] = {1, 1, 1};
	int id;

	for (unsigned i = 0; i < from->count; i++) {
		memcpy(&id, from->attributes + 72 * i, sizeof id);
		if (id == 4)
			memcpy(size, from->attributes + 72 * i + 8, sizeof size);
	}
	return size[0] * size[1] * size[2];
}

int do_cuOccupancyMaxActiveClusters(int *clusters, void *function, void *config)
{
	const struct configuration *from = config;
	struct sim_context *context;
	int result = sim_here(&context), blocks;

	if (result || !clusters || !from)
		return result ? result : SIM_INVALID_VALUE;
	result = do_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, (int)(from->block[0] * from->block[1] * from->block[2]),
								from->shared);
	if (!result)
		*clusters = blocks * context->machine->facts.sm_count / (int)cluster_of(from);
	return result;
}

int do_cuOccupancyMaxPotentialClusterSize(int *size, void *function, void *config)
{
	if (!size || !config || !sim_driver_function(function))
		return SIM_INVALID_VALUE;
	*size = 8;
	return SIM_OK;
}

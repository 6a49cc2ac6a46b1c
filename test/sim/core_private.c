/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches for simulated libraries with a runtime of their own inside (cuBLAS, cuDNN, NCCL): no exported cuda function is
 * called, so no hook sees them; the subscriber sees cudaLaunchKernel around cuLaunchKernel, as with the real libraries.
 *
 * Rule: the kernel is known by its name alone; the names stay for the process's life.
 */
#include <stdlib.h>
#include <string.h>

#include "inner.h"

#define RUNTIME_LAUNCH 211	/* CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000 */
#define DRIVER_LAUNCH 307	/* CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel */

static struct sim_function *functions;	/* under the lock */

static struct sim_function *function_named(const char *name)
{
	struct sim_function *function;

	sim_lock();
	for (function = functions; function && strcmp(function->name, name); function = function->next)
		;
	if (!function) {
		function = sim_object_new(sizeof *function);
		*function = (struct sim_function){.magic = SIM_MAGIC_FUNCTION, .name = strdup(name), .next = functions,
						  .registers = 128, .max_threads = 1024, .max_dynamic_shared = 232448};
		functions = function;
	}
	sim_unlock();
	return function;
}

int sim_private_launch(const char *name, const uint32_t grid[3], const uint32_t block[3], uint64_t shared, void *handle)
{
	struct sim_launch launch = {.function = function_named(name), .shared = (uint32_t)shared};
	const struct {
		const void *function;
		uint32_t grid[3], block[3];
		void **arguments;
		size_t shared;
		void *stream;
	} runtime = {launch.function, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, NULL, shared, handle};
	const struct {
		const void *function;
		uint32_t grid[3], block[3], shared;
		void *stream, **parameters, **extra;
	} driver = {launch.function, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, (uint32_t)shared, handle, NULL, NULL};
	struct sim_stream *stream;
	int result = sim_init();
	struct sim_call outer = {.domain = SIM_RUNTIME, .cbid = RUNTIME_LAUNCH, .name = "cudaLaunchKernel", .params = &runtime,
				 .symbol = launch.function->name, .result = &result};
	struct sim_call inner = {.domain = SIM_DRIVER, .cbid = DRIVER_LAUNCH, .name = "cuLaunchKernel", .params = &driver,
				 .symbol = launch.function->name, .result = &result};

	if (result || (result = sim_check()))
		return result;
	memcpy(launch.grid, grid, sizeof launch.grid);
	memcpy(launch.block, block, sizeof launch.block);
	sim_call_enter(&outer);
	sim_call_enter(&inner);
	result = sim_stream_find(handle, &stream);
	result = result ? result : sim_launch(stream, &launch);
	sim_call_exit(&inner);
	sim_call_exit(&outer);
	return result;
}

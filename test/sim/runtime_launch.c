/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runtime functions of kernels: launches, attributes, occupancy, libraries, symbols.
 *
 * Rule: a kernel that cannot be found is error 98, dimensions that the device refuses are error 9.
 */
#include <string.h>

#include "runtime.h"

static int configuration_error(int result)
{
	return result == SIM_INVALID_VALUE ? SIM_INVALID_CONFIGURATION : result;
}

int do_cudaLaunchKernel(void *handle, struct sim_dim3 grid, struct sim_dim3 block, void **arguments, size_t shared, void *stream)
{
	void *function;
	int result = sim_runtime_kernel(handle, &function);

	if (result)
		return result;
	return configuration_error(sim_cu.cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared,
							 sim_runtime_stream(stream), arguments, NULL));
}

int do___cudaLaunchKernel(void *kernel, struct sim_dim3 grid, struct sim_dim3 block, void **arguments, size_t shared, void *stream)
{
	return do_cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

int do_cudaLaunchCooperativeKernel(void *handle, struct sim_dim3 grid, struct sim_dim3 block, void **arguments, size_t shared, void *stream)
{
	void *function;
	int result = sim_runtime_kernel(handle, &function);

	if (result)
		return result;
	return configuration_error(sim_cu.cuLaunchCooperativeKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
								    (unsigned)shared, sim_runtime_stream(stream), arguments));
}

/* cudaLaunchConfig_t and CUlaunchConfig differ in the width of the shared bytes alone. */
struct runtime_configuration {
	struct sim_dim3 grid, block;
	size_t shared;
	void *stream, *attributes;
	unsigned count;
};
struct driver_configuration {
	struct sim_dim3 grid, block;
	unsigned shared;
	void *stream, *attributes;
	unsigned count;
};

int do_cudaLaunchKernelExC(void *config, void *handle, void **arguments)
{
	const struct runtime_configuration *from = config;
	struct driver_configuration to;
	void *function;
	int result = from ? sim_runtime_kernel(handle, &function) : SIM_INVALID_VALUE;

	if (result)
		return result;
	to = (struct driver_configuration){from->grid, from->block, (unsigned)from->shared, sim_runtime_stream(from->stream),
					   from->attributes, from->count};
	return configuration_error(sim_cu.cuLaunchKernelEx(&to, function, arguments, NULL));
}

static int configured(const struct runtime_configuration *from, void *handle, struct driver_configuration *to, void **function)
{
	int result = from ? sim_runtime_kernel(handle, function) : SIM_INVALID_VALUE;

	if (!result)
		*to = (struct driver_configuration){from->grid, from->block, (unsigned)from->shared, NULL, from->attributes, from->count};
	return result;
}

int do_cudaOccupancyMaxActiveClusters(int *clusters, void *handle, void *config)
{
	struct driver_configuration to;
	void *function;
	int result = configured(config, handle, &to, &function);

	return result ? result : sim_cu.cuOccupancyMaxActiveClusters(clusters, function, &to);
}

int do_cudaOccupancyMaxPotentialClusterSize(int *size, void *handle, void *config)
{
	struct driver_configuration to;
	void *function;
	int result = configured(config, handle, &to, &function);

	return result ? result : sim_cu.cuOccupancyMaxPotentialClusterSize(size, function, &to);
}

int do_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, void *handle, int blocks, int size)
{
	void *function;
	int result = sim_runtime_kernel(handle, &function);

	return result ? result : sim_cu.cuOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks, size);
}

int do_cudaLaunchHostFunc(void *stream, void *function, void *data)
{
	return sim_cu.cuLaunchHostFunc(sim_runtime_stream(stream), function, data);
}

/* cudaFuncAttributes */
struct attributes {
	size_t shared, constant, local;
	int max_threads, registers, ptx, binary, cache, dynamic_shared, carveout;
	int more[21];
};

int do_cudaFuncGetAttributes(void *to, void *handle)
{
	struct attributes *attributes = to;
	int values[9], result;
	void *function;

	if (!to)
		return SIM_INVALID_VALUE;
	result = sim_runtime_kernel(handle, &function);
	for (int i = 0; i < 9 && !result; i++)
		result = sim_cu.cuFuncGetAttribute(&values[i], i, function);
	if (result)
		return result;
	memset(attributes, 0, sizeof *attributes - sizeof attributes->more);
	attributes->max_threads = values[0];
	attributes->shared = (size_t)values[1];
	attributes->constant = (size_t)values[2];
	attributes->local = (size_t)values[3];
	attributes->registers = values[4];
	attributes->ptx = values[5];
	attributes->binary = values[6];
	attributes->dynamic_shared = values[8];
	return SIM_OK;
}

int do_cudaFuncSetAttribute(void *handle, int attribute, int value)
{
	void *function;
	int result = sim_runtime_kernel(handle, &function);

	return result ? result : sim_cu.cuFuncSetAttribute(function, attribute, value);
}

int do_cudaFuncSetCacheConfig(void *handle, int config)
{
	void *function;
	int result = sim_runtime_kernel(handle, &function);

	return result ? result : sim_cu.cuFuncSetCacheConfig(function, config);
}

int do_cudaFuncGetName(const char **name, void *handle)
{
	void *function;
	int result = sim_runtime_kernel(handle, &function);

	return result ? result : sim_cu.cuFuncGetName(name, function);
}

int do_cudaFuncGetParamInfo(void *handle, size_t index, size_t *offset, size_t *size)
{
	void *function;
	int result = sim_runtime_kernel(handle, &function);

	return result ? result : sim_cu.cuFuncGetParamInfo(function, index, offset, size);
}

int do_cudaGetFuncBySymbol(void **function, void *handle)
{
	return sim_runtime_kernel(handle, function);
}

int do_cudaGetKernel(void **kernel, void *handle)
{
	return sim_runtime_kernel(handle, kernel);
}

int do_cudaGetSymbolAddress(void **address, void *shadow)
{
	uint64_t place;
	size_t bytes;
	int result = sim_runtime_symbol(shadow, &place, &bytes);

	if (!result)
		*address = (void *)(uintptr_t)place;
	return result;
}

int do_cudaGetSymbolSize(size_t *size, void *shadow)
{
	uint64_t place;

	return sim_runtime_symbol(shadow, &place, size);
}

int do_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *handle, int size, size_t shared, unsigned flags)
{
	void *function;
	int result = sim_runtime_kernel(handle, &function);

	return result ? result : sim_cu.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, size, shared, flags);
}

int do_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *handle, int size, size_t shared)
{
	return do_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, size, shared, 0);
}

int do_cudaLibraryLoadData(void **library, void *image, int *jit, void **jit_values, unsigned jit_count, int *options, void **values,
			   unsigned count)
{
	return sim_cu.cuLibraryLoadData(library, image, jit, jit_values, jit_count, options, values, count);
}

int do_cudaLibraryLoadFromFile(void **library, const char *path, int *jit, void **jit_values, unsigned jit_count, int *options,
			       void **values, unsigned count)
{
	return sim_cu.cuLibraryLoadFromFile(library, path, jit, jit_values, jit_count, options, values, count);
}

int do_cudaLibraryUnload(void *library)
{
	return sim_cu.cuLibraryUnload(library);
}

int do_cudaLibraryGetKernel(void **kernel, void *library, const char *name)
{
	return sim_cu.cuLibraryGetKernel(kernel, library, name);
}

int do_cudaLibraryGetKernelCount(unsigned *count, void *library)
{
	return sim_cu.cuLibraryGetKernelCount(count, library);
}

int do_cudaLibraryGetGlobal(void **address, size_t *bytes, void *library, const char *name)
{
	return sim_cu.cuLibraryGetGlobal((uint64_t *)address, bytes, library, name);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver functions of modules, libraries, kernels and functions, and what they cost.
 *
 * Rule: a CUkernel and a CUfunction are the same object here, as are a CUlibrary and a CUmodule.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"

/* The file's bytes and a NUL behind them; NULL when it cannot be read. */
static char *read_whole(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	char *text = NULL;
	long length;

	if (!file)
		return NULL;
	if (!fseek(file, 0, SEEK_END) && (length = ftell(file)) >= 0 && !fseek(file, 0, SEEK_SET)) {
		text = sim_allocate((size_t)length + 4097);
		*size = fread(text, 1, (size_t)length, file);
	}
	fclose(file);
	return text;
}

int do_cuModuleLoadDataEx(void **module, void *image, unsigned count, void *options, void **values)
{
	struct sim_context *context;
	int result = sim_here(&context);

	(void)count;
	(void)options;
	(void)values;
	return result ? result : sim_module_load(context, image, 1, (struct sim_module **)module);
}

int do_cuModuleLoadData(void **module, void *image)
{
	return do_cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

int do_cuModuleLoadFatBinary(void **module, void *image)
{
	return do_cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

int do_cuModuleLoad(void **module, const char *path)
{
	size_t size;
	char *image = read_whole(path, &size);
	int result = image ? do_cuModuleLoadData(module, image) : SIM_FILE_NOT_FOUND;

	free(image);
	return result;
}

int do_cuModuleUnload(void *module)
{
	return sim_module_unload(module);
}

int do_cuModuleGetFunction(void **function, void *module, const char *name)
{
	if (!sim_module_is_live(module))
		return SIM_INVALID_HANDLE;
	if (!function || !name)
		return SIM_INVALID_VALUE;
	*function = sim_module_function(module, name);
	return *function ? SIM_OK : SIM_NOT_FOUND;
}

int do_cuModuleGetFunctionCount(unsigned *count, void *handle)
{
	struct sim_module *module = handle;

	if (!sim_module_is_live(module))
		return SIM_INVALID_HANDLE;
	*count = 0;
	for (struct sim_function *function = module->functions; function; function = function->next)
		++*count;
	return SIM_OK;
}

int do_cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, void *module, const char *name)
{
	struct sim_variable *variable;
	struct sim_context *context;
	struct sim_block *block;
	int result = sim_here(&context);

	if (result)
		return result;
	if (!sim_module_is_live(module))
		return SIM_INVALID_HANDLE;
	variable = sim_module_variable(module, name);
	if (!variable)
		return SIM_NOT_FOUND;
	if (!variable->address) {
		block = sim_memory_static(context, variable->name, variable->bytes);
		if (!block)
			return SIM_OUT_OF_MEMORY;
		variable->address = (void *)(uintptr_t)block->address;
	}
	if (address)
		*address = (uintptr_t)variable->address;
	if (bytes)
		*bytes = variable->bytes;
	return SIM_OK;
}

int do_cuModuleGetLoadingMode(void *mode)
{
	if (!mode)
		return SIM_INVALID_VALUE;
	*(int *)mode = 2; /* lazy */
	return SIM_OK;
}

int do_cuLibraryLoadData(void **library, void *image, void *jit, void **jit_values, unsigned jit_count, void *options, void **values,
			 unsigned count)
{
	(void)jit;
	(void)jit_values;
	(void)jit_count;
	(void)options;
	(void)values;
	(void)count;
	return sim_module_load(NULL, image, 0, (struct sim_module **)library);
}

int do_cuLibraryLoadFromFile(void **library, const char *path, void *jit, void **jit_values, unsigned jit_count, void *options,
			     void **values, unsigned count)
{
	size_t size;
	char *image = read_whole(path, &size);
	int result = image ? do_cuLibraryLoadData(library, image, jit, jit_values, jit_count, options, values, count) : SIM_FILE_NOT_FOUND;

	free(image);
	return result;
}

int do_cuLibraryUnload(void *library)
{
	return sim_module_unload(library);
}

int do_cuLibraryGetKernel(void **kernel, void *library, const char *name)
{
	return do_cuModuleGetFunction(kernel, library, name);
}

int do_cuLibraryGetKernelCount(unsigned *count, void *library)
{
	return do_cuModuleGetFunctionCount(count, library);
}

int do_cuLibraryGetModule(void **module, void *library)
{
	struct sim_context *context;
	int result = sim_here(&context);

	if (result)
		return result;
	if (!sim_module_is_live(library))
		return SIM_INVALID_HANDLE;
	sim_module_loaded(library, context);
	*module = library;
	return SIM_OK;
}

int do_cuLibraryGetGlobal(uint64_t *address, size_t *bytes, void *library, const char *name)
{
	return do_cuModuleGetGlobal_v2(address, bytes, library, name);
}

int do_cuKernelGetFunction(void **function, void *kernel)
{
	struct sim_context *context;
	int result = sim_here(&context);

	if (result)
		return result;
	if (!sim_function_is_live(kernel))
		return SIM_INVALID_HANDLE;
	sim_module_loaded(((struct sim_function *)kernel)->module, context);
	*function = kernel;
	return SIM_OK;
}

int do_cuKernelGetLibrary(void **library, void *kernel)
{
	if (!sim_function_is_live(kernel))
		return SIM_INVALID_HANDLE;
	*library = ((struct sim_function *)kernel)->module;
	return SIM_OK;
}

int do_cuFuncGetName(const char **name, void *function)
{
	if (!sim_function_is_live(function))
		return SIM_INVALID_HANDLE;
	*name = ((struct sim_function *)function)->name;
	return SIM_OK;
}

int do_cuKernelGetName(const char **name, void *kernel)
{
	return do_cuFuncGetName(name, kernel);
}

int do_cuFuncGetModule(void **module, void *function)
{
	return do_cuKernelGetLibrary(module, function);
}

/* CUfunction_attribute. */
int do_cuFuncGetAttribute(int *value, int attribute, void *handle)
{
	const struct sim_function *function = handle;

	if (!sim_function_is_live(function))
		return SIM_INVALID_HANDLE;
	const int values[] = {(int)function->max_threads, (int)function->static_shared, (int)function->constant_bytes,
			      (int)function->local_bytes, (int)function->registers, 90, 90, 0,
			      function->max_dynamic_shared ? function->max_dynamic_shared : 49152 - (int)function->static_shared};

	if (!value || attribute < 0)
		return SIM_INVALID_VALUE;
	*value = attribute < 9 ? values[attribute] : 0;
	return SIM_OK;
}

int do_cuFuncSetAttribute(void *handle, int attribute, int value)
{
	struct sim_function *function = handle;

	if (!sim_function_is_live(function))
		return SIM_INVALID_HANDLE;
	if (attribute == 8)
		function->max_dynamic_shared = value;
	return attribute >= 8 && attribute <= 15 ? SIM_OK : SIM_INVALID_VALUE;
}

int do_cuKernelGetAttribute(int *value, int attribute, void *kernel, int device)
{
	(void)device;
	return do_cuFuncGetAttribute(value, attribute, kernel);
}

int do_cuKernelSetAttribute(int attribute, int value, void *kernel, int device)
{
	(void)device;
	return do_cuFuncSetAttribute(kernel, attribute, value);
}

int do_cuFuncSetCacheConfig(void *function, int config)
{
	(void)config;
	return sim_function_is_live(function) ? SIM_OK : SIM_INVALID_HANDLE;
}

int do_cuFuncIsLoaded(void *state, void *function)
{
	if (!sim_function_is_live(function))
		return SIM_INVALID_HANDLE;
	*(int *)state = ((struct sim_function *)function)->is_loaded;
	return SIM_OK;
}

int do_cuFuncLoad(void *function)
{
	if (!sim_function_is_live(function))
		return SIM_INVALID_HANDLE;
	((struct sim_function *)function)->is_loaded = true;
	return SIM_OK;
}

int do_cuFuncGetParamInfo(void *handle, size_t index, size_t *offset, size_t *size)
{
	const struct sim_function *function = handle;

	if (!sim_function_is_live(function))
		return SIM_INVALID_HANDLE;
	if (index >= function->parameter_count)
		return SIM_INVALID_VALUE;
	if (offset)
		*offset = function->parameter_offsets[index];
	if (size)
		*size = function->parameter_sizes[index];
	return SIM_OK;
}

int do_cuKernelGetParamInfo(void *kernel, size_t index, size_t *offset, size_t *size)
{
	return do_cuFuncGetParamInfo(kernel, index, offset, size);
}

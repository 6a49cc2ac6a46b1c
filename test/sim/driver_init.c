/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver front: begin and end of each call, initialisation, versions, names of errors, look-up of functions.
 *
 * Rule: a call that is refused before it begins (no driver, not initialised) is not told to the subscriber.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

int sim_driver_begin(struct sim_call *call, int need)
{
	void *const *params = call->params;
	struct sim_function *function;
	int result = need ? sim_check() : SIM_OK;

	if (result)
		return result;
	if (need >= 2) {
		function = sim_driver_function(params[need - 2]);
		call->symbol = function ? function->name : NULL;
	}
	sim_call_enter(call);
	return sim_call_planted(call);
}

int sim_driver_end(struct sim_call *call, int result, int *place)
{
	*place = result;
	if (call->start)
		sim_call_exit(call);
	return result;
}

struct sim_function *sim_driver_function(void *handle)
{
	return sim_function_is_live(handle) ? handle : NULL;
}

int do_cuInit(unsigned flags)
{
	return flags ? SIM_INVALID_VALUE : sim_init();
}

int do_cuDriverGetVersion(int *version)
{
	if (!version)
		return SIM_INVALID_VALUE;
	*version = (int)sim_setting("driver_version", 13000);
	return SIM_OK;
}

static const struct {
	int code;
	const char *name, *text;
} errors[] = {
	{0, "CUDA_SUCCESS", "no error"},
	{1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	{4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
	{46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "the device is busy or unavailable"},
	{100, "CUDA_ERROR_NO_DEVICE", "no device is detected"},
	{101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{200, "CUDA_ERROR_INVALID_IMAGE", "the kernel image is invalid"},
	{201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image fits the device"},
	{301, "CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
	{400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{600, "CUDA_ERROR_NOT_READY", "device not ready"},
	{700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
	{704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
	{705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access is not enabled"},
	{709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "the context is destroyed"},
	{712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "the memory is already registered"},
	{713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "the memory is not registered"},
	{719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
	{800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
	{801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
	{900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when the stream is capturing"},
	{901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "the capture was invalidated"},
	{906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "a stream that is being captured would have to wait for the legacy stream"},
	{904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "the capture has unjoined work"},
	{910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph update was not performed"},
	{999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static int error_row(int code)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].code == code)
			return (int)i;
	return -1;
}

int do_cuGetErrorName(int code, const char **name)
{
	int row = error_row(code);

	if (name)
		*name = row < 0 ? NULL : errors[row].name;
	return name && row >= 0 ? SIM_OK : SIM_INVALID_VALUE;
}

int do_cuGetErrorString(int code, const char **text)
{
	int row = error_row(code);

	if (text)
		*text = row < 0 ? NULL : errors[row].text;
	return text && row >= 0 ? SIM_OK : SIM_INVALID_VALUE;
}

/* Those whose plain name cuda.h leaves as it is, though there is a second version with other parameters. */
static bool has_plain_name(const char *symbol)
{
	return strcmp(symbol, "cuCtxGetDevice") == 0 || strcmp(symbol, "cuCtxSynchronize") == 0;
}

/* The newest version of a function, with the twin when per-thread streams are asked for (flag 2). */
static void *look_up(const char *symbol, uint64_t flags)
{
	static const char *const versions[] = {"_v4", "_v3", "_v2", ""};
	static const char *const twins[] = {"_ptsz", "_ptds", ""};
	static void *self;
	char name[256];
	void *found = NULL;

	if (!self)
		self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	for (int version = has_plain_name(symbol) ? 3 : 0; version < 4 && !found; version++)
		for (int twin = flags & 2 ? 0 : 2; twin < 3 && !found; twin++) {
			snprintf(name, sizeof name, "%s%s%s", symbol, versions[version], twins[twin]);
			found = dlsym(self, name);
		}
	return found;
}

/* status: 0 found, 1 no such symbol. */
int do_cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, void *status)
{
	(void)version;
	if (!symbol || !function)
		return SIM_INVALID_VALUE;
	*function = look_up(symbol, flags);
	if (status)
		*(int *)status = *function ? 0 : 1;
	return *function ? SIM_OK : SIM_NOT_FOUND;
}

int do_cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
	return do_cuGetProcAddress_v2(symbol, function, version, flags, NULL);
}

int do_cuGetExportTable(void **table, void *id)
{
	(void)id;
	if (table)
		*table = NULL;
	return SIM_NOT_FOUND;
}

int do_cuProfilerInitialize(const char *config, const char *output, int mode)
{
	return config && output && (mode == 0 || mode == 1) ? SIM_OK : SIM_INVALID_VALUE;
}

int do_cuProfilerStart(void)
{
	return SIM_OK;
}

int do_cuProfilerStop(void)
{
	return SIM_OK;
}

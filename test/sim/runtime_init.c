/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime front: begin and end of each call, the driver found, contexts made when first needed, errors remembered.
 *
 * Rule: initialisation happens before the call is told to the subscriber, as with the real runtime.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

#ifndef SIM_RUNTIME_VERSION
#define SIM_RUNTIME_VERSION 13000
#endif

struct sim_driver sim_cu;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int start_error;			/* written once, by start */
static _Atomic(struct sim_context *) primaries[SIM_DEVICES_MAX];	/* each set by whoever first needs it; all find the same */
static __thread int current_device;
static __thread int last_error;

static void start(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	int (*look_up)(const char *, void **, int, uint64_t, void *) = driver ?
		(int (*)(const char *, void **, int, uint64_t, void *))dlsym(driver, "cuGetProcAddress_v2") : NULL;

	if (!look_up) {
		start_error = SIM_INSUFFICIENT_DRIVER;
		return;
	}
#define SIM_API(name, cbid, need, count, ...) *(void **)&sim_cu.name = dlsym(driver, #name);
#define SIM_TWIN(...)
#include "driver_api.def"
#undef SIM_API
#undef SIM_TWIN
	start_error = sim_cu.cuInit(0);
}

int sim_runtime_device(void)
{
	return current_device;
}

int sim_runtime_last_error(bool is_reset)
{
	int error = last_error;

	if (is_reset)
		last_error = SIM_OK;
	return error;
}

int sim_runtime_context(int device, struct sim_context **context)
{
	struct sim_context *known;
	void *made = NULL;
	int result = SIM_OK;

	if (device < 0 || device >= SIM_DEVICES_MAX)
		return SIM_INVALID_DEVICE;
	known = primaries[device];
	if (!sim_context_is_live(known)) {
		result = sim_cu.cuDevicePrimaryCtxRetain(&made, device);
		known = made;
		if (!result)
			primaries[device] = known;
	}
	*context = known;
	return result;
}

/* Makes the device's primary context current, unless the program has made another of that device current itself. */
static int ensure_context(void)
{
	struct sim_context *context, *current = sim_context_current();
	int result;

	if (sim_context_is_live(current) && (!current->is_primary || current == primaries[current_device]))
		return SIM_OK;
	result = sim_runtime_context(current_device, &context);
	return result ? result : sim_cu.cuCtxSetCurrent(context);
}

int sim_runtime_use(int device)
{
	struct sim_context *context;
	int result = sim_runtime_context(device, &context);

	result = result ? result : sim_cu.cuCtxSetCurrent(context);
	if (!result)
		current_device = device;
	return result;
}

void *sim_runtime_stream(void *handle)
{
	struct sim_call *call = sim_call_current();

	return !handle && call && call->is_per_thread ? SIM_PER_THREAD : handle;
}

/*
 * Around a launch the real runtime asks the driver something, by calls of their own that CUPTI tells of where the whole domain is
 * asked for: with a correlation id each, before that of the launch or behind it.
 */
static void ask_driver(void)
{
	void *context;

	sim_cu.cuCtxGetCurrent(&context);
}

int sim_runtime_begin(struct sim_call *call, int need)
{
	void *const *params = call->params;
	int result = SIM_OK;

	if (need) {
		pthread_once(&once, start);
		result = start_error ? start_error : sim_check();
	}
	if (!result && need >= 2)
		result = ensure_context();
	if (result)
		return result;
	if (need >= 3 && SIM_NUMBER("launch_asks", 1) & 1)
		ask_driver();
	if (need >= 3)
		call->symbol = sim_runtime_kernel_name(params[need - 3]);
	sim_call_enter(call);
	return sim_call_planted(call);
}

int sim_runtime_end(struct sim_call *call, int result, int *place)
{
	*place = result;
	if (result && strcmp(call->name, "cudaGetLastError") && strcmp(call->name, "cudaPeekAtLastError"))
		last_error = result;
	if (call->start)
		sim_call_exit(call);
	if (call->symbol && SIM_NUMBER("launch_asks", 1) & 2)
		ask_driver();
	return result;
}

int do_cudaGetLastError(void)
{
	return sim_runtime_last_error(true);
}

int do_cudaPeekAtLastError(void)
{
	return sim_runtime_last_error(false);
}

static const char *text_of(int error, bool is_name)
{
	static const struct {
		int code;
		const char *name, *text;
	} rows[] = {
		{0, "cudaSuccess", "no error"}, {1, "cudaErrorInvalidValue", "invalid argument"},
		{2, "cudaErrorMemoryAllocation", "out of memory"}, {3, "cudaErrorInitializationError", "initialization error"},
		{4, "cudaErrorCudartUnloading", "driver shutting down"},
		{9, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
		{35, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version"},
		{46, "cudaErrorDevicesUnavailable", "the device is busy or unavailable"},
		{98, "cudaErrorInvalidDeviceFunction", "invalid device function"},
		{100, "cudaErrorNoDevice", "no device is detected"}, {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
		{201, "cudaErrorDeviceUninitialized", "invalid device context"},
		{400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
		{500, "cudaErrorSymbolNotFound", "named symbol not found"}, {600, "cudaErrorNotReady", "device not ready"},
		{700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
		{709, "cudaErrorContextIsDestroyed", "context is destroyed"},
		{719, "cudaErrorLaunchFailure", "unspecified launch failure"},
		{800, "cudaErrorNotPermitted", "operation not permitted"}, {801, "cudaErrorNotSupported", "operation not supported"},
		{900, "cudaErrorStreamCaptureUnsupported", "operation not permitted when the stream is capturing"},
		{901, "cudaErrorStreamCaptureInvalidated", "the capture was invalidated"},
		{906, "cudaErrorStreamCaptureImplicit", "a stream that is being captured would have to wait for the legacy stream"},
		{910, "cudaErrorGraphExecUpdateFailure", "the graph update was not performed"},
		{999, "cudaErrorUnknown", "unknown error"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].code == error)
			return is_name ? rows[i].name : rows[i].text;
	return is_name ? "cudaErrorUnnamed" : "unrecognized error code";
}

SIM_EXPORT const char *cudaGetErrorString(int error);
const char *cudaGetErrorString(int error)
{
	return text_of(error, false);
}

SIM_EXPORT const char *cudaGetErrorName(int error);
const char *cudaGetErrorName(int error)
{
	return text_of(error, true);
}

struct channels {
	int x, y, z, w, kind;
};
SIM_EXPORT struct channels cudaCreateChannelDesc(int x, int y, int z, int w, int kind);
struct channels cudaCreateChannelDesc(int x, int y, int z, int w, int kind)
{
	return (struct channels){x, y, z, w, kind};
}

int do_cudaRuntimeGetVersion(int *version)
{
	if (!version)
		return SIM_INVALID_VALUE;
	*version = (int)sim_setting("runtime_version", SIM_RUNTIME_VERSION);
	return SIM_OK;
}

int do_cudaDriverGetVersion(int *version)
{
	if (!version)
		return SIM_INVALID_VALUE;
	pthread_once(&once, start);
	if (!sim_cu.cuDriverGetVersion || start_error == SIM_INSUFFICIENT_DRIVER) {
		*version = 0;
		return SIM_OK;
	}
	return sim_cu.cuDriverGetVersion(version);
}

int do_cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version, uint64_t flags, int *status)
{
	int result = sim_cu.cuGetProcAddress_v2(symbol, function, (int)version, flags, status);

	return status && result == SIM_NOT_FOUND ? SIM_OK : result;
}

int do_cudaGetDriverEntryPoint(const char *symbol, void **function, uint64_t flags, int *status)
{
	return do_cudaGetDriverEntryPointByVersion(symbol, function, SIM_RUNTIME_VERSION, flags, status);
}

int do_cudaGetExportTable(void **table, void *id)
{
	(void)id;
	if (table)
		*table = NULL;
	return SIM_NOT_FOUND;
}

int do_cudaProfilerStart(void)
{
	return SIM_OK;
}

int do_cudaProfilerStop(void)
{
	return SIM_OK;
}

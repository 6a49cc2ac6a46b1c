/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of the driver API alone, as JIT frameworks are: driver_only CUBIN KERNEL LAUNCHES
 *
 * libcuda is opened by dlopen and its functions come from cuGetProcAddress, so no symbol hook sees a call. It makes a
 * context, loads code, maps memory by hand, launches, copies and checks bytes, and ends without synchronising when
 * LAUNCHES is negative.
 * Rule: exit 0 when every answer is the expected one, else 1 with the call that was not.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) check((call), #call)
#define CALL(name, ...) CHECK(((int (*)())find(#name))(__VA_ARGS__))
#define MIB ((size_t)1 << 20)

static int (*get_address)(const char *symbol, void **function, int version, uint64_t flags, int *status);

static void check(int result, const char *what)
{
	if (!result)
		return;
	printf("%s: %d\n", what, result);
	exit(1);
}

static void *find(const char *name)
{
	void *function = NULL;
	int status = -1;

	check(get_address(name, &function, 12000, 0, &status), name);
	return function;
}

static void check_map(void)
{
	struct {
		int type, handles, location, device;
		char more[32];
	} properties = {1, 0, 1, 0, {0}};
	struct {
		int location, device, flags;
	} access = {1, 0, 3};
	uint64_t address, handle;
	size_t grain;
	char up[1000], back[1000];

	CALL(cuMemGetAllocationGranularity, &grain, &properties, 0);
	CALL(cuMemAddressReserve, &address, 4 * grain, (size_t)0, (uint64_t)0, (uint64_t)0);
	CALL(cuMemCreate, &handle, grain, &properties, (uint64_t)0);
	CALL(cuMemMap, address, grain, (size_t)0, handle, (uint64_t)0);
	CALL(cuMemMap, address + grain, grain, (size_t)0, handle, (uint64_t)0);
	CALL(cuMemSetAccess, address, grain, &access, (size_t)1);
	memset(up, 0x33, sizeof up);
	CALL(cuMemcpyHtoD, address, up, sizeof up);
	/* The same memory lies at both addresses. */
	CALL(cuMemcpyDtoH, back, address + grain, sizeof back);
	if (memcmp(up, back, sizeof up))
		check(1, "the bytes of a map");
	CALL(cuMemUnmap, address, grain);
	CALL(cuMemUnmap, address + grain, grain);
	CALL(cuMemRelease, handle);
	CALL(cuMemAddressFree, address, 4 * grain);
}

int main(int count, char **arguments)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context, *module, *function, *stream;
	int launches = count > 3 ? atoi(arguments[3]) : 10, device, is_lazy = launches < 0;
	uint64_t memory;

	if (!driver || count < 3) {
		printf("driver_only: %s\n", driver ? "usage: driver_only CUBIN KERNEL LAUNCHES" : dlerror());
		return 64;
	}
	*(void **)&get_address = dlsym(driver, "cuGetProcAddress_v2");
	CALL(cuInit, 0u);
	CALL(cuDeviceGet, &device, 0);
	CALL(cuCtxCreate, &context, NULL, 0u, device);
	CALL(cuModuleLoad, &module, arguments[1]);
	CALL(cuModuleGetFunction, &function, module, arguments[2]);
	CALL(cuStreamCreate, &stream, 1u);
	CALL(cuMemAlloc, &memory, MIB);
	check_map();
	for (int i = 0; i < abs(launches); i++)
		CALL(cuLaunchKernel, function, 4u, 1u, 1u, 64u, 1u, 1u, 0u, stream, NULL, NULL);
	CALL(cuMemsetD32Async, memory, 7u, (size_t)1000, stream);
	if (is_lazy)
		_Exit(0);
	CALL(cuStreamSynchronize, stream);
	CALL(cuMemFree, memory);
	CALL(cuModuleUnload, module);
	CALL(cuCtxDestroy, context);
	puts("driver_only: done");
	return 0;
}

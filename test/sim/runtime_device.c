/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runtime functions of devices.
 *
 * Rule: facts come from the driver's attributes; offsets of cudaDeviceProp are those of CUDA 12 and 13.
 */
#include <stdio.h>
#include <string.h>

#include "runtime.h"

int do_cudaGetDeviceCount(int *count)
{
	int result = sim_cu.cuDeviceGetCount(count);

	return !result && !*count ? SIM_NO_DEVICE : result;
}

int do_cudaGetDevice(int *device)
{
	if (!device)
		return SIM_INVALID_VALUE;
	*device = sim_runtime_device();
	return SIM_OK;
}

int do_cudaSetDevice(int device)
{
	return sim_device_at(device) ? sim_runtime_use(device) : SIM_INVALID_DEVICE;
}

int do_cudaInitDevice(int device, unsigned flags, unsigned more)
{
	struct sim_context *context;

	(void)flags;
	(void)more;
	return sim_device_at(device) ? sim_runtime_context(device, &context) : SIM_INVALID_DEVICE;
}

static void put(char *base, size_t offset, const void *value, size_t size)
{
	memcpy(base + offset, value, size);
}

static void put_int(char *base, size_t offset, int value)
{
	put(base, offset, &value, sizeof value);
}

static void put_size(char *base, size_t offset, size_t value)
{
	put(base, offset, &value, sizeof value);
}

int do_cudaGetDeviceProperties(void *to, int device)
{
	static const struct {
		short offset, attribute;
	} ints[] = {
		{304, 12}, {308, 10}, {320, 1}, {324, 2}, {328, 3}, {332, 4}, {336, 5}, {340, 6}, {344, 7}, {360, 75}, {364, 76},
		{384, 16}, {388, 18}, {392, 19}, {560, 31}, {564, 32}, {568, 33}, {572, 34}, {576, 50}, {584, 40}, {588, 41},
		{592, 37}, {596, 38}, {604, 39}, {608, 78}, {632, 82}, {636, 83}, {656, 89}, {668, 95}, {688, 106}, {720, 115},
		{748, 120},
	};
	static const struct {
		short offset, attribute;
	} sizes[] = {{296, 8}, {312, 11}, {352, 9}, {624, 81}, {672, 97}, {696, 111}};
	size_t total;
	int value, result;

	if (!to || !sim_device_at(device))
		return to ? SIM_INVALID_DEVICE : SIM_INVALID_VALUE;
	memset(to, 0, 1008);
	result = sim_cu.cuDeviceGetName(to, 256, device);
	result = result ? result : sim_cu.cuDeviceGetUuid_v2((char *)to + 256, device);
	result = result ? result : sim_cu.cuDeviceTotalMem_v2(&total, device);
	if (result)
		return result;
	put_size(to, 288, total);
	for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
		sim_cu.cuDeviceGetAttribute(&value, ints[i].attribute, device);
		put_int(to, (size_t)ints[i].offset, value);
	}
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		sim_cu.cuDeviceGetAttribute(&value, sizes[i].attribute, device);
		put_size(to, (size_t)sizes[i].offset, (size_t)value);
	}
	return SIM_OK;
}

int do_cudaDeviceGetAttribute(int *value, int attribute, int device)
{
	return sim_cu.cuDeviceGetAttribute(value, attribute, device);
}

int do_cudaDeviceGetPCIBusId(const char *text, int size, int device)
{
	return sim_cu.cuDeviceGetPCIBusId(text, size, device);
}

int do_cudaDeviceGetByPCIBusId(int *device, const char *text)
{
	if (!device || !text)
		return SIM_INVALID_VALUE;
	return sim_cu.cuDeviceGetByPCIBusId(device, text);
}

int do_cudaChooseDevice(int *device, void *properties)
{
	if (!device || !properties)
		return SIM_INVALID_VALUE;
	(void)properties;
	*device = 0;
	return SIM_OK;
}

int do_cudaSetValidDevices(int *devices, int count)
{
	for (int i = 0; i < count; i++)
		if (!sim_device_at(devices[i]))
			return SIM_INVALID_DEVICE;
	return SIM_OK;
}

int do_cudaSetDeviceFlags(unsigned flags)
{
	return sim_cu.cuDevicePrimaryCtxSetFlags_v2(sim_runtime_device(), flags);
}

int do_cudaGetDeviceFlags(unsigned *flags)
{
	int is_active;

	if (!flags)
		return SIM_INVALID_VALUE;
	return sim_cu.cuDevicePrimaryCtxGetState(sim_runtime_device(), flags, &is_active);
}

int do_cudaDeviceSynchronize(void)
{
	return sim_cu.cuCtxSynchronize();
}

int do_cudaDeviceReset(void)
{
	sim_cu.cuCtxSetCurrent(NULL);
	return sim_cu.cuDevicePrimaryCtxReset_v2(sim_runtime_device());
}

int do_cudaDeviceGetLimit(size_t *value, int limit)
{
	return sim_cu.cuCtxGetLimit(value, limit);
}

int do_cudaDeviceSetLimit(int limit, size_t value)
{
	return sim_cu.cuCtxSetLimit(limit, value);
}

int do_cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	return sim_cu.cuCtxGetStreamPriorityRange(least, greatest);
}

int do_cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	return sim_cu.cuDeviceCanAccessPeer(can, device, peer);
}

int do_cudaDeviceGetP2PAttribute(int *value, int attribute, int from, int to)
{
	return sim_cu.cuDeviceGetP2PAttribute(value, attribute, from, to);
}

int do_cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
	struct sim_context *context;
	int result = sim_device_at(peer) ? sim_runtime_context(peer, &context) : SIM_INVALID_DEVICE;

	return result ? result : sim_cu.cuCtxEnablePeerAccess(context, flags);
}

int do_cudaDeviceDisablePeerAccess(int peer)
{
	struct sim_context *context;
	int result = sim_device_at(peer) ? sim_runtime_context(peer, &context) : SIM_INVALID_DEVICE;

	return result ? result : sim_cu.cuCtxDisablePeerAccess(context);
}

int do_cudaDeviceGetDefaultMemPool(void **pool, int device)
{
	return sim_cu.cuDeviceGetDefaultMemPool(pool, device);
}

int do_cudaDeviceGetMemPool(void **pool, int device)
{
	return sim_cu.cuDeviceGetMemPool(pool, device);
}

int do_cudaDeviceSetMemPool(int device, void *pool)
{
	return sim_cu.cuDeviceSetMemPool(device, pool);
}

int do_cudaDeviceGetCacheConfig(int *config)
{
	if (!config)
		return SIM_INVALID_VALUE;
	return sim_cu.cuCtxGetCacheConfig(config);
}

int do_cudaDeviceSetCacheConfig(int config)
{
	return sim_cu.cuCtxSetCacheConfig(config);
}

int do_cudaCtxResetPersistingL2Cache(void)
{
	return sim_cu.cuCtxResetPersistingL2Cache();
}

int do_cudaThreadExchangeStreamCaptureMode(int *mode)
{
	return sim_cu.cuThreadExchangeStreamCaptureMode(mode);
}

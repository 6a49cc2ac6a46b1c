/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runtime functions of memory: allocation of every flavour, pools, what an address is.
 *
 * Rule: thin; each makes the driver call that the real runtime makes.
 */
#include <string.h>

#include "runtime.h"

int do_cudaMalloc(void **address, size_t bytes)
{
	if (!address)
		return SIM_INVALID_VALUE;
	if (!bytes) {
		*address = NULL;
		return SIM_OK;
	}
	return sim_cu.cuMemAlloc_v2((uint64_t *)address, bytes);
}

int do_cudaFree(void *address)
{
	return address ? sim_cu.cuMemFree_v2((uintptr_t)address) : SIM_OK;
}

int do_cudaMallocHost(void **address, size_t bytes)
{
	return sim_cu.cuMemAllocHost_v2(address, bytes);
}

int do_cudaHostAlloc(void **address, size_t bytes, unsigned flags)
{
	return sim_cu.cuMemHostAlloc(address, bytes, flags);
}

int do_cudaFreeHost(void *address)
{
	return address ? sim_cu.cuMemFreeHost(address) : SIM_OK;
}

int do_cudaHostRegister(void *address, size_t bytes, unsigned flags)
{
	return sim_cu.cuMemHostRegister_v2(address, bytes, flags);
}

int do_cudaHostUnregister(void *address)
{
	return sim_cu.cuMemHostUnregister(address);
}

int do_cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
	return sim_cu.cuMemHostGetDevicePointer_v2((uint64_t *)device, host, flags);
}

int do_cudaHostGetFlags(unsigned *flags, void *host)
{
	return sim_cu.cuMemHostGetFlags(flags, host);
}

int do_cudaMallocManaged(void **address, size_t bytes, unsigned flags)
{
	return address ? sim_cu.cuMemAllocManaged((uint64_t *)address, bytes, flags) : SIM_INVALID_VALUE;
}

int do_cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height)
{
	return sim_cu.cuMemAllocPitch_v2((uint64_t *)address, pitch, width, height, 4);
}

int do_cudaMalloc3D(void *to, struct sim_extent extent)
{
	struct sim_pitched *pitched = to;
	int result = sim_cu.cuMemAllocPitch_v2((uint64_t *)&pitched->pointer, &pitched->pitch, extent.width,
					       extent.height * extent.depth, 4);

	if (!to)
		return SIM_INVALID_VALUE;
	pitched->width = extent.width;
	pitched->height = extent.height;
	return result;
}

/* cudaChannelFormatDesc to CUarray_format: kind 0 signed, 1 unsigned, 2 float. */
static unsigned format_of(const int *channels, unsigned *count)
{
	*count = 0;
	for (int i = 0; i < 4; i++)
		*count += channels[i] != 0;
	if (channels[4] == 2)
		return channels[0] == 16 ? 16 : 32;
	return (channels[4] ? 1u : 8u) + (channels[0] == 8 ? 0u : channels[0] == 16 ? 1u : 2u);
}

/* CUDA_ARRAY3D_DESCRIPTOR */
struct shape {
	size_t width, height, depth;
	unsigned format, channels, flags;
};

int do_cudaMalloc3DArray(void **array, void *channels, struct sim_extent extent, unsigned flags)
{
	struct shape shape = {.width = extent.width, .height = extent.height, .depth = extent.depth, .flags = flags};

	if (!array || !channels)
		return SIM_INVALID_VALUE;
	shape.format = format_of(channels, &shape.channels);
	return sim_cu.cuArray3DCreate_v2(array, &shape);
}

int do_cudaMallocArray(void **array, void *channels, size_t width, size_t height, unsigned flags)
{
	return do_cudaMalloc3DArray(array, channels, (struct sim_extent){width, height, 0}, flags);
}

int do_cudaFreeArray(void *array)
{
	return array ? sim_cu.cuArrayDestroy(array) : SIM_OK;
}

int do_cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
	return sim_cu.cuMemGetInfo_v2(free_bytes, total);
}

int do_cudaMemAdvise(void *address, size_t bytes, int advice, struct sim_location location)
{
	return sim_cu.cuMemAdvise_v2((uintptr_t)address, bytes, advice, location);
}

int do_cudaMemPrefetchAsync(void *address, size_t bytes, struct sim_location location, unsigned flags, void *stream)
{
	return sim_cu.cuMemPrefetchAsync_v2((uintptr_t)address, bytes, location, flags, sim_runtime_stream(stream));
}

int do_cudaMallocAsync(void **address, size_t bytes, void *stream)
{
	return sim_cu.cuMemAllocAsync((uint64_t *)address, bytes, sim_runtime_stream(stream));
}

int do_cudaMallocFromPoolAsync(void **address, size_t bytes, void *pool, void *stream)
{
	return sim_cu.cuMemAllocFromPoolAsync((uint64_t *)address, bytes, pool, sim_runtime_stream(stream));
}

int do_cudaFreeAsync(void *address, void *stream)
{
	return sim_cu.cuMemFreeAsync((uintptr_t)address, sim_runtime_stream(stream));
}

int do_cudaMemPoolCreate(void **pool, void *properties)
{
	return sim_cu.cuMemPoolCreate(pool, properties);
}

int do_cudaMemPoolDestroy(void *pool)
{
	return sim_cu.cuMemPoolDestroy(pool);
}

int do_cudaMemPoolGetAttribute(void *pool, int attribute, void *value)
{
	return sim_cu.cuMemPoolGetAttribute(pool, attribute, value);
}

int do_cudaMemPoolSetAttribute(void *pool, int attribute, void *value)
{
	return sim_cu.cuMemPoolSetAttribute(pool, attribute, value);
}

int do_cudaMemPoolTrimTo(void *pool, size_t keep)
{
	return sim_cu.cuMemPoolTrimTo(pool, keep);
}

int do_cudaMemPoolSetAccess(void *pool, void *descriptors, size_t count)
{
	return sim_cu.cuMemPoolSetAccess(pool, descriptors, count);
}

int do_cudaMemPoolGetAccess(int *flags, void *pool, void *location)
{
	return sim_cu.cuMemPoolGetAccess(flags, pool, location);
}

/* cudaPointerAttributes; type: 0 unregistered, 1 host, 2 device, 3 managed. */
struct attributes {
	int type, device;
	void *device_pointer, *host_pointer;
};

int do_cudaPointerGetAttributes(void *to, void *address)
{
	struct attributes *attributes = to;
	unsigned type, is_managed;
	int device;

	if (!to)
		return SIM_INVALID_VALUE;
	*attributes = (struct attributes){.device = -2};
	if (sim_cu.cuPointerGetAttribute(&type, 2, (uintptr_t)address))
		return SIM_OK;
	sim_cu.cuPointerGetAttribute(&is_managed, 8, (uintptr_t)address);
	sim_cu.cuPointerGetAttribute(&device, 9, (uintptr_t)address);
	attributes->type = is_managed ? 3 : (int)type;
	attributes->device = device;
	attributes->device_pointer = address;
	attributes->host_pointer = attributes->type == 2 ? NULL : address;
	return SIM_OK;
}

int do_cudaMemGetDefaultMemPool(void **pool, void *location, int type)
{
	return sim_cu.cuMemGetDefaultMemPool(pool, location, type);
}

int do_cudaMemGetMemPool(void **pool, void *location, int type)
{
	return sim_cu.cuMemGetMemPool(pool, location, type);
}

int do_cudaMemSetMemPool(void *location, int type, void *pool)
{
	return sim_cu.cuMemSetMemPool(location, type, pool);
}

int do_cudaIpcGetMemHandle(void *handle, void *address)
{
	return sim_cu.cuIpcGetMemHandle(handle, (uintptr_t)address);
}

int do_cudaIpcOpenMemHandle(void **address, struct sim_ipc handle, unsigned flags)
{
	return address ? sim_cu.cuIpcOpenMemHandle_v2((uint64_t *)address, handle, flags) : SIM_INVALID_VALUE;
}

int do_cudaIpcCloseMemHandle(void *address)
{
	return sim_cu.cuIpcCloseMemHandle((uintptr_t)address);
}

int do_cudaIpcGetEventHandle(void *handle, void *event)
{
	return sim_cu.cuIpcGetEventHandle(handle, event);
}

int do_cudaIpcOpenEventHandle(void **event, struct sim_ipc handle)
{
	return sim_cu.cuIpcOpenEventHandle(event, handle);
}

int do_cudaCreateTextureObject(uint64_t *object, void *resource, void *texture, void *view)
{
	return sim_cu.cuTexObjectCreate(object, resource, texture, view);
}

int do_cudaDestroyTextureObject(uint64_t object)
{
	return sim_cu.cuTexObjectDestroy(object);
}

int do_cudaGetTextureObjectResourceDesc(void *resource, uint64_t object)
{
	return sim_cu.cuTexObjectGetResourceDesc(resource, object);
}

int do_cudaGetTextureObjectTextureDesc(void *texture, uint64_t object)
{
	return sim_cu.cuTexObjectGetTextureDesc(texture, object);
}

int do_cudaCreateSurfaceObject(uint64_t *object, void *resource)
{
	return sim_cu.cuSurfObjectCreate(object, resource);
}

int do_cudaDestroySurfaceObject(uint64_t object)
{
	return sim_cu.cuSurfObjectDestroy(object);
}

int do_cudaGetSurfaceObjectResourceDesc(void *resource, uint64_t object)
{
	return sim_cu.cuSurfObjectGetResourceDesc(resource, object);
}

int do_cudaMemRangeGetAttribute(void *value, size_t size, int attribute, void *address, size_t bytes)
{
	return sim_cu.cuMemRangeGetAttribute(value, size, attribute, (uintptr_t)address, bytes);
}

int do_cudaDeviceGetGraphMemAttribute(int device, int attribute, void *value)
{
	return sim_cu.cuDeviceGetGraphMemAttribute(device, attribute, value);
}

int do_cudaDeviceSetGraphMemAttribute(int device, int attribute, void *value)
{
	return sim_cu.cuDeviceSetGraphMemAttribute(device, attribute, value);
}

int do_cudaDeviceGraphMemTrim(int device)
{
	return sim_cu.cuDeviceGraphMemTrim(device);
}

/* cudaChannelFormatDesc: bits of x, y, z, w, then the kind. */
static void channels_of(const struct shape *shape, int *channels)
{
	int bits = shape->format >= 16 ? (int)shape->format : 8 << ((shape->format - 1) & 3);

	for (unsigned i = 0; i < 4; i++)
		channels[i] = i < shape->channels ? bits : 0;
	channels[4] = shape->format >= 16 ? 2 : shape->format >= 8 ? 0 : 1;
}

int do_cudaGetChannelDesc(void *channels, void *array)
{
	struct shape shape;
	int result = channels ? sim_cu.cuArray3DGetDescriptor_v2(&shape, array) : SIM_INVALID_VALUE;

	if (!result)
		channels_of(&shape, channels);
	return result;
}

int do_cudaArrayGetInfo(void *channels, void *to, unsigned *flags, void *array)
{
	struct sim_extent *extent = to;
	struct shape shape;
	int result = sim_cu.cuArray3DGetDescriptor_v2(&shape, array);

	if (result)
		return result;
	if (channels)
		channels_of(&shape, channels);
	if (extent)
		*extent = (struct sim_extent){shape.width, shape.height, shape.depth};
	if (flags)
		*flags = shape.flags;
	return SIM_OK;
}

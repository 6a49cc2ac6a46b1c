/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver functions of memory: allocation of every flavour, pools, virtual memory maps, arrays, what an address is.
 *
 * Rule: thin; what happens, happens in the core.
 */
#include <string.h>

#include "driver.h"

#define HERE(context) \
	struct sim_context *context; \
	int here = sim_here(&context); \
\
	if (here) \
	return here

int do_cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
	HERE(context);
	return sim_memory_alloc(context, bytes, address);
}

int do_cuMemFree_v2(uint64_t address)
{
	HERE(context);
	return address ? sim_memory_free(context, address) : SIM_OK;
}

int do_cuMemAllocHost_v2(void **address, size_t bytes)
{
	HERE(context);
	return sim_memory_alloc_host(context, bytes, 0, address);
}

int do_cuMemHostAlloc(void **address, size_t bytes, unsigned flags)
{
	HERE(context);
	return sim_memory_alloc_host(context, bytes, flags, address);
}

int do_cuMemFreeHost(void *address)
{
	HERE(context);
	return address ? sim_memory_free_host(context, address) : SIM_INVALID_VALUE;
}

int do_cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags)
{
	HERE(context);
	return sim_memory_register(context, address, bytes, flags);
}

int do_cuMemHostUnregister(void *address)
{
	HERE(context);
	return sim_memory_unregister(context, address);
}

int do_cuMemHostGetDevicePointer_v2(uint64_t *address, void *host, unsigned flags)
{
	struct sim_place place;

	if (!address || flags)
		return SIM_INVALID_VALUE;
	sim_place_of((uintptr_t)host, &place);
	*address = (uintptr_t)host;
	return place.kind == 2 ? SIM_OK : SIM_INVALID_VALUE;
}

int do_cuMemHostGetFlags(unsigned *flags, void *host)
{
	struct sim_place place;

	sim_place_of((uintptr_t)host, &place);
	if (place.kind != 2)
		return SIM_INVALID_VALUE;
	*flags = place.block ? place.block->flags | 2 : 2;
	return SIM_OK;
}

int do_cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags)
{
	HERE(context);
	return sim_memory_alloc_managed(context, bytes, flags, address);
}

int do_cuMemAllocPitch_v2(uint64_t *address, size_t *pitch, size_t width, size_t height, unsigned element)
{
	HERE(context);
	if (!pitch || !width || !height || (element != 4 && element != 8 && element != 16))
		return SIM_INVALID_VALUE;
	*pitch = (width + 511) / 512 * 512;
	return sim_memory_alloc(context, *pitch * height, address);
}

int do_cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	HERE(context);
	return sim_memory_info(context, free_bytes, total);
}

int do_cuMemGetAddressRange_v2(uint64_t *base, size_t *bytes, uint64_t address)
{
	struct sim_place place;

	sim_place_of(address, &place);
	if (place.kind == 1)
		return SIM_NOT_FOUND;
	if (base)
		*base = place.base;
	if (bytes)
		*bytes = place.bytes;
	return SIM_OK;
}

static struct sim_context *context_of(const struct sim_place *place)
{
	if (place->block && sim_context_is_live(place->block->context))
		return place->block->context;
	return place->device >= 0 ? sim_machine_at(place->device)->primary : NULL;
}

/* CUpointer_attribute. */
int do_cuPointerGetAttribute(void *value, int attribute, uint64_t address)
{
	struct sim_place place;

	if (!value)
		return SIM_INVALID_VALUE;
	sim_place_of(address, &place);
	if (place.kind == 1)
		return SIM_INVALID_VALUE;
	switch (attribute) {
	case 1:
		*(void **)value = context_of(&place);
		break;
	case 2:
		*(unsigned *)value = place.kind == 2 ? 1 : 2;
		break;
	case 3:
		*(uint64_t *)value = address;
		break;
	case 4:
		if (place.kind == 3)
			return SIM_INVALID_VALUE;
		*(uint64_t *)value = address;
		break;
	case 7:
		*(uint64_t *)value = place.block ? place.block->id : 0;
		break;
	case 8:
		*(unsigned *)value = place.kind == 5;
		break;
	case 9:
		*(int *)value = place.device < 0 ? 0 : place.device;
		break;
	case 11:
		*(uint64_t *)value = place.base;
		break;
	case 12:
		*(size_t *)value = place.bytes;
		break;
	case 13:
		*(unsigned *)value = 1;
		break;
	default:
		return SIM_NOT_SUPPORTED;
	}
	return SIM_OK;
}

int do_cuPointerGetAttributes(unsigned count, void *attributes, void **values, uint64_t address)
{
	for (unsigned i = 0; i < count; i++)
		do_cuPointerGetAttribute(values[i], ((const int *)attributes)[i], address);
	return SIM_OK;
}

int do_cuMemAdvise_v2(uint64_t address, size_t bytes, int advice, struct sim_location location)
{
	struct sim_place place;

	(void)advice;
	(void)location;
	sim_place_of(address, &place);
	return bytes && place.kind == 5 ? SIM_OK : SIM_INVALID_VALUE;
}

int do_cuMemAdvise(uint64_t address, size_t bytes, int advice, int device)
{
	return do_cuMemAdvise_v2(address, bytes, advice, (struct sim_location){1, device});
}

int do_cuMemPrefetchAsync_v2(uint64_t address, size_t bytes, struct sim_location location, unsigned flags, void *handle)
{
	struct sim_stream *stream;
	int result = flags ? SIM_INVALID_VALUE : sim_stream_find(handle, &stream);

	return result ? result : sim_memory_prefetch(stream, address, bytes, location.type == 1 ? location.id : -1);
}

int do_cuMemPrefetchAsync(uint64_t address, size_t bytes, int device, void *handle)
{
	return do_cuMemPrefetchAsync_v2(address, bytes, (struct sim_location){device < 0 ? 2 : 1, device}, 0, handle);
}

int do_cuMemAddressReserve(uint64_t *address, size_t bytes, size_t alignment, uint64_t wish, uint64_t flags)
{
	(void)wish;
	return flags ? SIM_INVALID_VALUE : sim_map_reserve(bytes, alignment, address);
}

int do_cuMemAddressFree(uint64_t address, size_t bytes)
{
	return sim_map_release(address, bytes);
}

/* CUmemAllocationProp: type at 0, handle types at 4, location at 8. */
int do_cuMemCreate(uint64_t *handle, size_t bytes, void *properties, uint64_t flags)
{
	struct sim_location location;

	if (!properties || flags)
		return SIM_INVALID_VALUE;
	memcpy(&location, (const char *)properties + 8, sizeof location);
	return sim_map_create(location, bytes, handle);
}

/* CUmemAllocationProp: type (1 pinned), handle types, location, two words more. */
int do_cuMemGetAllocationPropertiesFromHandle(void *properties, uint64_t handle)
{
	struct sim_location location;

	if (!properties || !sim_map_location(handle, &location))
		return SIM_INVALID_VALUE;
	memset(properties, 0, 32);
	*(int *)properties = 1;
	memcpy((char *)properties + 8, &location, sizeof location);
	return SIM_OK;
}

int do_cuMemRelease(uint64_t handle)
{
	return sim_map_drop(handle);
}

int do_cuMemMap(uint64_t address, size_t bytes, size_t offset, uint64_t handle, uint64_t flags)
{
	return flags ? SIM_INVALID_VALUE : sim_map_map(address, bytes, offset, handle);
}

int do_cuMemUnmap(uint64_t address, size_t bytes)
{
	return sim_map_unmap(address, bytes);
}

int do_cuMemSetAccess(uint64_t address, size_t bytes, void *descriptors, size_t count)
{
	struct sim_place place;

	(void)bytes;
	return descriptors && count && sim_map_place(address, &place) ? SIM_OK : SIM_INVALID_VALUE;
}

int do_cuMemGetAccess(uint64_t *flags, void *location, uint64_t address)
{
	struct sim_place place;

	if (!flags || !location)
		return SIM_INVALID_VALUE;
	(void)location;
	*flags = 3;
	return sim_map_place(address, &place) ? SIM_OK : SIM_INVALID_VALUE;
}

int do_cuMemGetAllocationGranularity(size_t *bytes, void *properties, int option)
{
	(void)option;
	if (!bytes || !properties)
		return SIM_INVALID_VALUE;
	*bytes = (size_t)2 << 20;
	return SIM_OK;
}

/* CUDA_ARRAY_DESCRIPTOR: width, height, format, channels. */
struct flat_shape {
	size_t width, height;
	unsigned format, channels;
};
/* CUDA_ARRAY3D_DESCRIPTOR */
struct deep_shape {
	size_t width, height, depth;
	unsigned format, channels, flags;
};

int do_cuArray3DCreate_v2(void **array, void *shape)
{
	const struct deep_shape *deep = shape;

	HERE(context);
	if (!shape)
		return SIM_INVALID_VALUE;
	return sim_array_new(context, &(struct sim_array){.width = deep->width, .height = deep->height, .depth = deep->depth,
							  .format = deep->format, .channels = deep->channels, .flags = deep->flags},
			     (struct sim_array **)array);
}

int do_cuArrayCreate_v2(void **array, void *shape)
{
	const struct flat_shape *flat = shape;

	HERE(context);
	if (!shape)
		return SIM_INVALID_VALUE;
	return sim_array_new(context, &(struct sim_array){.width = flat->width, .height = flat->height, .format = flat->format,
							  .channels = flat->channels},
			     (struct sim_array **)array);
}

int do_cuArrayDestroy(void *array)
{
	return sim_array_free(array);
}

int do_cuArray3DGetDescriptor_v2(void *shape, void *handle)
{
	const struct sim_array *array = handle;

	if (!shape || !sim_is_object(array, SIM_MAGIC_ARRAY))
		return SIM_INVALID_HANDLE;
	*(struct deep_shape *)shape = (struct deep_shape){array->width, array->height, array->depth, array->format, array->channels,
							  array->flags};
	return SIM_OK;
}

int do_cuArrayGetDescriptor_v2(void *shape, void *handle)
{
	const struct sim_array *array = handle;

	if (!shape || !sim_is_object(array, SIM_MAGIC_ARRAY))
		return SIM_INVALID_HANDLE;
	*(struct flat_shape *)shape = (struct flat_shape){array->width, array->height, array->format, array->channels};
	return SIM_OK;
}

/* CUmem_range_attribute: 1 read mostly, 2 preferred place, 3 accessed by, 4 last prefetch; CU_DEVICE_INVALID is -2. */
int do_cuMemRangeGetAttribute(void *value, size_t size, int attribute, uint64_t address, size_t bytes)
{
	struct sim_place place;

	sim_place_of(address, &place);
	if (!value || size < sizeof(int) || !bytes || place.kind != 5)
		return SIM_INVALID_VALUE;
	*(int *)value = attribute == 1 ? 0 : attribute == 4 ? (place.block->is_on_device ? place.device : -1) : -2;
	return SIM_OK;
}

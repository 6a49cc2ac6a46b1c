/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver functions of stream-ordered memory.
 *
 * Rule: thin; what happens, happens in core_pool.c. In a capture an allocation becomes a node.
 */
#include <string.h>

#include "driver.h"

static int pool_of_device(int device, struct sim_pool **pool)
{
	struct sim_machine *machine = sim_machine_at(device);

	if (!machine)
		return SIM_INVALID_DEVICE;
	sim_pool_default(machine);
	*pool = machine->current_pool;
	return *pool ? SIM_OK : SIM_OUT_OF_MEMORY;
}

static int alloc(uint64_t *address, size_t bytes, struct sim_pool *pool, struct sim_stream *stream)
{
	struct sim_node *node;
	int result;

	if (!sim_capture_status(stream))
		return sim_pool_alloc(pool, stream, bytes, address);
	result = sim_pool_alloc(pool, NULL, bytes, address);
	result = result ? result : sim_capture_add(stream, 10, &node);
	if (!result) {
		node->address = *address;
		node->bytes = bytes;
	}
	return result;
}

int do_cuMemAllocAsync(uint64_t *address, size_t bytes, void *handle)
{
	struct sim_stream *stream;
	struct sim_pool *pool;
	int result = sim_stream_find(handle, &stream);

	if (!result)
		result = pool_of_device(stream->context->machine->facts.ordinal, &pool);
	return result ? result : alloc(address, bytes, pool, stream);
}

int do_cuMemAllocFromPoolAsync(uint64_t *address, size_t bytes, void *pool, void *handle)
{
	struct sim_stream *stream;
	int result = sim_stream_find(handle, &stream);

	if (result)
		return result;
	return sim_pool_is_live(pool) ? alloc(address, bytes, pool, stream) : SIM_INVALID_VALUE;
}

int do_cuMemFreeAsync(uint64_t address, void *handle)
{
	struct sim_stream *stream;
	struct sim_node *node;
	int result = sim_stream_find(handle, &stream);

	if (result)
		return result;
	if (!address)
		return SIM_OK;
	if (!sim_capture_status(stream))
		return sim_pool_free(stream, address);
	result = sim_capture_add(stream, 11, &node);
	if (!result)
		node->address = address;
	return result;
}

int do_cuDeviceGetDefaultMemPool(void **pool, int device)
{
	struct sim_machine *machine = sim_machine_at(device);

	if (!pool)
		return SIM_INVALID_VALUE;
	if (!machine)
		return SIM_INVALID_DEVICE;
	*pool = sim_pool_default(machine);
	return SIM_OK;
}

int do_cuDeviceGetMemPool(void **pool, int device)
{
	if (!pool)
		return SIM_INVALID_VALUE;
	return pool_of_device(device, (struct sim_pool **)pool);
}

int do_cuDeviceSetMemPool(int device, void *pool)
{
	struct sim_machine *machine = sim_machine_at(device);

	if (!machine)
		return SIM_INVALID_DEVICE;
	if (!sim_pool_is_live(pool))
		return SIM_INVALID_VALUE;
	sim_pool_default(machine);
	machine->current_pool = pool;
	return SIM_OK;
}

/* CUmemPoolProps: allocation type at 0, handle types at 4, location at 8, security at 16, most bytes at 24. */
int do_cuMemPoolCreate(void **pool, void *properties)
{
	struct sim_location location;
	size_t most;

	if (!pool || !properties)
		return SIM_INVALID_VALUE;
	memcpy(&location, (const char *)properties + 8, sizeof location);
	memcpy(&most, (const char *)properties + 24, sizeof most);
	if (!sim_machine_at(location.id))
		return SIM_INVALID_DEVICE;
	return sim_pool_new(sim_machine_at(location.id), most, (struct sim_pool **)pool);
}

int do_cuMemPoolDestroy(void *pool)
{
	return sim_pool_destroy(pool);
}

int do_cuMemPoolTrimTo(void *pool, size_t keep)
{
	return sim_pool_trim(pool, keep);
}

/* CUmemPool_attribute: 1 to 3 reuse rules, 4 threshold, 5 reserved, 6 its high, 7 used, 8 its high. */
int do_cuMemPoolGetAttribute(void *handle, int attribute, void *value)
{
	struct sim_pool *pool = handle;

	if (!sim_pool_is_live(pool) || !value || attribute < 1 || attribute > 8)
		return SIM_INVALID_VALUE;
	if (attribute <= 3)
		*(int *)value = pool->reuse[attribute - 1];
	else
		*(uint64_t *)value = attribute == 4 ? pool->threshold : attribute == 5 ? pool->reserved :
			attribute == 6 ? pool->reserved_high : attribute == 7 ? pool->used : pool->used_high;
	return SIM_OK;
}

int do_cuMemPoolSetAttribute(void *handle, int attribute, void *value)
{
	struct sim_pool *pool = handle;

	if (!sim_pool_is_live(pool) || !value)
		return SIM_INVALID_VALUE;
	if (attribute >= 1 && attribute <= 3)
		pool->reuse[attribute - 1] = *(int *)value;
	else if (attribute == 4)
		pool->threshold = *(uint64_t *)value;
	else if (attribute == 6 && !*(uint64_t *)value)
		pool->reserved_high = pool->reserved;
	else if (attribute == 8 && !*(uint64_t *)value)
		pool->used_high = pool->used;
	else
		return SIM_INVALID_VALUE;
	return SIM_OK;
}

int do_cuMemPoolSetAccess(void *pool, void *descriptors, size_t count)
{
	const struct {
		struct sim_location location;
		int flags;	/* 0 none, 3 read and write */
	} *wanted = descriptors;

	if (!sim_pool_is_live(pool) || !descriptors || !count)
		return SIM_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		uint32_t bit = UINT32_C(1) << (wanted[i].location.id & 31);

		((struct sim_pool *)pool)->peers = wanted[i].flags ? ((struct sim_pool *)pool)->peers | bit :
								      ((struct sim_pool *)pool)->peers & ~bit;
	}
	return SIM_OK;
}

int do_cuMemPoolGetAccess(void *flags, void *pool, void *location)
{
	if (!sim_pool_is_live(pool) || !flags || !location)
		return SIM_INVALID_VALUE;
	const struct sim_location *of = location;
	const struct sim_pool *from = pool;
	*(int *)flags = of->id == from->machine->facts.ordinal || from->peers >> (of->id & 31) & 1 ? 3 : 0;
	return SIM_OK;
}

/* CUmemAllocationType: 1 pinned, of devices; others have no pools here. */
static int pool_at(const struct sim_location *location, int type)
{
	return !location || location->type != 1 || type != 1 ? SIM_NOT_SUPPORTED : SIM_OK;
}

int do_cuMemGetDefaultMemPool(void **pool, void *location, int type)
{
	int result = pool_at(location, type);

	return result ? result : do_cuDeviceGetDefaultMemPool(pool, ((struct sim_location *)location)->id);
}

int do_cuMemGetMemPool(void **pool, void *location, int type)
{
	int result = pool_at(location, type);

	return result ? result : do_cuDeviceGetMemPool(pool, ((struct sim_location *)location)->id);
}

int do_cuMemSetMemPool(void *location, int type, void *pool)
{
	int result = pool_at(location, type);

	return result ? result : do_cuDeviceSetMemPool(((struct sim_location *)location)->id, pool);
}

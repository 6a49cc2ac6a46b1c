/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where GPU memory lies, as the driver says: of an address, of a handle of physical memory, of a pool, of a stream. See
 * preload/cuda_hooks.h. Rule: asked only after a call that succeeded, or that found no memory; what it does not say is not guessed.
 */
#include "preload/cuda_hooks.h"

#include "collectors/gpu_blocks.h"

#include "writer/poison.h"

enum { DEVICE_ORDINAL = 9, RANGE_SIZE = 12 }; /* CUpointer_attribute */

static int count_devices(void)
{
	static _Atomic int count; /* 0 = not known yet; the same whoever writes it: a process's devices stay */
	static struct tfp_cuda_slot slot;
	int known = count;

	if (!known) {
		int (*ask)(int *) = (int (*)(int *))tfp_cuda_driver(&slot, "cuDeviceGetCount");
		int error = tfp_cuda_asking();
		if (ask && ask(&known) == 0)
			count = known;
		tfp_cuda_asked(error);
	}
	return known;
}

static int ask_pointer(void *value, int attribute, uint64_t address)
{
	static struct tfp_cuda_slot slot;
	int (*ask)(void *, int, uint64_t) = (int (*)(void *, int, uint64_t))tfp_cuda_driver(&slot, "cuPointerGetAttribute");
	int error = tfp_cuda_asking();
	int is_known = address && ask && ask(value, attribute, address) == 0;

	tfp_cuda_asked(error);
	return is_known;
}

uint64_t tfp_cuda_bytes_at(uint64_t address)
{
	uint64_t bytes = 0;

	return ask_pointer(&bytes, RANGE_SIZE, address) ? bytes : 0;
}

static uint32_t device_of_pointer(uint64_t address)
{
	int device = -1;

	return ask_pointer(&device, DEVICE_ORDINAL, address) && device >= 0 ? (uint32_t)device : UINT32_MAX;
}

uint64_t tfp_cuda_device_at(const struct tfp_gpu_call *call, uint64_t address)
{
	uint32_t device = address && count_devices() > 1 ? device_of_pointer(address) : UINT32_MAX;

	return device == UINT32_MAX ? tfp_cuda_device(call) : device;
}

/* The one device whose default or current pool it is. */
static uint32_t device_of_usual_pool(uint64_t pool)
{
	static struct tfp_cuda_slot slots[2];
	static const char *const names[2] = {"cuDeviceGetDefaultMemPool", "cuDeviceGetMemPool"};

	for (int device = 0; device < count_devices(); device++) {
		for (int i = 0; i < 2; i++) {
			int (*ask)(uint64_t *, int) = (int (*)(uint64_t *, int))tfp_cuda_driver(&slots[i], names[i]);
			uint64_t found = 0;
			if (ask && ask(&found, device) == 0 && found == pool)
				return (uint32_t)device;
		}
	}
	return UINT32_MAX;
}

/* Its own device always reaches a pool's memory, others where they were let: the one device that does. */
static uint32_t device_by_access(uint64_t pool)
{
	static struct tfp_cuda_slot slot;
	int (*ask)(int *, uint64_t, void *) = (int (*)(int *, uint64_t, void *))tfp_cuda_driver(&slot, "cuMemPoolGetAccess");
	uint32_t only = UINT32_MAX;

	for (int device = 0; ask && device < count_devices(); device++) {
		struct tfp_gpu_location location = {TFP_GPU_ON_A_DEVICE, device};
		int flags = 0;
		if (ask(&flags, pool, &location) != 0)
			return UINT32_MAX;
		if (flags && only != UINT32_MAX)
			return UINT32_MAX;
		only = flags ? (uint32_t)device : only;
	}
	return only;
}

static uint32_t device_of_pool(uint64_t pool)
{
	uint32_t device = UINT32_MAX;

	if (count_devices() < 2)
		return count_devices() == 1 ? 0 : UINT32_MAX;
	int error = tfp_cuda_asking();
	device = device_of_usual_pool(pool);
	device = device == UINT32_MAX ? device_by_access(pool) : device;
	tfp_cuda_asked(error);
	return device;
}

/* A stream of the thread's context is of its device; of others a driver of CUDA 12.8 and later says it. */
static uint64_t device_of_stream(const struct tfp_gpu_call *call, uint64_t stream)
{
	static struct tfp_cuda_slot of_context, of_device;
	enum { LAST_DEFAULT = 2 }; /* CU_STREAM_PER_THREAD, as 0 and CU_STREAM_LEGACY: of the thread's context */
	int (*ask)(uint64_t, int *), device = -1;
	int (*ask_context)(uint64_t, uint64_t *);
	uint64_t context = 0;

	if (stream <= LAST_DEFAULT || count_devices() < 2)
		return tfp_cuda_device(call);
	ask = (int (*)(uint64_t, int *))tfp_cuda_driver(&of_device, "cuStreamGetDevice");
	ask_context = (int (*)(uint64_t, uint64_t *))tfp_cuda_driver(&of_context, "cuStreamGetCtx");
	int error = tfp_cuda_asking();
	int is_known = ask && ask(stream, &device) == 0 && device >= 0;
	int has_context = !is_known && ask_context && ask_context(stream, &context) == 0;
	tfp_cuda_asked(error);
	if (is_known)
		return (uint64_t)device;
	return has_context && context == tfp_cuda_context() ? tfp_cuda_device(call) : UINT64_MAX;
}

uint64_t tfp_cuda_device_ordered(const struct tfp_gpu_call *call, uint64_t address, uint64_t stream, uint64_t pool)
{
	if (address)
		return tfp_cuda_device_at(call, address);
	return pool ? device_of_pool(pool) : device_of_stream(call, stream);
}

/* Physical memory may be the host's; of what others made the device is told, too, where the driver says it. */
static __attribute__((noinline)) void place_handle(struct tfp_gpu_block *block, uint64_t handle) /* its struct on no other road's stack */
{
	static struct tfp_cuda_slot slot;
	struct tfp_gpu_physical physical = {.location = {0, -1}};
	int (*ask)(void *, uint64_t) =
		(int (*)(void *, uint64_t))tfp_cuda_driver(&slot, "cuMemGetAllocationPropertiesFromHandle");
	int error = tfp_cuda_asking();
	int is_known = ask && ask(&physical, handle) == 0;

	tfp_cuda_asked(error);
	if (is_known && physical.location.type == TFP_GPU_ON_A_DEVICE && physical.location.id >= 0)
		block->device = (uint32_t)physical.location.id;
	else if (is_known && physical.location.type > TFP_GPU_ON_A_DEVICE && physical.location.type <= TFP_GPU_ON_THE_HOST_LAST)
		block->flavour = TFP_GPU_FLAVOUR_HOST_MAPPED;
	if (tfp_gpu_handle_is_of_others(handle))
		block->flavour = TFP_GPU_FLAVOUR_IMPORTED;
}

void tfp_cuda_place(struct tfp_gpu_block *block, uint64_t handle)
{
	if (block->flavour == TFP_GPU_FLAVOUR_MAPPED) {
		place_handle(block, handle);
	} else if (block->flavour == TFP_GPU_FLAVOUR_IMPORTED) {
		block->device = device_of_pointer(block->address);
		block->bytes = block->bytes ? block->bytes : tfp_cuda_bytes_at(block->address);
	} else if (handle && !block->address) {
		block->device = device_of_pool(handle);
	}
}

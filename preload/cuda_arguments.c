/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of GPU calls that stand in structs of the host; see preload/cuda_hooks.h. Rule: a null pointer is no crash of ours. */
#include "preload/cuda_hooks.h"

#include "collectors/gpu_blocks.h"

#include "writer/poison.h"

/* Values in the order of the record's fields. */
static void set(struct tfp_gpu_call *call, enum tfp_gpu_argument argument, const uint64_t *values, unsigned count)
{
	call->argument = argument;
	for (unsigned i = 0; i < count; i++)
		call->values[i] = values[i];
}

static uint64_t chosen_device(const struct tfp_gpu_call *call)
{
	return call->thread->gpu.device ? call->thread->gpu.device - 1 : UINT32_MAX;
}

uint64_t tfp_cuda_device(const struct tfp_gpu_call *call)
{
	static struct tfp_cuda_slot slot;
	int (*ask)(int *) = (int (*)(int *))tfp_cuda_driver(&slot, "cuCtxGetDevice"), device = -1;
	int error = tfp_cuda_asking();
	uint64_t known = ask && ask(&device) == 0 && device >= 0 ? (uint64_t)device : chosen_device(call);

	tfp_cuda_asked(error);
	return known;
}

int tfp_cuda_is_capturing(uint64_t stream)
{
	static struct tfp_cuda_slot slot;
	enum { LEGACY = 1, ACTIVE = 1 }; /* CU_STREAM_LEGACY, as 0, is never captured; CU_STREAM_CAPTURE_STATUS_ACTIVE */
	int (*ask)(uint64_t, int *), status = 0;

	if (stream <= LEGACY)
		return 0;
	ask = (int (*)(uint64_t, int *))tfp_cuda_driver(&slot, "cuStreamIsCapturing");
	int error = tfp_cuda_asking();
	int is_known = ask && ask(stream, &status) == 0;
	tfp_cuda_asked(error);
	return is_known && status == ACTIVE;
}

uint64_t tfp_cuda_context(void)
{
	static struct tfp_cuda_slot slot;
	int (*ask)(void **) = (int (*)(void **))tfp_cuda_driver(&slot, "cuCtxGetCurrent");
	void *context = NULL;
	int error = tfp_cuda_asking();
	uint64_t known = ask && ask(&context) == 0 ? (uintptr_t)context : 0;

	tfp_cuda_asked(error);
	return known;
}

uint64_t tfp_cuda_runtime_device(const struct tfp_gpu_call *call, const void *real)
{
	int (*ask)(int *) = (int (*)(int *))tfp_cuda_sibling(real, "cudaGetDevice"), device = -1;
	int error = tfp_cuda_asking();
	uint64_t known = ask && ask(&device) == 0 && device >= 0 ? (uint64_t)device : chosen_device(call);

	tfp_cuda_asked(error);
	return known;
}

int tfp_cuda_primary_ended(int device)
{
	static struct tfp_cuda_slot slot;
	int (*ask)(int, unsigned *, int *) = (int (*)(int, unsigned *, int *))tfp_cuda_driver(&slot, "cuDevicePrimaryCtxGetState");
	int is_active = 1;
	unsigned flags = 0;
	int error = tfp_cuda_asking();
	int is_known = ask && ask(device, &flags, &is_active) == 0;

	tfp_cuda_asked(error);
	return is_known && !is_active;
}

void tfp_cuda_alloc_mapped(struct tfp_gpu_call *call, uint64_t address, uint64_t bytes, uint64_t handle, int result)
{
	struct tfp_gpu_block block = {.bytes = bytes, .flavour = TFP_GPU_FLAVOUR_MAPPED, .device = UINT32_MAX};

	if (result == 0 || result == (int)TFP_GPU_OUT_OF_MEMORY) {
		tfp_cuda_place(&block, handle);
		if (block.device == UINT32_MAX && block.flavour != TFP_GPU_FLAVOUR_HOST_MAPPED)
			block.device = (uint32_t)tfp_cuda_device(call);
	}
	const uint64_t values[] = {result == 0 ? address : 0, bytes, 0, 0, block.device, block.flavour, 0};
	set(call, TFP_GPU_ALLOC, values, 7);
}

void tfp_cuda_alloc_node(struct tfp_gpu_call *call, const void *parameters, int result)
{
	const struct tfp_gpu_alloc_node *node = parameters;

	if (!node || (result && result != (int)TFP_GPU_OUT_OF_MEMORY))
		return;
	const uint64_t values[] = {result == 0 ? node->address : 0, node->bytes, 0, 0, (uint32_t)node->location.id,
				   TFP_GPU_FLAVOUR_ORDERED, 0};
	set(call, TFP_GPU_ALLOC, values, 7);
	if (result == 0)
		tfp_gpu_captured(call);
}

static uint64_t stream_of(const void *stream, uint64_t otherwise)
{
	return stream ? (uint64_t)(uintptr_t)stream : otherwise;
}

void tfp_cuda_launch(struct tfp_gpu_call *call, const void *kernel, const void *config, uint64_t otherwise)
{
	const struct tfp_gpu_launch_config *how = config;

	if (!how)
		return;
	const uint64_t values[] = {(uintptr_t)kernel, stream_of(how->stream, otherwise), how->grid.x, how->grid.y, how->grid.z,
				   how->block.x, how->block.y, how->block.z, how->shared};
	set(call, TFP_GPU_LAUNCH, values, 9);
}

void tfp_cuda_launch_driver(struct tfp_gpu_call *call, const void *kernel, const void *config, uint64_t otherwise)
{
	const struct tfp_gpu_driver_config *how = config;

	if (!how)
		return;
	const uint64_t values[] = {(uintptr_t)kernel, stream_of(how->stream, otherwise), how->grid_x, how->grid_y, how->grid_z,
				   how->block_x, how->block_y, how->block_z, how->shared};
	set(call, TFP_GPU_LAUNCH, values, 9);
}

static void set_copy(struct tfp_gpu_call *call, uint64_t bytes, const void *to, const void *from, uint64_t stream, int kind)
{
	const uint64_t values[] = {bytes, (uintptr_t)to, (uintptr_t)from, stream, (uint64_t)kind};

	set(call, TFP_GPU_COPY, values, 5);
}

/*
 * The extent of a copy that an array takes part in counts elements: how wide those are only the array knows. Nothing is said of
 * it then, for 0 bytes would be a copy that has nothing to do.
 */
static void set_copy_3d(struct tfp_gpu_call *call, const struct tfp_gpu_extent *extent, const void *to_array, const void *to,
			const void *from_array, const void *from, uint64_t stream, int kind)
{
	uint64_t bytes = extent->width * extent->height * extent->depth;

	if (!bytes || (!to_array && !from_array))
		set_copy(call, bytes, to_array ? to_array : to, from_array ? from_array : from, stream, kind);
}

void tfp_cuda_copy_3d(struct tfp_gpu_call *call, const void *copy, uint64_t stream)
{
	const struct tfp_gpu_copy_3d *how = copy;

	if (how)
		set_copy_3d(call, &how->extent, how->to_array, how->to.address, how->from_array, how->from.address, stream,
			    how->kind);
}

void tfp_cuda_copy_3d_peer(struct tfp_gpu_call *call, const void *copy, uint64_t stream)
{
	const struct tfp_gpu_copy_3d_peer *how = copy;

	if (how)
		set_copy_3d(call, &how->extent, how->to_array, how->to.address, how->from_array, how->from.address, stream, 5);
}

/* CUmemorytype: 1 host, 2 device, 3 array, 4 unified: by address. */
static int kind_of(int from, int to)
{
	if (from == 4 || to == 4)
		return 4;
	return from == 1 ? (to == 1 ? 0 : 1) : to == 1 ? 2 : 3;
}

static const void *end_of(int type, const void *host, uint64_t device, const void *array)
{
	return type == 1 ? host : type == 3 ? array : (const void *)(uintptr_t)device;
}

void tfp_cuda_copy_driver_2d(struct tfp_gpu_call *call, const void *copy, uint64_t stream)
{
	const struct tfp_gpu_driver_copy_2d *how = copy;

	if (how)
		set_copy(call, how->width * how->height, end_of(how->to_type, how->to_host, how->to_device, how->to_array),
			 end_of(how->from_type, how->from_host, how->from_device, how->from_array), stream,
			 kind_of(how->from_type, how->to_type));
}

void tfp_cuda_copy_driver_3d(struct tfp_gpu_call *call, const void *copy, uint64_t stream)
{
	const struct tfp_gpu_driver_copy_3d *how = copy;

	if (how)
		set_copy(call, how->width * how->height * how->depth,
			 end_of(how->to_type, how->to_host, how->to_device, how->to_array),
			 end_of(how->from_type, how->from_host, how->from_device, how->from_array), stream,
			 kind_of(how->from_type, how->to_type));
}

void tfp_cuda_alloc_3d(struct tfp_gpu_call *call, const void *pitched, const struct tfp_gpu_extent *extent, int result)
{
	const struct tfp_gpu_pitched *made = result == 0 ? pitched : NULL;
	const uint64_t values[] = {made ? (uintptr_t)made->address : 0, made ? made->pitch * extent->height * extent->depth : 0,
				   0, 0, tfp_cuda_device(call), TFP_GPU_FLAVOUR_DEVICE, tfp_cuda_context()};

	set(call, TFP_GPU_ALLOC, values, 7);
}

/* Sides of 0 are those of arrays of fewer dimensions. */
static uint64_t elements(size_t width, size_t height, size_t depth)
{
	return (uint64_t)width * (height ? height : 1) * (depth ? depth : 1);
}

uint64_t tfp_cuda_array_bytes(const void *channels, size_t width, size_t height, size_t depth)
{
	const struct tfp_gpu_channels *of = channels;

	return of ? elements(width, height, depth) * (uint64_t)(of->x + of->y + of->z + of->w) / 8 : 0;
}

/* CUarray_format: 1 to 3 and 8 to 10 are integers of 1, 2, 4 bytes, 0x10 half, 0x20 float; others are packed: not said. */
static uint64_t format_bytes(int format)
{
	switch (format) {
	case 1:
	case 8:
		return 1;
	case 2:
	case 9:
	case 0x10:
		return 2;
	case 3:
	case 10:
	case 0x20:
		return 4;
	default:
		return 0;
	}
}

uint64_t tfp_cuda_driver_array_bytes(const void *wanted)
{
	const struct tfp_gpu_array *of = wanted;

	return of ? elements(of->width, of->height, 1) * format_bytes(of->format) * of->channels : 0;
}

uint64_t tfp_cuda_driver_array_3d_bytes(const void *wanted)
{
	const struct tfp_gpu_array_3d *of = wanted;

	return of ? elements(of->width, of->height, of->depth) * format_bytes(of->format) * of->channels : 0;
}

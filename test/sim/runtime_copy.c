/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runtime functions that copy and set memory.
 *
 * Rule: the driver function is chosen by the kind the program gives; kind 4 (by address) and host to host use cuMemcpy.
 */
#include <string.h>

#include "runtime.h"

/* cudaMemcpyKind */
enum { TO_DEVICE = 1, TO_HOST = 2, INSIDE = 3 };

static uint64_t number(const void *address)
{
	return (uintptr_t)address;
}

static bool is_twin(void)
{
	return sim_call_current()->is_per_thread;
}

/* Whether the kind fits the addresses, which the runtime checks. */
static bool fits(const void *to, const void *from, int kind)
{
	struct sim_place to_place, from_place;
	bool to_device, from_device, managed_to, managed_from;

	sim_place_of(number(to), &to_place);
	sim_place_of(number(from), &from_place);
	to_device = to_place.kind >= 3;
	from_device = from_place.kind >= 3;
	managed_to = to_place.kind == 5;
	managed_from = from_place.kind == 5;
	switch (kind) {
	case 0:
		return (!to_device || managed_to) && (!from_device || managed_from);
	case TO_DEVICE:
		return to_device && (!from_device || managed_from);
	case TO_HOST:
		return (!to_device || managed_to) && from_device;
	case INSIDE:
		return to_device && from_device;
	default:
		return kind == 4;
	}
}

int do_cudaMemcpy(void *to, void *from, size_t bytes, int kind)
{
	if (!bytes)
		return SIM_OK;
	if (!to || !from)
		return SIM_INVALID_VALUE;
	if (!fits(to, from, kind))
		return kind < 0 || kind > 4 ? 21 /* cudaErrorInvalidMemcpyDirection */ : SIM_INVALID_VALUE;
	if (is_twin())
		return sim_cu.cuMemcpy(number(to), number(from), bytes);
	if (kind == TO_DEVICE)
		return sim_cu.cuMemcpyHtoD_v2(number(to), from, bytes);
	if (kind == TO_HOST)
		return sim_cu.cuMemcpyDtoH_v2(to, number(from), bytes);
	if (kind == INSIDE)
		return sim_cu.cuMemcpyDtoD_v2(number(to), number(from), bytes);
	return sim_cu.cuMemcpy(number(to), number(from), bytes);
}

int do_cudaMemcpyAsync(void *to, void *from, size_t bytes, int kind, void *handle)
{
	void *stream = sim_runtime_stream(handle);

	if (!bytes)
		return SIM_OK;
	if (!to || !from || !fits(to, from, kind))
		return kind < 0 || kind > 4 ? 21 : SIM_INVALID_VALUE;
	if (kind == TO_DEVICE)
		return sim_cu.cuMemcpyHtoDAsync_v2(number(to), from, bytes, stream);
	if (kind == TO_HOST)
		return sim_cu.cuMemcpyDtoHAsync_v2(to, number(from), bytes, stream);
	if (kind == INSIDE)
		return sim_cu.cuMemcpyDtoDAsync_v2(number(to), number(from), bytes, stream);
	return sim_cu.cuMemcpyAsync(number(to), number(from), bytes, stream);
}

static int copy_peer(void *to, int to_device, void *from, int from_device, size_t bytes, void *stream, bool is_async)
{
	struct sim_context *to_context, *from_context;
	int result = sim_runtime_context(to_device, &to_context);

	result = result ? result : sim_runtime_context(from_device, &from_context);
	if (result)
		return result;
	return is_async ? sim_cu.cuMemcpyPeerAsync(number(to), to_context, number(from), from_context, bytes, stream) :
		sim_cu.cuMemcpyPeer(number(to), to_context, number(from), from_context, bytes);
}

int do_cudaMemcpyPeer(void *to, int to_device, void *from, int from_device, size_t bytes)
{
	return copy_peer(to, to_device, from, from_device, bytes, NULL, false);
}

int do_cudaMemcpyPeerAsync(void *to, int to_device, void *from, int from_device, size_t bytes, void *stream)
{
	return copy_peer(to, to_device, from, from_device, bytes, sim_runtime_stream(stream), true);
}

/* CUDA_MEMCPY2D and CUDA_MEMCPY3D, see driver_copy.c. Kind of a side: 1 host, 3 array, 4 by address. */
struct flat_side {
	size_t x, y;
	int kind;
	void *host;
	uint64_t device;
	void *array;
	size_t pitch;
};
struct flat_copy {
	struct flat_side from, to;
	size_t width, height;
};
struct deep_side {
	size_t x, y, z, level;
	int kind;
	void *host;
	uint64_t device;
	void *array;
	void *context;
	size_t pitch, height;
};
struct deep_copy {
	struct deep_side from, to;
	size_t width, height, depth;
};

static struct flat_side flat(void *address, size_t pitch)
{
	return (struct flat_side){.kind = 4, .device = number(address), .pitch = pitch};
}

static struct flat_side within(void *array, size_t x, size_t y)
{
	return (struct flat_side){.kind = 3, .array = array, .x = x, .y = y};
}

static int copy_flat(struct flat_side to, struct flat_side from, size_t width, size_t height, void *handle, bool is_async)
{
	struct flat_copy copy = {.from = from, .to = to, .width = width, .height = height};

	return is_async ? sim_cu.cuMemcpy2DAsync_v2(&copy, sim_runtime_stream(handle)) : sim_cu.cuMemcpy2DUnaligned_v2(&copy);
}

int do_cudaMemcpy2D(void *to, size_t to_pitch, void *from, size_t from_pitch, size_t width, size_t height, int kind)
{
	if (width > to_pitch || width > from_pitch || !fits(to, from, kind))
		return width > to_pitch || width > from_pitch ? 12 /* cudaErrorInvalidPitchValue */ : SIM_INVALID_VALUE;
	return copy_flat(flat(to, to_pitch), flat(from, from_pitch), width, height, NULL, false);
}

int do_cudaMemcpy2DAsync(void *to, size_t to_pitch, void *from, size_t from_pitch, size_t width, size_t height, int kind,
		void *stream)
{
	if (width > to_pitch || width > from_pitch || !fits(to, from, kind))
		return width > to_pitch || width > from_pitch ? 12 : SIM_INVALID_VALUE;
	return copy_flat(flat(to, to_pitch), flat(from, from_pitch), width, height, stream, true);
}

int do_cudaMemcpy2DToArray(void *to, size_t x, size_t y, void *from, size_t pitch, size_t width, size_t height, int kind)
{
	(void)kind;
	return copy_flat(within(to, x, y), flat(from, pitch), width, height, NULL, false);
}

int do_cudaMemcpy2DToArrayAsync(void *to, size_t x, size_t y, void *from, size_t pitch, size_t width, size_t height,
		int kind, void *stream)
{
	(void)kind;
	return copy_flat(within(to, x, y), flat(from, pitch), width, height, stream, true);
}

int do_cudaMemcpy2DFromArray(void *to, size_t pitch, void *from, size_t x, size_t y, size_t width, size_t height, int kind)
{
	(void)kind;
	return copy_flat(flat(to, pitch), within(from, x, y), width, height, NULL, false);
}

int do_cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, void *from, size_t x, size_t y, size_t width, size_t height, int kind,
				  void *stream)
{
	(void)kind;
	return copy_flat(flat(to, pitch), within(from, x, y), width, height, stream, true);
}

int do_cudaMemcpy2DArrayToArray(void *to, size_t to_x, size_t to_y, void *from, size_t x, size_t y, size_t width, size_t height, int kind)
{
	(void)kind;
	return copy_flat(within(to, to_x, to_y), within(from, x, y), width, height, NULL, false);
}

/* Of arrays of one row, as all programs of CUDA 9 that still use these have them. */
int do_cudaMemcpyToArray(void *to, size_t x, size_t y, void *from, size_t bytes, int kind)
{
	(void)kind;
	return copy_flat(within(to, x, y), flat(from, bytes), bytes, 1, NULL, false);
}

int do_cudaMemcpyFromArray(void *to, void *from, size_t x, size_t y, size_t bytes, int kind)
{
	(void)kind;
	return copy_flat(flat(to, bytes), within(from, x, y), bytes, 1, NULL, false);
}

/* cudaMemcpy3DParms, and its peer form with a device behind each side. */
struct runtime_side {
	void *array;
	struct sim_extent position;
	struct sim_pitched place;
};
struct runtime_copy {
	struct runtime_side from, to;
	struct sim_extent extent;
	int kind;
};
struct runtime_peer_copy {
	struct runtime_side from;
	int from_device;
	struct runtime_side to;
	int to_device;
	struct sim_extent extent;
};

static struct deep_side deep(const struct runtime_side *side, size_t element)
{
	struct deep_side deep = {.x = side->position.width * (side->array ? element : 1), .y = side->position.height,
				 .z = side->position.depth, .kind = side->array ? 3 : 4, .array = side->array,
				 .device = number(side->place.pointer), .pitch = side->place.pitch, .height = side->place.height};

	return deep;
}

/* CUDA_ARRAY3D_DESCRIPTOR */
static size_t element_of(const struct runtime_side *from, const struct runtime_side *to)
{
	struct {
		size_t width, height, depth;
		unsigned format, channels, flags;
	} shape;
	void *array = from->array ? from->array : to->array;

	if (!array || sim_cu.cuArray3DGetDescriptor_v2(&shape, array))
		return 1;
	return shape.channels * (shape.format == 1 || shape.format == 8 ? 1u : shape.format == 2 || shape.format == 9 ||
		shape.format == 16 ?
				 2u : 4u);
}

static struct deep_copy deep_of(const struct runtime_side *from, const struct runtime_side *to, struct sim_extent extent)
{
	size_t element = element_of(from, to);

	return (struct deep_copy){.from = deep(from, element), .to = deep(to, element), .width = extent.width * element,
				  .height = extent.height, .depth = extent.depth};
}

int do_cudaMemcpy3D(void *parameters)
{
	const struct runtime_copy *from = parameters;
	struct deep_copy copy;

	if (!from)
		return SIM_INVALID_VALUE;
	copy = deep_of(&from->from, &from->to, from->extent);
	return sim_cu.cuMemcpy3D_v2(&copy);
}

int do_cudaMemcpy3DAsync(void *parameters, void *stream)
{
	const struct runtime_copy *from = parameters;
	struct deep_copy copy;

	if (!from)
		return SIM_INVALID_VALUE;
	copy = deep_of(&from->from, &from->to, from->extent);
	return sim_cu.cuMemcpy3DAsync_v2(&copy, sim_runtime_stream(stream));
}

static int copy_peer_planes(const struct runtime_peer_copy *from, void *stream, bool is_async)
{
	struct sim_context *to_context, *from_context;
	struct deep_copy copy;
	int result;

	if (!from)
		return SIM_INVALID_VALUE;
	result = sim_runtime_context(from->to_device, &to_context);
	result = result ? result : sim_runtime_context(from->from_device, &from_context);
	if (result)
		return result;
	copy = deep_of(&from->from, &from->to, from->extent);
	copy.to.context = to_context;
	copy.from.context = from_context;
	return is_async ? sim_cu.cuMemcpy3DPeerAsync(&copy, stream) : sim_cu.cuMemcpy3DPeer(&copy);
}

int do_cudaMemcpy3DPeer(void *parameters)
{
	return copy_peer_planes(parameters, NULL, false);
}

int do_cudaMemcpy3DPeerAsync(void *parameters, void *stream)
{
	return copy_peer_planes(parameters, sim_runtime_stream(stream), true);
}

/* The address of a variable's part; error 1 when it does not lie within. */
static int part_of(const void *shadow, size_t offset, size_t bytes, void **address)
{
	uint64_t place;
	size_t size;
	int result = sim_runtime_symbol(shadow, &place, &size);

	if (!result && (offset > size || bytes > size - offset))
		result = SIM_INVALID_VALUE;
	if (!result)
		*address = (void *)(uintptr_t)(place + offset);
	return result;
}

int do_cudaMemcpyToSymbol(void *shadow, void *from, size_t bytes, size_t offset, int kind)
{
	void *to;
	int result = part_of(shadow, offset, bytes, &to);

	return result ? result : do_cudaMemcpy(to, from, bytes, kind);
}

int do_cudaMemcpyToSymbolAsync(void *shadow, void *from, size_t bytes, size_t offset, int kind, void *stream)
{
	void *to;
	int result = part_of(shadow, offset, bytes, &to);

	return result ? result : do_cudaMemcpyAsync(to, from, bytes, kind, stream);
}

int do_cudaMemcpyFromSymbol(void *to, void *shadow, size_t bytes, size_t offset, int kind)
{
	void *from;
	int result = part_of(shadow, offset, bytes, &from);

	return result ? result : do_cudaMemcpy(to, from, bytes, kind);
}

int do_cudaMemcpyFromSymbolAsync(void *to, void *shadow, size_t bytes, size_t offset, int kind, void *stream)
{
	void *from;
	int result = part_of(shadow, offset, bytes, &from);

	return result ? result : do_cudaMemcpyAsync(to, from, bytes, kind, stream);
}

int do_cudaMemset(void *to, int value, size_t bytes)
{
	return bytes ? sim_cu.cuMemsetD8_v2(number(to), (uint8_t)value, bytes) : SIM_OK;
}

int do_cudaMemsetAsync(void *to, int value, size_t bytes, void *stream)
{
	return bytes ? sim_cu.cuMemsetD8Async(number(to), (uint8_t)value, bytes, sim_runtime_stream(stream)) : SIM_OK;
}

int do_cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
	return sim_cu.cuMemsetD2D8_v2(number(to), pitch, (uint8_t)value, width, height);
}

int do_cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, void *stream)
{
	return sim_cu.cuMemsetD2D8Async(number(to), pitch, (uint8_t)value, width, height, sim_runtime_stream(stream));
}

int do_cudaMemset3D(struct sim_pitched to, int value, struct sim_extent extent)
{
	return sim_cu.cuMemsetD2D8_v2(number(to.pointer), to.pitch, (uint8_t)value, extent.width, extent.height * extent.depth);
}

int do_cudaMemset3DAsync(struct sim_pitched to, int value, struct sim_extent extent, void *stream)
{
	return sim_cu.cuMemsetD2D8Async(number(to.pointer), to.pitch, (uint8_t)value, extent.width, extent.height * extent.depth,
					sim_runtime_stream(stream));
}

int do_cudaMemcpyBatchAsync(void **to, void **from, size_t *bytes, size_t count, void *attributes, size_t *places, size_t kinds,
			    void *stream)
{
	return sim_cu.cuMemcpyBatchAsync_v2((uint64_t *)to, (uint64_t *)from, bytes, count, attributes, places, kinds,
					    sim_runtime_stream(stream));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver functions that copy and set memory.
 *
 * Rule: each function says what it copies as struct sim_copy; the core does the rest.
 */
#include <string.h>

#include "driver.h"

/* One row of bytes between two addresses. */
static int copy_flat(uint64_t to, uint64_t from, size_t bytes, void *handle, bool is_async)
{
	struct sim_copy copy = {.to = {.address = to, .pitch = bytes, .height = 1}, .from = {.address = from, .pitch = bytes, .height = 1},
				.width = bytes, .height = 1, .depth = 1, .is_async = is_async};
	struct sim_stream *stream;
	int result = sim_stream_find(handle, &stream);

	return result ? result : sim_copy(stream, &copy);
}

int do_cuMemcpy(uint64_t to, uint64_t from, size_t bytes)
{
	return copy_flat(to, from, bytes, NULL, false);
}

int do_cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
	return copy_flat(to, from, bytes, stream, true);
}

/* A batch is so many copies of one call; not in the legacy default stream. */
int do_cuMemcpyBatchAsync_v2(uint64_t *to, uint64_t *from, size_t *bytes, size_t count, void *attributes, size_t *places, size_t kinds,
			     void *stream)
{
	int result = SIM_OK;

	if (!to || !from || !bytes || !count || !attributes || !places || !kinds || kinds > count || places[0])
		return SIM_INVALID_VALUE;
	if (stream == (void *)1 || (!stream && !sim_call_current()->is_per_thread))
		return SIM_INVALID_VALUE;
	for (size_t i = 0; i < count && !result; i++)
		result = bytes[i] ? copy_flat(to[i], from[i], bytes[i], stream, true) : SIM_INVALID_VALUE;
	return result;
}

int do_cuMemcpyHtoD_v2(uint64_t to, void *from, size_t bytes)
{
	return copy_flat(to, (uintptr_t)from, bytes, NULL, false);
}

int do_cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
	return copy_flat((uintptr_t)to, from, bytes, NULL, false);
}

int do_cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes)
{
	return copy_flat(to, from, bytes, NULL, false);
}

int do_cuMemcpyHtoDAsync_v2(uint64_t to, void *from, size_t bytes, void *stream)
{
	return copy_flat(to, (uintptr_t)from, bytes, stream, true);
}

int do_cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
	return copy_flat((uintptr_t)to, from, bytes, stream, true);
}

int do_cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
	return copy_flat(to, from, bytes, stream, true);
}

static int copy_peer(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t bytes, void *handle, bool is_async)
{
	struct sim_copy copy = {.to = {.address = to, .pitch = bytes, .height = 1}, .from = {.address = from, .pitch = bytes, .height = 1},
				.width = bytes, .height = 1, .depth = 1, .is_async = is_async, .is_peer = true,
				.to_context = to_context, .from_context = from_context};
	struct sim_stream *stream;
	int result = sim_stream_find(handle, &stream);

	if (!sim_context_is_live(to_context) || !sim_context_is_live(from_context))
		return SIM_INVALID_CONTEXT;
	return result ? result : sim_copy(stream, &copy);
}

int do_cuMemcpyPeer(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t bytes)
{
	return copy_peer(to, to_context, from, from_context, bytes, NULL, false);
}

int do_cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t bytes, void *stream)
{
	return copy_peer(to, to_context, from, from_context, bytes, stream, true);
}

/* CUDA_MEMCPY2D: two of these sides, then width and height. Kind: 1 host, 2 device, 3 array, 4 unified. */
struct flat_side {
	size_t x, y;
	int kind;
	void *host;
	uint64_t device;
	struct sim_array *array;
	size_t pitch;
};
struct flat_copy {
	struct flat_side from, to;
	size_t width, height;
};
/* CUDA_MEMCPY3D and its peer form, whose context stands where the other has a reserved pointer. */
struct deep_side {
	size_t x, y, z, level;
	int kind;
	void *host;
	uint64_t device;
	struct sim_array *array;
	struct sim_context *context;
	size_t pitch, height;
};
struct deep_copy {
	struct deep_side from, to;
	size_t width, height, depth;
};

static struct sim_side side_of(int kind, void *host, uint64_t device, struct sim_array *array)
{
	struct sim_side side = {.address = kind == 1 ? (uint64_t)(uintptr_t)host : device};

	if (kind == 3)
		side.array = array;
	return side;
}

static struct sim_side flat_side(const struct flat_side *from, size_t width)
{
	struct sim_side side = side_of(from->kind, from->host, from->device, from->array);

	side.x = from->x;
	side.y = from->y;
	side.pitch = from->pitch ? from->pitch : width;
	return side;
}

static struct sim_side deep_side(const struct deep_side *from, const struct deep_copy *copy)
{
	struct sim_side side = side_of(from->kind, from->host, from->device, from->array);

	side.x = from->x;
	side.y = from->y;
	side.z = from->z;
	side.pitch = from->pitch ? from->pitch : copy->width;
	side.height = from->height ? from->height : copy->height;
	return side;
}

static bool is_side(const struct sim_side *side)
{
	return side->array ? sim_is_object(side->array, SIM_MAGIC_ARRAY) : side->address != 0;
}

static int copy_rows(const void *shape, void *handle, bool is_async)
{
	const struct flat_copy *flat = shape;
	struct sim_copy copy = {.depth = 1, .is_async = is_async};
	struct sim_stream *stream;
	int result = sim_stream_find(handle, &stream);

	if (result || !flat)
		return result ? result : SIM_INVALID_VALUE;
	copy.to = flat_side(&flat->to, flat->width);
	copy.from = flat_side(&flat->from, flat->width);
	copy.width = flat->width;
	copy.height = flat->height;
	return is_side(&copy.to) && is_side(&copy.from) ? sim_copy(stream, &copy) : SIM_INVALID_VALUE;
}

static int copy_planes(const void *shape, void *handle, bool is_async, bool is_peer)
{
	const struct deep_copy *deep = shape;
	struct sim_copy copy = {.is_async = is_async, .is_peer = is_peer};
	struct sim_stream *stream;
	int result = sim_stream_find(handle, &stream);

	if (result || !deep)
		return result ? result : SIM_INVALID_VALUE;
	copy.to = deep_side(&deep->to, deep);
	copy.from = deep_side(&deep->from, deep);
	copy.to_context = is_peer ? deep->to.context : NULL;
	copy.from_context = is_peer ? deep->from.context : NULL;
	copy.width = deep->width;
	copy.height = deep->height;
	copy.depth = deep->depth;
	return is_side(&copy.to) && is_side(&copy.from) ? sim_copy(stream, &copy) : SIM_INVALID_VALUE;
}

int do_cuMemcpy2D_v2(void *shape)
{
	return copy_rows(shape, NULL, false);
}

int do_cuMemcpy2DUnaligned_v2(void *shape)
{
	return copy_rows(shape, NULL, false);
}

int do_cuMemcpy2DAsync_v2(void *shape, void *stream)
{
	return copy_rows(shape, stream, true);
}

int do_cuMemcpy3D_v2(void *shape)
{
	return copy_planes(shape, NULL, false, false);
}

int do_cuMemcpy3DAsync_v2(void *shape, void *stream)
{
	return copy_planes(shape, stream, true, false);
}

int do_cuMemcpy3DPeer(void *shape)
{
	return copy_planes(shape, NULL, false, true);
}

int do_cuMemcpy3DPeerAsync(void *shape, void *stream)
{
	return copy_planes(shape, stream, true, true);
}

static int copy_array(struct sim_side to, struct sim_side from, size_t bytes, void *handle, bool is_async)
{
	struct sim_copy copy = {.to = to, .from = from, .width = bytes, .height = 1, .depth = 1, .is_async = is_async};
	struct sim_stream *stream;
	int result = sim_stream_find(handle, &stream);

	if (!is_side(&to) || !is_side(&from))
		return SIM_INVALID_VALUE;
	return result ? result : sim_copy(stream, &copy);
}

static struct sim_side line(uint64_t address, size_t bytes)
{
	return (struct sim_side){.address = address, .pitch = bytes, .height = 1};
}

static struct sim_side within(void *array, size_t offset)
{
	return (struct sim_side){.array = array, .x = offset};
}

int do_cuMemcpyHtoA_v2(void *to, size_t offset, void *from, size_t bytes)
{
	return copy_array(within(to, offset), line((uintptr_t)from, bytes), bytes, NULL, false);
}

int do_cuMemcpyAtoH_v2(void *to, void *from, size_t offset, size_t bytes)
{
	return copy_array(line((uintptr_t)to, bytes), within(from, offset), bytes, NULL, false);
}

int do_cuMemcpyDtoA_v2(void *to, size_t offset, uint64_t from, size_t bytes)
{
	return copy_array(within(to, offset), line(from, bytes), bytes, NULL, false);
}

int do_cuMemcpyAtoD_v2(uint64_t to, void *from, size_t offset, size_t bytes)
{
	return copy_array(line(to, bytes), within(from, offset), bytes, NULL, false);
}

int do_cuMemcpyAtoA_v2(void *to, size_t to_offset, void *from, size_t from_offset, size_t bytes)
{
	return copy_array(within(to, to_offset), within(from, from_offset), bytes, NULL, false);
}

int do_cuMemcpyHtoAAsync_v2(void *to, size_t offset, void *from, size_t bytes, void *stream)
{
	return copy_array(within(to, offset), line((uintptr_t)from, bytes), bytes, stream, true);
}

int do_cuMemcpyAtoHAsync_v2(void *to, void *from, size_t offset, size_t bytes, void *stream)
{
	return copy_array(line((uintptr_t)to, bytes), within(from, offset), bytes, stream, true);
}

static int set(uint64_t to, size_t pitch, unsigned value, unsigned element, size_t width, size_t height, void *handle, bool is_async)
{
	struct sim_set what = {.address = to, .pitch = pitch, .width = width, .height = height, .element = element, .value = value,
			       .is_async = is_async};
	struct sim_stream *stream;
	int result = sim_stream_find(handle, &stream);

	return result ? result : sim_set(stream, &what);
}

int do_cuMemsetD8_v2(uint64_t to, uint8_t value, size_t count)
{
	return set(to, count, value, 1, count, 1, NULL, false);
}

int do_cuMemsetD16_v2(uint64_t to, uint16_t value, size_t count)
{
	return set(to, count, value, 2, count, 1, NULL, false);
}

int do_cuMemsetD32_v2(uint64_t to, unsigned value, size_t count)
{
	return set(to, count, value, 4, count, 1, NULL, false);
}

int do_cuMemsetD8Async(uint64_t to, uint8_t value, size_t count, void *stream)
{
	return set(to, count, value, 1, count, 1, stream, true);
}

int do_cuMemsetD16Async(uint64_t to, uint16_t value, size_t count, void *stream)
{
	return set(to, count, value, 2, count, 1, stream, true);
}

int do_cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void *stream)
{
	return set(to, count, value, 4, count, 1, stream, true);
}

int do_cuMemsetD2D8_v2(uint64_t to, size_t pitch, uint8_t value, size_t width, size_t height)
{
	return set(to, pitch, value, 1, width, height, NULL, false);
}

int do_cuMemsetD2D16_v2(uint64_t to, size_t pitch, uint16_t value, size_t width, size_t height)
{
	return set(to, pitch, value, 2, width, height, NULL, false);
}

int do_cuMemsetD2D32_v2(uint64_t to, size_t pitch, unsigned value, size_t width, size_t height)
{
	return set(to, pitch, value, 4, width, height, NULL, false);
}

int do_cuMemsetD2D8Async(uint64_t to, size_t pitch, uint8_t value, size_t width, size_t height, void *stream)
{
	return set(to, pitch, value, 1, width, height, stream, true);
}

int do_cuMemsetD2D16Async(uint64_t to, size_t pitch, uint16_t value, size_t width, size_t height, void *stream)
{
	return set(to, pitch, value, 2, width, height, stream, true);
}

int do_cuMemsetD2D32Async(uint64_t to, size_t pitch, unsigned value, size_t width, size_t height, void *stream)
{
	return set(to, pitch, value, 4, width, height, stream, true);
}

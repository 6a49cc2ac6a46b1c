/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the arguments of a hooked GPU call mean: the last column of the tables, collectors/tables/cuda_*.def.
 *
 * Each word exists three times: AFTER_word(...) stores the values of the record before the call's, once the real function
 * has returned (result and call are in scope); BEFORE_word(...) does what must come before it; NAMES_word(...) is the text
 * of the values' names, for libraries. Rule: what a pointer of the host points to is read only after a real call that
 * succeeded, or that would have read it too.
 */
#ifndef TFP_PRELOAD_CUDA_MEANING_H
#define TFP_PRELOAD_CUDA_MEANING_H

#include "collectors/gpu_blocks.h"
#include "collectors/gpu_names.h"
#include "collectors/gpu_types.h"

#define OWN_STREAM 2 /* cudaStreamPerThread, CU_STREAM_PER_THREAD */
#define NOT_KNOWN UINT64_MAX

#define WORD(value) ((uint64_t)(value))
/* Of the twins that are compiled for streams by thread: their stream 0 is the calling thread's. */
#define OWN(stream) (WORD(stream) ? WORD(stream) : OWN_STREAM)

/* cudaMemcpyKind, and ours for peers. */
#define TO_DEVICE 1
#define TO_HOST 2
#define ON_DEVICE 3
#define BY_ADDRESS 4
#define PEER 5

/* The values of the record, one store each. */
#define VALUES(count, ...) PUT_##count(0, __VA_ARGS__)
#define PUT_1(i, a) call.values[i] = (a)
#define PUT_2(i, a, ...) \
	PUT_1(i, a); \
	PUT_1(i + 1, __VA_ARGS__)
#define PUT_3(i, a, ...) \
	PUT_1(i, a); \
	PUT_2(i + 1, __VA_ARGS__)
#define PUT_4(i, a, ...) \
	PUT_1(i, a); \
	PUT_3(i + 1, __VA_ARGS__)
#define PUT_5(i, a, ...) \
	PUT_1(i, a); \
	PUT_4(i + 1, __VA_ARGS__)
#define PUT_6(i, a, ...) \
	PUT_1(i, a); \
	PUT_5(i + 1, __VA_ARGS__)
#define PUT_7(i, a, ...) \
	PUT_1(i, a); \
	PUT_6(i + 1, __VA_ARGS__)
#define PUT_8(i, a, ...) \
	PUT_1(i, a); \
	PUT_7(i + 1, __VA_ARGS__)
#define PUT_9(i, a, ...) \
	PUT_1(i, a); \
	PUT_8(i + 1, __VA_ARGS__)
#define PUT_10(i, a, ...) \
	PUT_1(i, a); \
	PUT_9(i + 1, __VA_ARGS__)

#define AFTER_PLAIN() call.argument = TFP_GPU_NONE

#define AFTER_LAUNCH(kernel, grid, block, shared, stream) \
	do { \
		call.argument = TFP_GPU_LAUNCH; \
		VALUES(9, WORD(kernel), WORD(stream), (grid).x, (grid).y, (grid).z, (block).x, (block).y, (block).z, WORD(shared)); \
	} while (0)
#define AFTER_LAUNCH_DRIVER(kernel, gx, gy, gz, bx, by, bz, shared, stream) \
	AFTER_LAUNCH(kernel, ((struct tfp_gpu_dim3){(unsigned)(gx), (unsigned)(gy), (unsigned)(gz)}), \
		     ((struct tfp_gpu_dim3){(unsigned)(bx), (unsigned)(by), (unsigned)(bz)}), shared, stream)
#define AFTER_LAUNCH_CONFIG(kernel, config, otherwise) tfp_cuda_launch(&call, kernel, config, WORD(otherwise))
#define AFTER_LAUNCH_DRIVER_CONFIG(kernel, config, otherwise) tfp_cuda_launch_driver(&call, kernel, config, WORD(otherwise))

#define AFTER_COPY(bytes, to, from, stream, kind) \
	do { \
		call.argument = TFP_GPU_COPY; \
		VALUES(5, WORD(bytes), WORD(to), WORD(from), WORD(stream), WORD(kind)); \
	} while (0)
#define AFTER_COPY_3D(copy, stream) tfp_cuda_copy_3d(&call, copy, WORD(stream))
#define AFTER_COPY_3D_PEER(copy, stream) tfp_cuda_copy_3d_peer(&call, copy, WORD(stream))
#define AFTER_COPY_DRIVER_2D(copy, stream) tfp_cuda_copy_driver_2d(&call, copy, WORD(stream))
#define AFTER_COPY_DRIVER_3D(copy, stream) tfp_cuda_copy_driver_3d(&call, copy, WORD(stream))

#define AFTER_SET(bytes, to, stream, value) \
	do { \
		call.argument = TFP_GPU_SET; \
		VALUES(4, WORD(bytes), WORD(to), WORD(stream), WORD(value)); \
	} while (0)
#define EXTENT(extent) ((extent).width * (extent).height * (extent).depth)

/* Of a call that failed otherwise than for want of memory nothing is asked. */
#define ALLOCATED(address, bytes, stream, pool, flavour) ALLOCATED_ON(tfp_cuda_device(&call), address, bytes, stream, pool, flavour)
#define ALLOCATED_ON(device, address, bytes, stream, pool, flavour) \
	do { \
		int is_told = result == 0 || result == (int)TFP_GPU_OUT_OF_MEMORY; \
		call.argument = TFP_GPU_ALLOC; \
		VALUES(7, WORD(address), WORD(bytes), WORD(stream), WORD(pool), is_told ? (device) : NOT_KNOWN, \
		       TFP_GPU_FLAVOUR_##flavour, IS_OF_DEVICE_##flavour || !is_told ? 0 : tfp_cuda_context()); \
	} while (0)
/* Pools and mappings belong to a device, not to a context. */
#define IS_OF_DEVICE_DEVICE 0
#define IS_OF_DEVICE_MANAGED 0
#define IS_OF_DEVICE_PINNED 0
#define IS_OF_DEVICE_REGISTERED 0
#define IS_OF_DEVICE_ORDERED 1
#define IS_OF_DEVICE_MAPPED 1
#define IS_OF_DEVICE_ARRAY 0
#define IS_OF_DEVICE_IMPORTED 0
/* Of releases: which may be of a stream that is being captured. */
#define IS_ORDERED_DEVICE 0
#define IS_ORDERED_PINNED 0
#define IS_ORDERED_REGISTERED 0
#define IS_ORDERED_ORDERED 1
#define IS_ORDERED_MAPPED 0
#define IS_ORDERED_ARRAY 0
#define IS_ORDERED_IMPORTED 0
/* Of an address that the call has stored. */
#define STORED(address) (result == 0 && (address) ? WORD(*(address)) : 0)
#define AFTER_ALLOC(address, bytes, flavour) ALLOCATED(STORED(address), bytes, NULL, NULL, flavour)
/* A stream being captured is given a node: the memory is the graph's, when it runs. */
#define NOTE_CAPTURED(stream) \
	do { \
		if (result == 0 && tfp_cuda_is_capturing(WORD(stream))) \
			tfp_gpu_captured(&call); \
	} while (0)
#define AFTER_ALLOC_IN(address, bytes, stream, pool) \
	do { \
		NOTE_CAPTURED(stream); \
		ALLOCATED_ON(tfp_cuda_device_ordered(&call, STORED(address), WORD(stream), WORD(pool)), STORED(address), bytes, \
			     stream, pool, ORDERED); \
	} while (0)
#define AFTER_ALLOC_MAPPED(address, bytes, handle) tfp_cuda_alloc_mapped(&call, WORD(address), bytes, handle, result)
/* Memory that another process made: how much it is the driver knows. */
#define AFTER_OPENED(address) \
	ALLOCATED_ON(tfp_cuda_device_at(&call, STORED(address)), STORED(address), tfp_cuda_bytes_at(STORED(address)), NULL, NULL, \
		     IMPORTED)
/* A node of a graph that allocates: as a captured allocation. */
#define AFTER_ALLOC_NODE(parameters) tfp_cuda_alloc_node(&call, parameters, result)
#define AFTER_HANDLE_OWN(handle, bytes) \
	do { \
		if (STORED(handle)) \
			tfp_gpu_handle_note(call.thread, STORED(handle), 0); \
		AFTER_MADE(handle, bytes); \
	} while (0)
#define AFTER_HANDLE_OF_OTHERS(handle) \
	do { \
		if (STORED(handle)) \
			tfp_gpu_handle_note(call.thread, STORED(handle), 1); \
		AFTER_MADE(handle, NULL); \
	} while (0)
#define AFTER_ALLOC_AT(address, bytes, flavour) ALLOCATED(result == 0 ? WORD(address) : 0, bytes, NULL, NULL, flavour)
#define AFTER_ALLOC_PITCHED(address, pitch, height) \
	ALLOCATED(STORED(address), (result == 0 && (pitch) ? *(pitch) : 0) * (height), NULL, NULL, DEVICE)
#define AFTER_ALLOC_3D(pitched, extent) tfp_cuda_alloc_3d(&call, pitched, &(extent), result)
#define AFTER_ALLOC_ARRAY(array, channels, width, height, depth) \
	ALLOCATED(STORED(array), tfp_cuda_array_bytes(channels, width, height, depth), NULL, NULL, ARRAY)
#define AFTER_ALLOC_DRIVER_ARRAY(array, wanted) \
	ALLOCATED(STORED(array), tfp_cuda_driver_array_bytes(wanted), NULL, NULL, ARRAY)
#define AFTER_ALLOC_DRIVER_ARRAY_3D(array, wanted) \
	ALLOCATED(STORED(array), tfp_cuda_driver_array_3d_bytes(wanted), NULL, NULL, ARRAY)

/*
 * The block was looked up before the call: afterwards another thread may have been given the address. It says its flavour:
 * one function releases device and managed memory.
 */
#define AFTER_FREE(address, stream, otherwise) \
	do { \
		call.argument = TFP_GPU_FREE; \
		if (IS_ORDERED_##otherwise) \
			NOTE_CAPTURED(stream); \
		VALUES(3, WORD(address), WORD(stream), call.flavour ? call.flavour : TFP_GPU_FLAVOUR_##otherwise); \
	} while (0)

/* Of a range of several mappings, which end together. */
#define AFTER_UNMAP(address, bytes) AFTER_FREE(address, NULL, MAPPED)

#define AFTER_OBJECT(object, other) \
	do { \
		call.argument = TFP_GPU_OBJECT; \
		VALUES(2, WORD(object), WORD(other)); \
	} while (0)
#define AFTER_MADE(object, other) AFTER_OBJECT(STORED(object), other)

#define AFTER_ROOM(free_now, total) \
	do { \
		call.argument = result == 0 && (free_now) && (total) ? TFP_GPU_ROOM : TFP_GPU_NONE; \
		if (call.argument) { \
			VALUES(4, tfp_cuda_device(&call), 0, *(free_now), *(total)); \
		} \
	} while (0)

#define AFTER_DEVICE_CHOSEN(device) \
	do { \
		call.argument = TFP_GPU_DEVICE; \
		call.values[0] = WORD(device); \
	} while (0)
#define AFTER_DEVICE_UNKNOWN(context) AFTER_DEVICE_CHOSEN(((void)(context), NOT_KNOWN))

/* What a device or a context held is gone. */
#define GONE(what, first, second) \
	do { \
		call.argument = TFP_GPU_##what; \
		VALUES(2, WORD(first), WORD(second)); \
	} while (0)
#define AFTER_DEVICE_RESET(device) GONE(RESET, result == 0 ? WORD(device) : NOT_KNOWN, 0) /* asked of nobody after a failure */
#define AFTER_CONTEXT_ENDED(context) GONE(ENDED, context, 0)
#define AFTER_PRIMARY_RELEASED(device) GONE(RELEASED, result == 0 && tfp_cuda_primary_ended(device), device)

/* Which kernel a handle means. */
#define NAME_KNOWN(statement) \
	do { \
		call.argument = TFP_GPU_NONE; \
		if (result == 0) \
			statement; \
	} while (0)
#define AFTER_NAMED(handle, name) NAME_KNOWN(tfp_gpu_name_add(STORED(handle), name, 0, 1))
#define AFTER_SAME(handle, known) NAME_KNOWN(tfp_gpu_name_alias(STORED(handle), WORD(known)))

/* Libraries: up to ten values; the others are 0. */
#define AFTER_LIBRARY(...) COUNTED(WORD, __VA_ARGS__)
#define LIBRARY_VALUES(...) COUNTED(, __VA_ARGS__)
#define COUNTED(word, ...) COUNTED_OF(__VA_ARGS__, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)(word, __VA_ARGS__)
#define COUNTED_OF(a, b, c, d, e, f, g, h, i, j, count, ...) COUNTED_##count
#define COUNTED_1(word, a) TEN(word(a), 0, 0, 0, 0, 0, 0, 0, 0, 0)
#define COUNTED_2(word, a, b) TEN(word(a), word(b), 0, 0, 0, 0, 0, 0, 0, 0)
#define COUNTED_3(word, a, b, c) TEN(word(a), word(b), word(c), 0, 0, 0, 0, 0, 0, 0)
#define COUNTED_4(word, a, b, c, d) TEN(word(a), word(b), word(c), word(d), 0, 0, 0, 0, 0, 0)
#define COUNTED_5(word, a, b, c, d, e) TEN(word(a), word(b), word(c), word(d), word(e), 0, 0, 0, 0, 0)
#define COUNTED_6(word, a, b, c, d, e, f) TEN(word(a), word(b), word(c), word(d), word(e), word(f), 0, 0, 0, 0)
#define COUNTED_7(word, a, b, c, d, e, f, g) TEN(word(a), word(b), word(c), word(d), word(e), word(f), word(g), 0, 0, 0)
#define COUNTED_8(word, a, b, c, d, e, f, g, h) TEN(word(a), word(b), word(c), word(d), word(e), word(f), word(g), word(h), 0, 0)
#define COUNTED_9(word, a, b, c, d, e, f, g, h, i) TEN(word(a), word(b), word(c), word(d), word(e), word(f), word(g), word(h), word(i), 0)
#define COUNTED_10(word, a, b, c, d, e, f, g, h, i, j) \
	TEN(word(a), word(b), word(c), word(d), word(e), word(f), word(g), word(h), word(i), word(j))
#define TEN(...) \
	do { \
		call.argument = TFP_GPU_LIBRARY; \
		PUT_10(0, __VA_ARGS__); \
	} while (0)
#define AFTER_LIBRARY_PLAIN() call.argument = TFP_GPU_NONE

#define AFTER_MATMUL(operation, a, b, d) tfp_cuda_matmul(&call, (const void *)real, operation, a, b, d)
#define AFTER_LAYOUT(layout) tfp_cuda_layout(&call, (const void *)real, layout)
#define AFTER_CONVOLUTION(input, filter) tfp_cuda_convolution(&call, (const void *)real, input, filter)
#define AFTER_TENSOR(tensor) tfp_cuda_tensor(&call, (const void *)real, tensor)
#define AFTER_PLAN(plan, x, y, z, type, batch) \
	LIBRARY_VALUES(STORED(plan), WORD(x), WORD(y), WORD(z), WORD(type), WORD(batch))
#define AFTER_PLAN_MADE(plan, x, y, z, type, batch) LIBRARY_VALUES(WORD(plan), WORD(x), WORD(y), WORD(z), WORD(type), WORD(batch))
#define SIDE(rank, sides, i) ((rank) > (i) && (sides) ? WORD((sides)[i]) : 1)
#define AFTER_PLAN_MANY(plan, rank, sides, type, batch) \
	LIBRARY_VALUES(STORED(plan), SIDE(rank, sides, 0), SIDE(rank, sides, 1), SIDE(rank, sides, 2), WORD(type), WORD(batch))
#define AFTER_PLAN_MANY_MADE(plan, rank, sides, type, batch) \
	LIBRARY_VALUES(WORD(plan), SIDE(rank, sides, 0), SIDE(rank, sides, 1), SIDE(rank, sides, 2), WORD(type), WORD(batch))
#define AFTER_PLAN_MANY_WIDE(plan, rank, sides, from_type, to_type, batch) \
	LIBRARY_VALUES(WORD(plan), SIDE(rank, sides, 0), SIDE(rank, sides, 1), SIDE(rank, sides, 2), WORD(from_type), WORD(batch), \
		       WORD(to_type))
#define AFTER_COMMUNICATOR(made, ranks, rank) LIBRARY_VALUES(STORED(made), WORD(ranks), WORD(rank))
#define AFTER_COMMUNICATOR_OF(made, from, color, key) LIBRARY_VALUES(STORED(made), WORD(from), WORD(color), WORD(key))

/* The same words before the call: only a release has something to do. */
#define BEFORE_PLAIN()
#define BEFORE_LAUNCH(...)
#define BEFORE_LAUNCH_DRIVER(...)
#define BEFORE_LAUNCH_CONFIG(...)
#define BEFORE_LAUNCH_DRIVER_CONFIG(...)
#define BEFORE_COPY(...)
#define BEFORE_COPY_3D(...)
#define BEFORE_COPY_3D_PEER(...)
#define BEFORE_COPY_DRIVER_2D(...)
#define BEFORE_COPY_DRIVER_3D(...)
#define BEFORE_SET(...)
#define BEFORE_ALLOC(...)
#define BEFORE_ALLOC_IN(...)
#define BEFORE_ALLOC_AT(...)
#define BEFORE_ALLOC_MAPPED(...)
#define BEFORE_OPENED(...)
#define BEFORE_ALLOC_NODE(...)
#define BEFORE_HANDLE_OWN(...)
#define BEFORE_HANDLE_OF_OTHERS(...)
#define BEFORE_ALLOC_PITCHED(...)
#define BEFORE_ALLOC_3D(...)
#define BEFORE_ALLOC_ARRAY(...)
#define BEFORE_ALLOC_DRIVER_ARRAY(...)
#define BEFORE_ALLOC_DRIVER_ARRAY_3D(...)
#define BEFORE_FREE(address, ...) tfp_gpu_releasing(&call, WORD(address));
#define BEFORE_UNMAP(address, bytes) tfp_gpu_unmapping(&call, WORD(address), WORD(bytes));
#define BEFORE_OBJECT(...)
#define BEFORE_MADE(...)
#define BEFORE_ROOM(...)
#define BEFORE_DEVICE_CHOSEN(...)
#define BEFORE_DEVICE_UNKNOWN(...)
#define BEFORE_DEVICE_RESET(...)
#define BEFORE_CONTEXT_ENDED(...)
#define BEFORE_PRIMARY_RELEASED(...)
#define BEFORE_NAMED(...)
#define BEFORE_SAME(...)
#define BEFORE_LIBRARY(...)
#define BEFORE_LIBRARY_PLAIN()
#define BEFORE_MATMUL(...)
#define BEFORE_LAYOUT(...)
#define BEFORE_CONVOLUTION(...)
#define BEFORE_TENSOR(...)
#define BEFORE_PLAN(...)
#define BEFORE_PLAN_MADE(...)
#define BEFORE_PLAN_MANY(...)
#define BEFORE_PLAN_MANY_MADE(...)
#define BEFORE_PLAN_MANY_WIDE(...)
#define BEFORE_COMMUNICATOR(...)
#define BEFORE_COMMUNICATOR_OF(...)

#define NAMES_LIBRARY(...) #__VA_ARGS__
#define NAMES_LIBRARY_PLAIN() ""
#define NAMES_MATMUL(...) "m, n, k, transa, transb, atype, btype, dtype, compute_type, batch_count"
#define NAMES_LAYOUT(...) "rows, columns, type, batch_count"
#define NAMES_CONVOLUTION(...) "n, c, d1, d2, d3, k, r1, r2, r3, type"
#define NAMES_TENSOR(...) "n, c, d1, d2, d3, type"
#define NAMES_PLAN(...) "plan, x, y, z, type, batch"
#define NAMES_PLAN_MADE(...) "plan, x, y, z, type, batch"
#define NAMES_PLAN_MANY(...) "plan, x, y, z, type, batch"
#define NAMES_PLAN_MANY_MADE(...) "plan, x, y, z, type, batch"
#define NAMES_PLAN_MANY_WIDE(...) "plan, x, y, z, type, batch, to_type"
#define NAMES_COMMUNICATOR(...) "comm, ranks, rank"
#define NAMES_COMMUNICATOR_OF(...) "comm, of, color, key"
#define NAMES_ALLOC(...) ""
#define NAMES_FREE(...) ""
#define NAMES_UNMAP(...) ""

#endif

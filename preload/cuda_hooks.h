/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper that each row of collectors/tables/cuda_*.def becomes, and the helpers of its meaning.
 *
 * Rule: result and errno are the real function's; a function that is not there answers with its own interface's code for
 * "no driver"; where nothing is recorded the wrapper ends in a jump to the real one.
 */
#ifndef TFP_PRELOAD_CUDA_HOOKS_H
#define TFP_PRELOAD_CUDA_HOOKS_H

#include "collectors/gpu_calls.h"
#include "collectors/gpu_types.h"
#include "preload/caller.h"
#include "preload/cuda_real.h"
#include "preload/real.h"

/* What is returned where the function itself is missing: an interface's own word for it. */
#define TFP_CUDA_NO_RUNTIME 35 /* cudaErrorInsufficientDriver */
#define TFP_CUDA_NO_DRIVER 3   /* CUDA_ERROR_NOT_INITIALIZED */

#define TFP_CUDA_SLOT(function) static struct tfp_cuda_slot slot_##function;
#define TFP_CUDA_ROW(number, function, library, kind, names) \
	TFP_CUDA_SLOT(function) \
	static const struct tfp_gpu_function function_##function = {number, TFP_GPU_KIND_##kind, library, {#function "\0" names}};

#define TFP_CUDA_WRAPPER(number, type, name, parameters, arguments, kind, library, missing, names, before, after) \
	TFP_CUDA_ROW(number, name, library, kind, names) \
	TFP_EXPORT type name parameters; \
	type name parameters \
	{ \
		type(*real) parameters = (type(*) parameters)TFP_CUDA_REAL(name); \
\
		if (TFP_UNLIKELY(!real)) \
			return missing; \
		if (!tfp_gpu_is_asked(TFP_GPU_KIND_##kind)) \
			return real arguments; \
		struct tfp_gpu_call call; \
		call.function = &function_##name; \
		call.caller = *TFP_CALLER; \
		tfp_gpu_enter(&call); \
		before type result = real arguments; \
		if (call.thread) { \
			after; \
			tfp_gpu_leave(&call, (uint32_t)result); \
		} \
		return result; \
	}

/* Numbers of the rows that have wrappers written out. */
enum {
#define TFP_GPU_HOOK(number, type, name, parameters, arguments, kind, meaning)
#define TFP_GPU_HOOK_BY_HAND(number, type, name, parameters, arguments, kind, meaning) TFP_CUDA_NUMBER_##name = number,
#include "collectors/tables/cuda_driver.def"
#include "collectors/tables/cuda_runtime.def"
#undef TFP_GPU_HOOK
#undef TFP_GPU_HOOK_BY_HAND
};

/*
 * Asked of the driver once the host's own call has returned: what chose them may have gone past our hooks.
 * The thread's device: as the driver says, else as the runtime's own calls told; all ones = unknown.
 */
uint64_t tfp_cuda_device(const struct tfp_gpu_call *call);
/* Where a block lies, which may be another device than the thread's; 0 = none was given. */
uint64_t tfp_cuda_device_at(const struct tfp_gpu_call *call, uint64_t address);
/* The same of a block of a pool (0 = the stream's own); where there was none to be had, of the pool or stream; all ones = nobody says. */
uint64_t tfp_cuda_device_ordered(const struct tfp_gpu_call *call, uint64_t address, uint64_t stream, uint64_t pool);
/* How large the block is that the address lies in; 0 = the driver does not say. */
uint64_t tfp_cuda_bytes_at(uint64_t address);
/* What tfp_gpu_place asks for. */
void tfp_cuda_place(struct tfp_gpu_block *block, uint64_t handle);
/* Whether what is given to the stream becomes part of a graph. */
int tfp_cuda_is_capturing(uint64_t stream);
/* The handle of its context, 0 = unknown. */
uint64_t tfp_cuda_context(void);
/* As tfp_cuda_device, asked of the runtime that `real` lies in: there need be no context. */
uint64_t tfp_cuda_runtime_device(const struct tfp_gpu_call *call, const void *real);
/* Writes facts of the process's devices, for where CUPTI tells none. Any thread that records nothing now, our own included. */
void tfp_cuda_devices_note(void);
/* Whether the device's primary context is gone. */
int tfp_cuda_primary_ended(int device);

/* Meanings that take more than a line; preload/cuda_arguments.c. What is pointed to may be NULL. */
void tfp_cuda_launch(struct tfp_gpu_call *call, const void *kernel, const void *config, uint64_t otherwise);
void tfp_cuda_launch_driver(struct tfp_gpu_call *call, const void *kernel, const void *config, uint64_t otherwise);
void tfp_cuda_copy_3d(struct tfp_gpu_call *call, const void *copy, uint64_t stream);
void tfp_cuda_copy_3d_peer(struct tfp_gpu_call *call, const void *copy, uint64_t stream);
void tfp_cuda_copy_driver_2d(struct tfp_gpu_call *call, const void *copy, uint64_t stream);
void tfp_cuda_copy_driver_3d(struct tfp_gpu_call *call, const void *copy, uint64_t stream);
void tfp_cuda_alloc_3d(struct tfp_gpu_call *call, const void *pitched, const struct tfp_gpu_extent *extent, int result);
void tfp_cuda_alloc_mapped(struct tfp_gpu_call *call, uint64_t address, uint64_t bytes, uint64_t handle, int result);
void tfp_cuda_alloc_node(struct tfp_gpu_call *call, const void *parameters, int result);
uint64_t tfp_cuda_array_bytes(const void *channels, size_t width, size_t height, size_t depth);
uint64_t tfp_cuda_driver_array_bytes(const void *wanted);
uint64_t tfp_cuda_driver_array_3d_bytes(const void *wanted);

/* Shapes that stand in descriptors: asked for with the library's own functions; preload/cuda_shapes.c. */
void tfp_cuda_matmul(struct tfp_gpu_call *call, const void *real, void *operation, void *a, void *b, void *d);
void tfp_cuda_layout(struct tfp_gpu_call *call, const void *real, void *layout);
void tfp_cuda_convolution(struct tfp_gpu_call *call, const void *real, void *input, void *filter);
void tfp_cuda_tensor(struct tfp_gpu_call *call, const void *real, void *tensor);

#endif

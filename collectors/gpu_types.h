/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of CUDA's interfaces that are passed by value or read through a pointer, in our own words: no NVIDIA header is
 * needed to build. Rule: layouts are those of every release from CUDA 11 on; test/cases/gpu-hooks-signatures compares
 * them with NVIDIA's headers where these are at hand.
 */
#ifndef TFP_COLLECTORS_GPU_TYPES_H
#define TFP_COLLECTORS_GPU_TYPES_H

#include <stddef.h>
#include <stdint.h>

struct tfp_gpu_dim3 { /* dim3 */
	unsigned x, y, z;
};

struct tfp_gpu_extent { /* cudaExtent */
	size_t width, height, depth;
};

struct tfp_gpu_pitched { /* cudaPitchedPtr */
	void *address;
	size_t pitch, width, height;
};

struct tfp_gpu_location { /* cudaMemLocation, CUmemLocation */
	int type, id;
};
/* CUmemLocationType: from 2 to 4 the host's memory, any or of a node. */
enum { TFP_GPU_ON_A_DEVICE = 1, TFP_GPU_ON_THE_HOST_LAST = 4 };

struct tfp_gpu_physical { /* CUmemAllocationProp: its first words, and room for what later releases append */
	int type, handle_types;
	struct tfp_gpu_location location;
	uint64_t more[14];
};

struct tfp_gpu_alloc_node { /* cudaMemAllocNodeParams, CUDA_MEM_ALLOC_NODE_PARAMS: a pool's properties first */
	int type, handle_types;
	struct tfp_gpu_location location;
	uint64_t more[9], access, access_count;
	size_t bytes;
	uint64_t address;
};

struct tfp_gpu_ipc { /* cudaIpcMemHandle_t, CUipcMemHandle */
	char bytes[64];
};

struct tfp_gpu_nccl_id { /* ncclUniqueId */
	char bytes[128];
};

struct tfp_gpu_launch_config { /* cudaLaunchConfig_t */
	struct tfp_gpu_dim3 grid, block;
	size_t shared;
	void *stream, *attributes;
	unsigned attribute_count;
};

struct tfp_gpu_driver_config { /* CUlaunchConfig */
	unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared;
	void *stream, *attributes;
	unsigned attribute_count;
};

struct tfp_gpu_channels { /* cudaChannelFormatDesc: bits of each */
	int x, y, z, w, kind;
};

struct tfp_gpu_array { /* CUDA_ARRAY_DESCRIPTOR */
	size_t width, height;
	int format;
	unsigned channels;
};

struct tfp_gpu_array_3d { /* CUDA_ARRAY3D_DESCRIPTOR */
	size_t width, height, depth;
	int format;
	unsigned channels, flags;
};

struct tfp_gpu_position { /* cudaPos */
	size_t x, y, z;
};

struct tfp_gpu_copy_3d { /* cudaMemcpy3DParms */
	void *from_array;
	struct tfp_gpu_position from_position;
	struct tfp_gpu_pitched from;
	void *to_array;
	struct tfp_gpu_position to_position;
	struct tfp_gpu_pitched to;
	struct tfp_gpu_extent extent;
	int kind;
};

struct tfp_gpu_copy_3d_peer { /* cudaMemcpy3DPeerParms */
	void *from_array;
	struct tfp_gpu_position from_position;
	struct tfp_gpu_pitched from;
	int from_device;
	void *to_array;
	struct tfp_gpu_position to_position;
	struct tfp_gpu_pitched to;
	int to_device;
	struct tfp_gpu_extent extent;
};

struct tfp_gpu_driver_copy_2d { /* CUDA_MEMCPY2D */
	size_t from_x, from_y;
	int from_type;
	const void *from_host;
	uint64_t from_device;
	void *from_array;
	size_t from_pitch, to_x, to_y;
	int to_type;
	void *to_host;
	uint64_t to_device;
	void *to_array;
	size_t to_pitch, width, height;
};

struct tfp_gpu_driver_copy_3d { /* CUDA_MEMCPY3D; CUDA_MEMCPY3D_PEER differs in names of unused fields alone */
	size_t from_x, from_y, from_z, from_lod;
	int from_type;
	const void *from_host;
	uint64_t from_device;
	void *from_array, *from_context;
	size_t from_pitch, from_height, to_x, to_y, to_z, to_lod;
	int to_type;
	void *to_host;
	uint64_t to_device;
	void *to_array, *to_context;
	size_t to_pitch, to_height, width, height, depth;
};

#endif

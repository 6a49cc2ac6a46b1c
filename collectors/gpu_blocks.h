/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of GPU memory that the host holds, as its calls told: what was live when a window opens, and how large a block
 * was that is released inside a window but came from before it.
 *
 * Rule: bounded and lock-free; a block that finds no place is counted (gpu_blocks) and its release has no size.
 */
#ifndef TFP_COLLECTORS_GPU_BLOCKS_H
#define TFP_COLLECTORS_GPU_BLOCKS_H

#include "writer/stream.h"

/* A block that the host was given. flavour: enum tfp_gpu_flavour; device: all ones = unknown; context: handle, 0 = unknown or none. */
struct tfp_gpu_block {
	uint64_t address, bytes, context;
	uint32_t flavour, device;
};

/* Any thread. */
void tfp_gpu_block_add(struct tfp_thread *thread, const struct tfp_gpu_block *block);

/* The device was reset: its blocks are gone. Of a device that nobody knows: those of unknown devices. Slow. */
void tfp_gpu_blocks_drop(uint32_t device);

/* The same of a context that was destroyed; 0: of none. */
void tfp_gpu_blocks_drop_context(uint64_t context);

/* Forgets the block at block->address. 0: it is not known. 1: all else of *block is as it was added. */
int tfp_gpu_block_remove(struct tfp_gpu_block *block);

/*
 * Handles of physical memory that was made, and counted, elsewhere: imported from another process, or standing for memory of several
 * devices (multicast). What is mapped of it is no memory of this process. A handle that was just made may have been another's before.
 */
void tfp_gpu_handle_note(struct tfp_thread *thread, uint64_t handle, int is_of_others);
int tfp_gpu_handle_is_of_others(uint64_t handle);

/* Writes gpu_live records, one a device that has blocks and one a flavour of other memory; later also of what had some. */
void tfp_gpu_blocks_note(struct tfp_thread *thread, struct tfp_lane *lane);

#endif

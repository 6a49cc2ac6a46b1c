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

/* The host was given a block. Any thread. flavour: enum tfp_gpu_flavour; device: all ones = unknown. */
void tfp_gpu_block_add(struct tfp_thread *thread, uint64_t address, uint64_t bytes, uint32_t flavour, uint32_t device);

/* The device was reset: its blocks are gone. Of a device that nobody knows: those of unknown devices. Slow. */
void tfp_gpu_blocks_drop(uint32_t device);

/* Forgets a block; returns its bytes, 0 = not known. *flavour: as it was added, unchanged where it is not known. */
uint64_t tfp_gpu_block_remove(uint64_t address, uint32_t *flavour);

/* Writes gpu_live records, one a flavour that has blocks. */
void tfp_gpu_blocks_note(struct tfp_thread *thread, struct tfp_lane *lane);

#endif

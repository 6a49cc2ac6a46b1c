/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the GPU collectors are to do now: mode and mask by setting and window, launches counted, the CUPTI engine behind.
 * Rule: written by few, read by every hook; private to collectors/gpu_*.c.
 */
#ifndef TFP_COLLECTORS_GPU_STATE_H
#define TFP_COLLECTORS_GPU_STATE_H

#include "collectors/gpu_blocks.h"
#include "collectors/gpu_calls.h"

/* Bits: something is to be done before a call. 0 is the common case. */
enum { TFP_GPU_COUNT = 1, TFP_GPU_ATTEND = 2, TFP_GPU_EDGE = 4, TFP_GPU_REPEAT = 8 };
extern _Atomic uint32_t tfp_gpu_attention TFP_HIDDEN;

/* Does it. call: its function and the place that it is made from, 0 = not known. *launch: its number where launches are counted. */
void tfp_gpu_before(uint32_t kind, uint64_t call, struct tfp_thread *thread, uint64_t *launch);

/* Launch `number` has returned. */
void tfp_gpu_after(uint64_t number);

/* Kinds that get a record: the rare ones only with CUDA_API=1. recorded: now, so none outside of a window. */
extern uint32_t tfp_gpu_kept TFP_HIDDEN;
extern _Atomic uint32_t tfp_gpu_recorded TFP_HIDDEN;

/* Whether CUPTI reports what the device does; where it should and does not, the call counts as one without times. */
int tfp_gpu_has_device_records(struct tfp_thread *thread, uint64_t now);

/* CUPTI's correlation ids are of 32 bits and come round: the number that stands in records. Any thread. */
uint64_t tfp_gpu_widen(uint32_t correlation);

/*
 * What the driver knows of a block that a call has just made: its device, its bytes where they are 0, and its flavour. handle: of the
 * memory that was mapped, or of the pool that had none left (address 0). What nobody says stays as it is.
 */
void tfp_gpu_place(struct tfp_gpu_block *block, uint64_t handle);

/* Set once a recorded call has given a device work; tfp_gpu_work_began sets it. */
extern _Atomic uint32_t tfp_gpu_is_working TFP_HIDDEN;
void tfp_gpu_work_began(void);

/* A call of that kind came back without an error: where no device's work comes without the driver, it serves this process. */
void tfp_gpu_serves(uint32_t kind);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every launch of a process, by time, however many there are.
 *
 * Rule: memory does not follow the number of launches: what is put lies in sorters (base/sorter.h), as short numbers, in ticks and
 * device time; both clocks are known only when the log was read, so times are converted as launches are read. They are read once.
 */
#ifndef REDUCER_MODEL_GPU_LAUNCHES_H
#define REDUCER_MODEL_GPU_LAUNCHES_H

#include "reducer/model/gpu.h"

#include <stdbool.h>

struct gpu_launches *gpu_launches_make(void);
void gpu_launches_free(struct gpu_launches *launches); /* NULL is allowed */

/* Keeps one, in any order: `host_ns` and `host_duration_ns` in ticks, `device_ns` in device time. */
void gpu_launches_put(struct gpu_launches *launches, const struct gpu_launch *launch);

/* The log is read: little memory until the first is asked for. */
void gpu_launches_rest(struct gpu_launches *launches);

/*
 * The next launch of gpu->launches (may be NULL), in ns of the run, by the call's begin, without a call by the device's start, and
 * by correlation id. Returns false at the end.
 */
bool gpu_launches_next(const struct gpu *gpu, struct gpu_launch *launch);

#endif

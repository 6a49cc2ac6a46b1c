/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported runtime functions: made from the rows of runtime_api.def and runtime_not.def.
 *
 * Rule: no body stands here.
 */
#include <stddef.h>

#include "runtime.h"

#define SIM_BEGIN sim_runtime_begin
#define SIM_END sim_runtime_end

#define SIM_API(name, cbid, need, count, ...) \
	SIM_FUNCTION(SIM_RUNTIME, name, do_##name(SIM_PASS_##count), cbid, false, need, count, __VA_ARGS__)
#define SIM_TWIN(twin, name, cbid, need, count, ...) \
	SIM_FUNCTION(SIM_RUNTIME, twin, do_##name(SIM_PASS_##count), cbid, true, need, count, __VA_ARGS__)
#define SIM_NOT(name, cbid, need, count, ...) \
	SIM_FUNCTION(SIM_RUNTIME, name, SIM_NOT_SUPPORTED, cbid, false, need, count, __VA_ARGS__)
#include "runtime_api.def"
#include "runtime_not.def"

/* As programs of CUDA 12 know it: its header gives the function this name. */
SIM_EXPORT int cudaGetDeviceProperties_v2(void *, int) __attribute__((alias("cudaGetDeviceProperties")));

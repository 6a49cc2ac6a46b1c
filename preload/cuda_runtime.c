/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA runtime as the host calls it; see preload/cuda_hooks.h. Rule: made from the table alone. */
#include "preload/cuda_hooks.h"
#include "preload/cuda_meaning.h"

#define TFP_GPU_HOOK(number, type, name, parameters, arguments, kind, meaning) \
	TFP_CUDA_WRAPPER(number, type, name, parameters, arguments, kind, TFP_GPU_IN_runtime, TFP_CUDA_NO_RUNTIME, "", \
			 BEFORE_##meaning, AFTER_##meaning)
#define TFP_GPU_HOOK_BY_HAND(number, type, name, parameters, arguments, kind, meaning)
#include "collectors/tables/cuda_runtime.def"

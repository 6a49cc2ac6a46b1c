/* SPDX-License-Identifier: Apache-2.0 */
/* Where an exported function was called from. Rule: used in the exported function itself, which keeps a frame pointer. */
#ifndef TFP_PRELOAD_CALLER_H
#define TFP_PRELOAD_CALLER_H

#include "collectors/heap.h"

/* Return address; the stack pointer right after the return (the CFA of x86-64 and aarch64); the saved frame pointer. */
#define TFP_CALLER_IS \
	(uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa(), *(uintptr_t *)__builtin_frame_address(0)
#define TFP_CALLER (&(struct tfp_caller){TFP_CALLER_IS})

#endif

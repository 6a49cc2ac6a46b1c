/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an XSpace says of devices and of kernels' launches beside their times. Private to xplane*.c.
 *
 * Rule: spellings are those that xprof reads (docs/foreign.md).
 */
#ifndef REDUCER_TRACE_XPLANE_DEVICE_H
#define REDUCER_TRACE_XPLANE_DEVICE_H

#include "reducer/base/base.h"
#include "reducer/model/gpu.h"
#include "reducer/model/spans.h"
#include "reducer/trace/xspace.h"

/* The plane of a device, with what the log knows of it. */
uint32_t xplane_device(struct xspace_file *file, const struct gpu *gpu, uint32_t id);

/* Makes `out` the text of a kernel's stat kernel_details. */
void xplane_details(struct text *out, const struct gpu *gpu, const struct span *span);

#endif

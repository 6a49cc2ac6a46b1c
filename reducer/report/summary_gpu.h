/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU's lines of the summary: devices, and whether every launch has both its sides. */
#ifndef REDUCER_REPORT_SUMMARY_GPU_H
#define REDUCER_REPORT_SUMMARY_GPU_H

#include "reducer/tables/request.h"

#define SUMMARY_GPU_LINES 5 /* most lines without the heading */
#define SUMMARY_GPU_HEADING "GPU                           busy   of run    kernels     copies   memory peak"

/* Appends the heading and the lines, each with a line feed; none where the run has nothing to do with GPUs. */
void summary_gpu(struct text *out, const struct request *request);

#endif

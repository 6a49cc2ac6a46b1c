/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on a device that failed (model/gpu_fault.h), in sentences: what came back, from which call, what is suspected, what to do next.
 *
 * Rule: that and where the error came back is recorded; which work it was is inferred, and marked so.
 */
#ifndef REDUCER_TABLES_GPU_FAULT_SAY_H
#define REDUCER_TABLES_GPU_FAULT_SAY_H

#include "reducer/tables/request.h"

/*
 * Of calls that should have given a device work and returned an error: the first one. Appends "cudaLaunchKernel returned 9 (...) at 0.02 s
 * in f, op x, kernel k". `of_failed`: only where its process ended badly. Returns its result; 0 = there is none.
 */
uint32_t gpu_bad_launch_say(struct text *text, const struct request *request, bool of_failed);
/* Whether a call says that work failed, in a wanted process. */
bool gpu_fault_any(const struct request *request);

/* Appends nothing where no call says that work failed. Of several processes the one to which it came back first. */
void gpu_fault_say(struct text *text, const struct request *request);

#endif

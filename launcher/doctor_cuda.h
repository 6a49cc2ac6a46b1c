/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel on the first GPU, and how doctor looks whether it was recorded. Rule: in processes of their own. */
#ifndef TFP_LAUNCHER_DOCTOR_CUDA_H
#define TFP_LAUNCHER_DOCTOR_CUDA_H

#include "launcher/doctor.h"

/* Runs `tfprof doctor --kernel` under the library and says what of it was recorded. */
void doctor_gpu_trial(struct doctor *doctor);

/* Launches one kernel by the driver's functions. 0, or what the driver answered. */
int doctor_kernel(void);

#endif

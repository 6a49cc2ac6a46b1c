/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the CUDA driver and NVTX come to know of us, and when CUPTI may be entered.
 *
 *   road (a): cuInit -> CUDA_INJECTION64_PATH -> InitializeInjection
 *   road (b): our own cuInit with a device behind it: where (a) was offered and nobody came, once a call that needs the driver came back
 *             without an error; where it could not be offered, before the first hooked call that starts CUDA anyway
 *
 * Rule: CUPTI is never touched before the driver is seen to work, and libcuda is opened only by a call that is about to.
 */
#ifndef TFP_PRELOAD_INJECTION_H
#define TFP_PRELOAD_INJECTION_H

/* Names this library in the variables of CUDA and NVTX, where they are unset. Constructor only. */
void tfp_injection_offer(void);

/*
 * In a program that is a tool of NVIDIA's, or was started by one that has put its library into it, neither is set, and what a shell around
 * it was given by us is taken out again: Nsight Compute starts nothing where CUDA is told to load another library. Constructor only, also
 * where we stand aside.
 */
void tfp_injection_withdraw(void);

/* Before a call that may start CUDA (collectors/gpu_calls.h, attend). */
void tfp_injection_attend(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The profilers of the host that look CUPTI up themselves. Rule: nothing else of preload/cupti.c is for others. */
#ifndef TFP_PRELOAD_CUPTI_H
#define TFP_PRELOAD_CUPTI_H

/* CUPTI is open: `inside` is one of its functions. From now on whoever asks it for a way to subscribe is led through us. */
void tfp_cupti_sign(const void *inside);

#endif

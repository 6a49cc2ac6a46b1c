/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profilers of the host that look CUPTI up themselves. Rule: nothing else of preload/cupti.c is for others.
 *
 * A process may hold several copies of libcupti (Triton brings one for its Proton), and one of them serves one profiler: so each
 * copy's functions of subscribing lead to a set of ours, by which the copy is known again.
 */
#ifndef TFP_PRELOAD_CUPTI_H
#define TFP_PRELOAD_CUPTI_H

/* CUPTI is to be used by us: from now on who looks it up is seen. Start-up only. */
void tfp_cupti_watch(void);

/*
 * The host is about to look up `sought`, a function of CUPTI's, or we have loaded CUPTI ourselves: whoever asks a copy that is loaded now
 * for a way to subscribe is led through us; where we use one already, what is sought in another leads to it. Keeps errno.
 */
void tfp_cupti_sign(const char *sought);
void tfp_cupti_opened(void);

/* What a function that was looked up in CUPTI is behind our own. */
void *tfp_cupti_unsigned(void *function);

#endif

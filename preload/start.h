/* SPDX-License-Identifier: Apache-2.0 */
/* Start-up of the library in a process; see preload/start.c. */
#ifndef TFP_PRELOAD_START_H
#define TFP_PRELOAD_START_H

/* Starts the recorder in this process unless it runs. 0: it runs; -1: it does not (yet, or never). Any thread. */
int tfp_start(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processor time and run-queue delay of all threads of the process, whatever they are doing.
 *
 * Rule: a thread's time is asked of its clock, which needs no descriptor; its delay stands in a file that is opened when the thread
 * was met twice, a second apart, and kept while it lives, for as many threads as descriptors may be kept (tfp_kept_most); of
 * THREADS_MOST threads no time is missing.
 */
#ifndef TFP_COLLECTORS_SYSTEM_THREADS_H
#define TFP_COLLECTORS_SYSTEM_THREADS_H

#include "collectors/system_files.h"

/* The list of threads. Opened with the other files; one thread at a time, as all below. */
void tfp_system_threads_open(void);
void tfp_system_threads_close(void);

/* Puts the readings of each thread but our own. `room` is for the list. -1: the list is gone. */
int tfp_system_threads_read(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now, char *room, size_t bytes);

#endif

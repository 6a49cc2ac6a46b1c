/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the process and its threads use of the machine, as the kernel counts it, every TFPROF_SYS milliseconds.
 *
 * Rule: two or three system calls in the slow look of a thread of the host, never a thread or a descriptor of ours: a number
 * that we took for a moment could be the one that another thread of the host counts on.
 */
#ifndef TFP_COLLECTORS_SYSTEM_H
#define TFP_COLLECTORS_SYSTEM_H

#include "writer/stream.h"

/* Setting SYS, 0 = never. Start-up only; kept across fork. */
void tfp_system_begin(uint32_t milliseconds);

/* In every slow look: records the thread's use, and the process's, when they are due. Own thread, own lane. */
void tfp_system_look(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now);

/* The process ends: records both now. */
void tfp_system_end(struct tfp_thread *thread, struct tfp_lane *lane);

#endif

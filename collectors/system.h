/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the process and its threads use of the machine, and how the machine and the control group do, as the kernel counts it,
 * every TFPROF_SYS milliseconds; what the kernel must add up first once a second (collectors/tables/readings.def).
 *
 * Rule: never a thread of ours: the slow look of whichever thread comes by does it, our own where it runs for other reasons.
 * One does it at a time, nobody waits. What cannot be read is not written, and a fact says which file it was.
 */
#ifndef TFP_COLLECTORS_SYSTEM_H
#define TFP_COLLECTORS_SYSTEM_H

#include "writer/stream.h"

/* Setting SYS, 0 = never. Start-up only; kept across fork. */
void tfp_system_begin(uint32_t milliseconds);

/* The host is about to start a thread: the last moment at which opening files takes no number that another one counts on. */
void tfp_system_threading(void);

/* In a fork child: what it inherited of ours is closed. Before its first record. */
void tfp_system_forked(void);

/* In every slow look: records the thread's use, and the process's, when they are due. Own thread, own lane. */
void tfp_system_look(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now);

/* The process ends: records both now. */
void tfp_system_end(struct tfp_thread *thread, struct tfp_lane *lane);

#endif

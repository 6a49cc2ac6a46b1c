/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where native code runs and waits, by time: each NATIVE_TIME milliseconds or so our own thread looks at each thread of the process: where
 * it waits, or, if it runs, what it runs, by a sample that the kernel takes (collectors/native_ring.h).
 *
 * Rule: nobody is stopped and no signal is sent. A thread that waits is known by its own file (/proc/self/task/TID/syscall), and its stack
 * is one moment's where its processor clock stood still meanwhile. Processor time is told where the thread runs at the moment of a look,
 * all that it used since that was last so, and waiting time where it waits, likewise: short ones are not told of the other's place. Paced
 * as collectors/pace.h says. We are never the reason for a second thread.
 */
#ifndef TFP_COLLECTORS_NATIVE_TIME_H
#define TFP_COLLECTORS_NATIVE_TIME_H

#include "writer/stream.h"

/* Setting NATIVE_TIME; 0 = never. Start-up only; kept across fork. */
void tfp_native_time_begin(uint32_t milliseconds);

/* The host is about to start a thread: from then on ours looks. */
void tfp_native_time_threading(void);

/* In a fork child: what it inherited of ours is closed. */
void tfp_native_time_forked(void);

#endif

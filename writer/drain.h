/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who drains full chunks: the thread that filled them, a thread of ours, or the helper of `tfprof run` (launcher/helper.c).
 *
 * Rule: draining is a role. Whoever moves a chunk from FULL to DRAINING by compare-and-swap has it; a producer that finds
 * no free chunk takes the role itself, so nobody ever waits for a drainer that is slow, stopped or gone. We are never
 * the reason why a process has a second thread: ours starts when the host starts one of its own, and is gone
 * before a fork, unshare or setns is made, and once the first thread is.
 */
#ifndef TFP_WRITER_DRAIN_H
#define TFP_WRITER_DRAIN_H

#include "writer/state.h"

#include <pthread.h>

typedef int tfp_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/* Setting DRAIN: whether a thread of ours may drain at all. Start-up only; kept across fork. */
void tfp_drain_allow_thread(int is_allowed);

/* The host has just started a thread of its own: starts ours with the real pthread_create, unless it runs. Keeps errno. */
void tfp_drain_start(tfp_pthread_create *create);

/*
 * Stops and joins our thread, if it runs. Waits for one chunk, or for a task's library, 2 s at most: then it lives on. It
 * comes back with the host's next thread, or by tfp_drain_resume.
 */
void tfp_drain_pause(void);

/*
 * The same for a fork, which a handler may make while libc is at work with threads in what it interrupted: stops our thread and asks libc
 * for nothing. The next tfp_drain_start or tfp_drain_pause joins it.
 */
void tfp_drain_halt(void);

/*
 * The process's first thread ends alone, and the process with the last of the others: stops ours, which must not be that one, for good.
 * Ours finds it out within FIRST_MS, too: a thread may end where no hook is.
 */
void tfp_drain_end(void);

/*
 * Work for our thread beside draining: called on it at once, whenever it wakes (a task looks itself whether it is due), and when the
 * milliseconds it returned have passed. It gets a state of its own, whose lane 0 it writes; what it allocates is not the
 * host's. With a task set our thread is started whatever DRAIN says (it then drains nothing), and again after each pause.
 */
#define TFP_DRAIN_NEVER UINT32_MAX
int tfp_drain_task_set(enum tfp_drain_tasks which, tfp_drain_task *task);

/* Has the task run soon. Any thread, any context, once tfp_drain_task_set was called in this process. */
void tfp_drain_wake(void);

/* Our thread runs: a task will. */
int tfp_drain_has_thread(void);

/*
 * After fork, unshare or setns, in the parent (not after _Fork, which is for handlers): where there is a task its thread is started again.
 * For those that look at other threads only beside some: Python warns whoever forks with more than one, and ours must not be why.
 * Keeps errno.
 */
void tfp_drain_resume(tfp_pthread_create *create);

/* Whether somebody else drains now: our thread, or the helper of `tfprof run`. */
int tfp_drain_is_running(void);

/* Makes a chunk FULL and wakes our thread. 0; -1: nobody else drains any more, the chunk is full all the same. */
int tfp_drain_hand_over(struct tfp_chunk *chunk);

#endif

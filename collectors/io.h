/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host reads, from where, and how long that takes.
 *
 * Calls of one function on one file that follow each other on a thread within a millisecond share one record, which grows in
 * place. A descriptor's file is looked up when it is first read, forgotten when a hook sees it closed, and compared with
 * the kernel's view every 64 uses and every 100 ms, because libc closes some without our hooks.
 * Rule: the real call is made outside of every lane, because a cancelled thread never comes back from it.
 */
#ifndef TFP_COLLECTORS_IO_H
#define TFP_COLLECTORS_IO_H

#include "collectors/window.h"

/* Setting IO. Written at start-up, kept across fork. */
extern uint32_t tfp_io_is_wanted TFP_HIDDEN;

static inline int tfp_io_is_on(void)
{
	return tfp_io_is_wanted && (tfp_is_open || tfp_window_came());
}

/*
 * A call has returned `result` bytes, or -1; begin: tfp_ticks() before it, not tfp_now(): in a fork child the first call may be the one
 * in which its log, and with it its time, begins. Any thread, any context.
 */
void tfp_io_done(unsigned function, int descriptor, uint64_t begin, int64_t result);

/* A file was opened as, or mapped from, this descriptor: `bytes` of it. */
void tfp_io_opened(unsigned function, int descriptor, uint64_t begin);
void tfp_io_mapped(unsigned function, int descriptor, uint64_t bytes);

/* The descriptors first to last no longer mean what they meant. */
void tfp_io_forget(unsigned first, unsigned last);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of this process that another thread may unmap at any moment: read by the kernel, from /proc/self/mem, so that what is gone is an
 * answer and no fault.
 *
 * Rule: what is read is kept by pages until tfp_far_begin, so that a table is searched at the price of a few system calls. It may be of
 * several moments: who reads asks afterwards whether what he read of is still there. One thread at a time.
 */
#ifndef TFP_COLLECTORS_FAR_MEMORY_H
#define TFP_COLLECTORS_FAR_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define TFP_FAR_PAGES 16 /* tables of two objects, and what of a stack is read */
#define TFP_FAR_PAGE 4096u

struct tfp_far {
	long file; /* of /proc/self/mem; -1: nothing can be read */
	uint32_t next; /* page to be replaced */
	uint32_t is_failed; /* since tfp_far_begin something could not be read */
	uintptr_t starts[TFP_FAR_PAGES]; /* 0 = free */
	uint8_t pages[TFP_FAR_PAGES][TFP_FAR_PAGE];
};

void tfp_far_begin(struct tfp_far *far, long file);

/* Copies all of it, or returns 0. Without `far` (NULL) from where it lies: the caller knows that it stays. */
int tfp_far_read(struct tfp_far *far, void *to, uintptr_t from, size_t bytes);

/* What lies there: in place, or, of far memory, copied to `room`. NULL: it cannot be read. */
const void *tfp_far_see(struct tfp_far *far, const void *at, size_t bytes, void *room);

/* Likewise a text; NULL, too, where it is longer than `bytes` with its end. */
const char *tfp_far_text(struct tfp_far *far, const char *at, size_t bytes, char *room);

#endif

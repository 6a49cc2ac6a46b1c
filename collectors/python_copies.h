/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of this process's own memory, for who reads what other threads are changing: Python frames and objects that may be gone,
 * pages and all, a moment later. The kernel copies them (/proc/self/mem), so what is not there is an error, never a fault.
 *
 * Rule: a copy may be torn or stale, so whoever reads one proves what it says. The file is opened before the process has a second
 * thread (collectors/system_files.h says why), and closed in a fork child, for it shows the parent's memory.
 */
#ifndef TFP_COLLECTORS_PYTHON_COPIES_H
#define TFP_COLLECTORS_PYTHON_COPIES_H

#include "collectors/system_files.h"

#define TFP_PYTHON_STRETCH 4096u      /* bytes of stack copied at once: some 45 frames */
#define TFP_PYTHON_OBJECTS (1u << 21) /* bytes of objects of one frame; touched as used */

/* Of the one thread that copies, in pages of its own. */
struct tfp_python_copies {
	struct tfp_kept *memory; /* /proc/self/mem, */
	long number;		 /* and its descriptor since tfp_python_copies_open */
	uintptr_t address;       /* of the stretch copied last, */
	size_t bytes;            /* 0 = none */
	uint64_t stretches;      /* copied so far */
	size_t used;             /* of `objects` */
	_Alignas(16) uint8_t stretch[TFP_PYTHON_STRETCH];
	_Alignas(16) uint8_t objects[TFP_PYTHON_OBJECTS];
};

/* Before some copies that follow each other: whether the file is still ours. -1: it is not. */
int tfp_python_copies_open(struct tfp_python_copies *copies);

/* Copies `bytes` from `address` to `to`. 0, or -1: not all of it can be read. */
int tfp_python_copy(struct tfp_python_copies *copies, uintptr_t address, void *to, size_t bytes);

/*
 * A frame, at most a page of it, as a copy: with what lies below it, where its callers' frames often are. Lives until the next
 * stretch is copied. 0: it cannot be read.
 */
uintptr_t tfp_python_copy_frame(struct tfp_python_copies *copies, uintptr_t address, size_t bytes);

/* The next stack is read: what was copied of the last one is out of date. */
static inline void tfp_python_copies_begin(struct tfp_python_copies *copies)
{
	copies->bytes = 0;
}

/* An object as a copy that lives until tfp_python_copies_drop. 0: it cannot be read, or there is no room. */
uintptr_t tfp_python_copy_object(struct tfp_python_copies *copies, uintptr_t address, size_t bytes);

static inline void tfp_python_copies_drop(struct tfp_python_copies *copies)
{
	copies->used = 0;
}

#endif

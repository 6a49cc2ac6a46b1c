/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where native code ran, and what threads waited for, as tfprof's own thread saw it.
 *
 * Rule: a look is of one kind, running or waiting, and stands for an amount of that time up to its moment.
 */
#ifndef REDUCER_MODEL_NATIVE_ROWS_H
#define REDUCER_MODEL_NATIVE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NATIVE_NO_CALL UINT16_MAX /* instead of a system call's number */
#define NATIVE_LOOKS_MOST (1u << 19) /* 16 MiB; where there are more, of several of a thread one stands for all */

struct native_look {
	int64_t time_ns;
	uint64_t amount_ns; /* processor time that it stands for, or waiting time up to then */
	uint32_t thread;    /* the kernel's id: threads that the log does not list are among them */
	uint32_t stack;	    /* 0 = none could be had */
	uint32_t count;	    /* looks that it stands for */
	uint16_t call;	    /* Linux system call that it waited in */
	bool is_wait;
};

struct native_rows {
	struct native_look *looks; /* in no order of time */
	size_t look_count;
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample of what a thread runs, taken by the kernel when asked (perf_event_open): registers and the top of the stack once the thread has
 * run for some 20 us more, in pages that the kernel shares with us.
 *
 * Rule: nobody is stopped and no signal is sent. An event that counts all the time would arm a timer at each context switch (2 us each in
 * a virtual machine: a program that switches 100,000 times a second ran a half slower); this one is off but between question and answer.
 * Where a filter of system calls is in force nothing here may be called: it may kill for a call that it does not know.
 */
#ifndef TFP_COLLECTORS_NATIVE_RING_H
#define TFP_COLLECTORS_NATIVE_RING_H

#include "collectors/native_walk.h"

struct tfp_native_ring {
	uint8_t *pages; /* NULL = none */
	uint32_t data_bytes; /* behind the first page */
	int number;     /* descriptor, */
	uint64_t id;    /* and by what it is known again: the host may have closed it and put a file of its own there */
};

struct tfp_native_sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	struct tfp_native_registers registers;
	struct tfp_native_copy copy; /* lives until the next one is taken */
};

enum tfp_native_level {
	TFP_NATIVE_NONE = 0, /* it cannot be had, or may not be tried */
	TFP_NATIVE_USER = 1, /* code of the kernel, on behalf of the thread, is not sampled */
	TFP_NATIVE_ALL = 2,
};

/* Opens one of the calling thread, and closes it, to see what the kernel allows. *error: 0, or -errno. */
enum tfp_native_level tfp_native_ring_level(long *error);

/*
 * How many the process may have at a time. The kernel counts their pages as locked by the user, beside what io_uring and MSG_ZEROCOPY lock,
 * which fail at RLIMIT_MEMLOCK: ours are a small part of that, where it holds for this process.
 */
uint32_t tfp_native_ring_most(void);

/* For the thread `tid`. 0, or -errno. Takes the lowest free descriptor for a moment. A fork child does not get the pages. */
long tfp_native_ring_open(struct tfp_native_ring *ring, uint32_t tid, enum tfp_native_level level);
void tfp_native_ring_close(struct tfp_native_ring *ring);

/* In a fork child, which has got the descriptor: closes it. */
void tfp_native_ring_leave(struct tfp_native_ring *ring);

/* Asks for one sample. 0; -1: the descriptor is gone. */
int tfp_native_ring_ask(const struct tfp_native_ring *ring);

/* The oldest sample. 0: there is none. tfp_native_ring_drop: it is done with, the kernel may have its room. */
int tfp_native_ring_next(const struct tfp_native_ring *ring, struct tfp_native_sample *sample);
void tfp_native_ring_drop(const struct tfp_native_ring *ring);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of the log: a counter that costs one instruction where it can be trusted, and bracketed readings that tie
 * it to the system's clocks. Rule: no libc. Offline code turns ticks into ns; here they stay ticks.
 */
#ifndef TFP_WRITER_CLOCK_H
#define TFP_WRITER_CLOCK_H

#include "writer/format.h"

#include <stdint.h>

/*
 * How ticks are read now: enum tfp_clock_kind. Written by tfp_clock_choose, before any thread can read it, and by
 * tfp_clock_leave_counter.
 */
extern uint32_t tfp_clock_kind __attribute__((visibility("hidden")));

/* What ticks are in this process's log, however they are read. */
enum tfp_clock_kind tfp_clock_log_kind(void);

/* Chooses the counter. Call once per process image, first of all. */
void tfp_clock_choose(void);

/* Reads all clocks, best of three brackets. Any thread. About 1 us. */
void tfp_clock_read(struct tfp_clock_set *set);

/* Ticks a second of CLOCK_MONOTONIC_RAW between two readings; 0 where they are too close to tell. */
uint64_t tfp_clock_hz(const struct tfp_clock_set *from, const struct tfp_clock_set *to);

/* CLOCK_MONOTONIC, CLOCK_REALTIME. Any thread. */
uint64_t tfp_clock_monotonic_ns(void);

/* What a thread of this process has used of processors, ns; 0: there is no such thread. */
uint64_t tfp_clock_thread_ns(uint32_t tid);
uint64_t tfp_clock_realtime_ns(void);

/*
 * The host forbids its threads to read the counter (PR_SET_TSC, seccomp's strict mode): from here on ticks are computed from
 * CLOCK_MONOTONIC, at the counter's rate since `from`. For good, also in fork children.
 */
void tfp_clock_leave_counter(const struct tfp_clock_set *from);

/* 1: the host forbids system calls too, where ticks need one: time stands still from now. 0: it runs again. */
void tfp_clock_stop(int is_stopped);

/* Ticks where no counter may be read. */
uint64_t tfp_clock_slow_ticks(void);

/* Whether ticks are read by one instruction. */
static inline int tfp_clock_is_counter(void)
{
#if defined __x86_64__
	return __builtin_expect(tfp_clock_kind == TFP_CLOCK_TSC, 1);
#elif defined __aarch64__
	return __builtin_expect(tfp_clock_kind == TFP_CLOCK_CNTVCT, 1);
#else
	return 0;
#endif
}

/* Now, in ticks (absolute). Any thread, any context. */
static inline uint64_t tfp_ticks(void)
{
#if defined __x86_64__
	if (__builtin_expect(tfp_clock_kind == TFP_CLOCK_TSC, 1)) {
		uint32_t low, high;

		__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
		return (uint64_t)high << 32 | low;
	}
#elif defined __aarch64__
	if (__builtin_expect(tfp_clock_kind == TFP_CLOCK_CNTVCT, 1)) {
		uint64_t value;

		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value)); /* no isb: order within 1 tick does not matter */
		return value;
	}
#endif
	return tfp_clock_slow_ticks();
}

#endif

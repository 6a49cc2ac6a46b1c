/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of the host held back for a moment; see writer/signals.h. */
#include "writer/signals.h"

#include "writer/clock.h"
#include "writer/sys.h"

#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>

#include "writer/poison.h"

#define SEAL_NS 50000000u /* 50 ms: longer than a processor is mostly taken from a thread */

/* In the process's state, which a fork child finds empty, as the threads that were inside are not there; written by start-up. */
static _Atomic uint32_t *counter;

void tfp_signals_begin(_Atomic uint32_t *inside)
{
	counter = inside;
}

/* In a child that a handler forked meanwhile the counter is empty: the threads that were inside are not there. */
static void leave(_Atomic uint32_t *inside)
{
	uint32_t now = *inside;

	while (now && !__atomic_compare_exchange_n((uint32_t *)inside, &now, now - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

/* Entered before the seal is looked at, and the seal is there before the count is: one of the two is seen. */
static void block(struct tfp_signals *before, uint64_t set)
{
	before->inside = counter;
	if (before->inside)
		++*before->inside;
	before->are_blocked = tfp_sys(SYS_rt_sigprocmask, SIG_BLOCK, (long)&set, (long)&before->mask, sizeof set, 0, 0) == 0;
	if (before->are_blocked || !before->inside)
		return;
	leave(before->inside);
	before->inside = NULL;
}

void tfp_signals_block(struct tfp_signals *before)
{
	block(before, UINT64_MAX);
}

#define SIGNALS 64

void tfp_signals_block_handled(struct tfp_signals *before)
{
	uint64_t set = 0, action[8]; /* the kernel's: the handler, then 24 bytes more */

	for (int number = 1; number <= SIGNALS; number++)
		if (tfp_sys(SYS_rt_sigaction, number, 0, (long)action, sizeof set, 0, 0) == 0 && action[0] > 1 /* SIG_DFL 0, SIG_IGN 1 */)
			set |= UINT64_C(1) << (number - 1);
	block(before, set);
}

void tfp_signals_restore(const struct tfp_signals *before)
{
	if (before->are_blocked)
		tfp_sys_past_seal(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before->mask, 0, sizeof before->mask, 0, 0);
	if (before->inside)
		leave(before->inside);
}

void tfp_signals_seal(void)
{
	uint64_t begin = tfp_clock_monotonic_ns(), now = begin;
	struct timespec time;

	tfp_sys_seal(1);
	while (counter && *counter && now - begin < SEAL_NS) {
		tfp_sys_past_seal(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
		tfp_sys_past_seal(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&time, 0, 0, 0, 0);
		now = (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
	}
}

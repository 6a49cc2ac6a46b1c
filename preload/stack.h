/* SPDX-License-Identifier: Apache-2.0 */
/* The alternate stack for signals, as the host sets it. */
#ifndef TFP_PRELOAD_STACK_H
#define TFP_PRELOAD_STACK_H

#include <signal.h>
#include <sys/syscall.h>

/* Of it, or NULL; the kernel has accepted it. Any thread. */
void tfp_stack_set(const stack_t *stack);

/* The same where the host has made a system call by itself: its number, first argument and result. */
static inline void tfp_stack_called(long number, long stack, long result)
{
	if (__builtin_expect(number == SYS_sigaltstack && result == 0, 0))
		tfp_stack_set((const stack_t *)stack);
}

#endif

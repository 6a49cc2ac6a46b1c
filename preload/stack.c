/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The alternate stack for signals, as the host sets it.
 *
 * Rule: nothing is done but to look whether handlers are hidden from us: with SS_AUTODISARM the kernel forgets the stack while one runs
 * on it, and says that there is none.
 */
#include "preload/stack.h"

#include "preload/real.h"
#include "writer/stream.h"
#include "writer/sys.h"

#include <errno.h>

#define DISARMS (1u << 31) /* SS_AUTODISARM, Linux 4.7 */

void tfp_stack_set(const stack_t *stack)
{
	if (stack && ((unsigned)stack->ss_flags & DISARMS))
		tfp_thread_hides_handlers();
}

TFP_EXPORT int sigaltstack(const stack_t *restrict stack, stack_t *restrict old)
{
	int result = -1;

	tfp_resolve();
	if (tfp_real.sigaltstack) {
		result = tfp_real.sigaltstack(stack, old);
	} else {
		long answer = tfp_sys(SYS_sigaltstack, (long)stack, (long)old, 0, 0, 0, 0);
		if (answer == 0)
			result = 0;
		else
			errno = (int)-answer;
	}
	if (!result)
		tfp_stack_set(stack);
	return result;
}

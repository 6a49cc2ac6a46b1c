/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stretches of our code that no handler of the host may interrupt: it could fork there, or never come back.
 *
 * Rule: a thread gets its signals back whatever the host forbids meanwhile (a seccomp filter of another thread); so who seals waits
 * for those that are inside. Where the stretch may wait for a network, signals without a handler are let through: Ctrl-C ends the program.
 */
#ifndef TFP_WRITER_SIGNALS_H
#define TFP_WRITER_SIGNALS_H

#include <stdint.h>

struct tfp_signals {
	uint64_t mask;
	_Atomic uint32_t *inside; /* where this thread is counted, NULL = nowhere */
	int are_blocked;
};

/* Where threads that are inside are counted. Start-up only. */
void tfp_signals_begin(_Atomic uint32_t *inside);

/* Blocks all signals of the calling thread, or those that have a handler (6 us); lets them through as before. Nestable. Behind a seal
 * nothing is blocked. */
void tfp_signals_block(struct tfp_signals *before);
void tfp_signals_block_handled(struct tfp_signals *before);
void tfp_signals_restore(const struct tfp_signals *before);

/* tfp_sys_seal(1), and waits until no thread is inside any more, 50 ms at most. Not from inside. */
void tfp_signals_seal(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other profilers of the process, by what they ask of CUPTI; see collectors/cupti.h.
 *
 * Rule: whoever comes gets CUPTI, also before it was ours; we come back when nobody subscribes, nobody asks for records, and what
 * was recorded for them was handed over. What they do is theirs: nothing of it is changed or kept from them.
 */
#include "collectors/cupti_state.h"

#include "writer/poison.h"

enum { SUBSCRIBER = 1, BUFFERS = 2 };

/* Of the process, set by the threads that make those calls; kept across fork, where CUPTI is of no use. */
static _Atomic uint32_t holders;
static _Atomic uint64_t their_kinds; /* bits: asked for by them and not given up */
static _Atomic uint32_t had_kinds;   /* since they took the buffers */
static tfp_cupti_clock *_Atomic their_clock;

int tfp_cupti_is_held(void)
{
	return holders != 0;
}

tfp_cupti_clock *tfp_cupti_their_clock(void)
{
	return their_clock;
}

static void hold(uint32_t how)
{
	uint32_t before = __atomic_fetch_or((uint32_t *)&holders, how, __ATOMIC_SEQ_CST); /* a step of ours reads it */

	if (!before)
		tfp_cupti_step_aside();
}

static void release(uint32_t how)
{
	if (!(__atomic_and_fetch((uint32_t *)&holders, ~how, __ATOMIC_SEQ_CST)))
		tfp_cupti_come_back();
}

int tfp_cupti_is_subscribed(void)
{
	return (holders & SUBSCRIBER) != 0;
}

void tfp_cupti_yield(void)
{
	hold(SUBSCRIBER);
}

void tfp_cupti_yielded(int has_subscribed)
{
	if (!has_subscribed)
		release(SUBSCRIBER);
	else if (tfp_cupti && tfp_cupti->phase == TFP_CUPTI_YIELDED)
		tfp_cupti_put_state(TFP_GPU_STATE_TAKEN, TFP_CUPTI_MULTIPLE_SUBSCRIBERS);
}

/* XLA unsubscribes first, then gives up its kinds and flushes: until then the buffers are its own. */
void tfp_cupti_unsubscribed(void)
{
	release(SUBSCRIBER | (their_kinds ? 0 : BUFFERS));
}

void tfp_cupti_returned(void)
{
	their_kinds = 0;
	had_kinds = 0;
	release(SUBSCRIBER | BUFFERS);
}

void tfp_cupti_yield_buffers(void)
{
	if (holders & BUFFERS)
		return;
	hold(BUFFERS);
	if (tfp_cupti && tfp_cupti->phase == TFP_CUPTI_YIELDED && !(holders & SUBSCRIBER))
		tfp_cupti_put_state(TFP_GPU_STATE_TAKEN, TFP_CUPTI_MULTIPLE_SUBSCRIBERS);
}

void tfp_cupti_clocked(void *clock)
{
	*(void **)(void *)&their_clock = clock;
}

void tfp_cupti_asked(uint32_t kind, int is_wanted)
{
	if (kind >= TFP_CUPTI_KINDS)
		return;
	if (is_wanted) {
		__atomic_fetch_or((uint64_t *)&their_kinds, UINT64_C(1) << kind, __ATOMIC_RELAXED);
		had_kinds = 1;
	} else {
		__atomic_fetch_and((uint64_t *)&their_kinds, ~(UINT64_C(1) << kind), __ATOMIC_RELAXED);
	}
}

void tfp_cupti_flushed(void)
{
	if (!(holders & BUFFERS) || their_kinds || !had_kinds)
		return;
	had_kinds = 0;
	release(BUFFERS);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other profilers of the process, by what they ask of CUPTI; see collectors/cupti.h.
 *
 * Rule: whoever comes gets CUPTI, also before it was ours; we come back when nobody subscribes, nobody asks for records, and what
 * was recorded for them was handed over. What they do is theirs: nothing of it is changed or kept from them.
 */
#include "collectors/cupti_state.h"

#include "writer/poison.h"

#define LEFT_SECONDS 5 /* XLA needs less from unsubscribing to giving up its kinds */

enum { BUFFERS = 1, SUBSCRIBER = 2 };

/*
 * Of the process, set by the threads that make those calls; kept across fork, where CUPTI is of no use. BUFFERS is a flag; the rest
 * counts subscribers and those who are about to become one: what one of them is refused says nothing of the others.
 */
static _Atomic uint32_t holders;
static _Atomic uint64_t left_ticks; /* when the last subscriber left with kinds still asked for; 0 = not so, or told */
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

/* The first one finds us gone. */
static void hold_buffers(void)
{
	if (!__atomic_fetch_or((uint32_t *)&holders, BUFFERS, __ATOMIC_SEQ_CST)) /* a step of ours reads it */
		tfp_cupti_step_aside();
}

/* All of these bits, and one subscriber less where there is one. The last one to go lets us in. */
static void release(uint32_t subscribers, uint32_t buffers)
{
	uint32_t before = holders, after;

	do {
		after = before & ~buffers;
		after -= after >= SUBSCRIBER ? subscribers : 0;
	} while (!__atomic_compare_exchange_n((uint32_t *)&holders, &before, after, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	if (!after)
		tfp_cupti_come_back();
}

int tfp_cupti_is_subscribed(void)
{
	return holders >= SUBSCRIBER;
}

const void *tfp_cupti_used(uint32_t *version)
{
	if (!tfp_cupti || !tfp_cupti->is_told)
		return NULL;
	*version = tfp_cupti->api.version;
	return (const void *)tfp_cupti->api.get_version;
}

void tfp_cupti_yield(void)
{
	if (!__atomic_fetch_add((uint32_t *)&holders, SUBSCRIBER, __ATOMIC_SEQ_CST))
		tfp_cupti_step_aside();
}

void tfp_cupti_yielded(int has_subscribed)
{
	if (!has_subscribed) {
		if (tfp_cupti && tfp_cupti->is_told && holders < 2 * SUBSCRIBER)
			tfp_cupti_note("cupti_other",
				       "Another profiler was given CUPTI, and refused by it: it has a copy of its own, newer than the one "
				       "that was used before, or found before that, and one copy serves a process. TFPROF_CUDA=hooks "
				       "leaves it to others. Version used: ",
				       tfp_cupti->api.version);
		release(SUBSCRIBER, 0);
	} else if (tfp_cupti && tfp_cupti->phase == TFP_CUPTI_YIELDED) {
		tfp_cupti_put_state(TFP_GPU_STATE_TAKEN, TFP_CUPTI_MULTIPLE_SUBSCRIBERS);
	}
}

/* XLA unsubscribes first, then gives up its kinds and flushes: until then the buffers are its own. */
void tfp_cupti_unsubscribed(void)
{
	left_ticks = their_kinds ? tfp_ticks() : 0;
	release(SUBSCRIBER, their_kinds ? 0 : BUFFERS);
}

/* Not taken from it after a while: it may have its records handed over at its end alone, and they would go to us. */
void tfp_cupti_tell_left(int is_end)
{
	uint64_t since = left_ticks, kinds = their_kinds, count = 0;

	if (!since || holders != BUFFERS || (!is_end && tfp_ticks() - since < LEFT_SECONDS * tfp_state->second_ticks))
		return;
	left_ticks = 0;
	for (; kinds; kinds &= kinds - 1)
		count++;
	if (count)
		tfp_cupti_note("cupti_left",
			       "Another profiler unsubscribed, yet went on asking for records: CUPTI was left to it from there on, "
			       "only the host's calls are recorded. Kinds of records that it did not give up: ",
			       count);
}

void tfp_cupti_returned(void)
{
	their_kinds = 0;
	had_kinds = 0;
	__atomic_store_n((uint32_t *)&holders, 0, __ATOMIC_SEQ_CST);
	tfp_cupti_come_back();
}

void tfp_cupti_yield_buffers(void)
{
	if (holders & BUFFERS)
		return;
	left_ticks = 0; /* whoever left has given them up since: this one has not left */
	hold_buffers();
	if (tfp_cupti && tfp_cupti->phase == TFP_CUPTI_YIELDED && !tfp_cupti_is_subscribed())
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
	release(0, BUFFERS);
}

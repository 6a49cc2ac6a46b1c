/* SPDX-License-Identifier: Apache-2.0 */
/* What jaxlib does without Python's lock; see collectors/jax.h. */
#include "collectors/jax.h"

#include "collectors/heap.h"
#include "collectors/opnames.h"
#include "collectors/process.h"
#include "collectors/python.h"
#include "collectors/ranges.h"
#include "collectors/repeats.h"
#include "collectors/window.h"
#include "writer/store.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define SITES 128u     /* places in jaxlib that give up the lock, or ask for it in the middle of a call; 80 were met in 0.10 */
#define LONG_PART 500000u /* of a second: calls of 2 us and more are looked at; the freeing of an array takes 0.5 us */
#define UNSEEN 0x80000000u /* in op_site: no window was open when the call began; its length alone is wanted */
#define TEXT_ROOM 320u /* a file name of at most 255 bytes, two numbers */

enum length { UNKNOWN, SHORT, LONG }; /* the longest counts */
enum asks { NOT_KNOWN, FOR_SIGNALS, FOR_PYTHON };

/* Kept across fork, as jaxlib is. */
static struct {
	_Atomic uintptr_t caller; /* 0 = free */
	_Atomic uint32_t length;  /* of its calls so far: enum length */
	_Atomic uint32_t asks;	  /* what it wants the lock for: enum asks */
} sites[SITES];
static int knows_checks; /* written once, by tfp_jax_attached */
static const char *library = "";
static uintptr_t library_bias;

static void tell(const char *how, const char *detail)
{
	tfp_fact_framework("jax", how, detail);
}

void tfp_jax_attached(const char *file, uintptr_t bias, int tells_checks)
{
	knows_checks = tells_checks;
	library = file;
	library_bias = bias;
	tell("on", "calls into XLA (executions, compilations, transfers, waits), by the Python line that made them");
}

void tfp_jax_absent(const char *why)
{
	tell("absent", why);
	if (tfp_state && tfp_state->phase == TFP_STATE_READY)
		tfp_fact_pair(TFP_TAG_note, "jax_absent", why);
}

/* The number of a place, 0 = no room. */
static uint32_t site_of(uintptr_t caller)
{
	uint32_t first = (uint32_t)((caller * UINT64_C(0x9e3779b97f4a7c15)) >> 40);

	for (uint32_t i = 0; i < SITES; i++) {
		uint32_t at = (first + i) % SITES;
		uintptr_t there = sites[at].caller;
		if (there == caller ||
		    (!there && (__atomic_compare_exchange_n((uintptr_t *)&sites[at].caller, &there, caller, 0, __ATOMIC_RELAXED,
							    __ATOMIC_RELAXED) ||
				there == caller)))
			return at + 1;
	}
	return 0;
}

/* "libjax_common.so+0x7cca925", and behind a space the Python stack's number: told apart, and joined again, by the reader. */
static uint32_t tell_name(struct tfp_thread *thread, uint64_t key, uintptr_t caller, uint32_t stack)
{
	char text[TEXT_ROOM], *at = text;

	for (const char *from = library; *from && at < text + TEXT_ROOM - 64; from++)
		*at++ = *from;
	*at++ = '+';
	*at++ = '0';
	*at++ = 'x';
	at = tfp_write_number(at, caller - library_bias, 16);
	if (stack) {
		*at++ = ' ';
		at = tfp_write_number(at, stack, 10);
	}
	uint32_t name = tfp_op_find(thread, key, text, (size_t)(at - text));
	uint8_t *kind = tfp_op_kind(name);
	if (kind && !*kind && stack) {
		struct tfp_fact_field fields[2] = {{.number = name}, {.number = stack}};
		tfp_store_fact(TFP_TAG_op_place, fields, 2);
	}
	if (kind)
		*kind = TFP_OP_PLAIN;
	return name;
}

/* A loop makes the same calls in the same order: its text is written only where it is not the expected one. */
static uint32_t name_of(struct tfp_thread *thread, uintptr_t caller, uint32_t stack)
{
	unsigned __int128 product = (unsigned __int128)(caller ^ UINT64_C(0xd6e8feb86659fd93)) *
				    (stack ^ UINT64_C(0x9e3779b97f4a7c15)); /* golden ratio, and an odd random number */
	uint64_t folded = (uint64_t)product ^ (uint64_t)(product >> 64), key = folded ? folded : 1;
	uint32_t name = tfp_op_expected(thread, key);

	return name ? name : tell_name(thread, key, caller, stack);
}

/* What the lock was asked for at the place that is open. */
static void learn_asker(struct tfp_thread *thread, enum asks asks)
{
	if (thread->op_asker)
		sites[thread->op_asker - 1].asks = asks;
	thread->op_asker = 0;
}

/* The first call from a place tells whether its calls are worth looking at. */
static void learn(struct tfp_thread *thread, uint64_t now)
{
	uint32_t site = thread->op_site & ~UNSEEN;

	if (site && sites[site - 1].length != LONG)
		sites[site - 1].length = now - thread->op_since >= tfp_state->second_ticks / LONG_PART ? LONG : SHORT;
	thread->op_since = 0;
	learn_asker(thread, FOR_PYTHON);
}

static void end_call(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now)
{
	if (!(thread->op_site & UNSEEN))
		TFP_PUT(thread, lane, now, op_end, .key = 0, .source = TFP_FROM_xla);
	learn(thread, now);
}

/* Where a window of steps is awaited: what repeats of this thread's calls are steps. */
static __attribute__((noinline)) void watch(uintptr_t caller)
{
	struct tfp_thread *thread = tfp_thread_have();

	if (!thread || thread->is_own || thread->depth)
		return;
	uint32_t site = site_of(caller);
	if (site && sites[site - 1].length != SHORT)
		tfp_repeats_call(thread, caller);
	if (!tfp_is_open && site) {
		uint64_t now = tfp_now();
		thread->op_since = now ? now : 1;
		thread->op_site = site | UNSEEN;
		thread->op_asker = 0;
	}
}

void tfp_jax_leaves(uintptr_t caller)
{
	struct tfp_lane *lane;
	uint32_t stack = 0;

	if (TFP_UNLIKELY(tfp_repeats_is_wanted))
		watch(caller);
	struct tfp_thread *thread = tfp_window_enter(&lane);
	if (!thread)
		return;
	uint32_t site = site_of(caller);
	if (thread->op_since)
		end_call(thread, lane, tfp_now());
	if (site && sites[site - 1].length != SHORT && tfp_python_when != TFP_PYTHON_NEVER && lane == &thread->lanes[0])
		stack = tfp_python_read(thread, lane);
	uint32_t name = name_of(thread, caller, stack);
	uint64_t now = tfp_now();
	if (stack) /* the reader knows a compilation by its frames */
		TFP_PUT(thread, lane, now, python_stack, .stack = stack);
	TFP_PUT(thread, lane, now, op_begin, .name = name, .key = 0, .source = TFP_FROM_xla, .scope = 0);
	thread->op_since = now ? now : 1;
	thread->op_site = site;
	tfp_thread_leave(thread);
}

/* This thread, if it is in such a call. */
static struct tfp_thread *caller_of_xla(void)
{
	return tfp_self && tfp_self->is_ready == 1 && tfp_self->op_since ? tfp_self : NULL;
}

void tfp_jax_returns(void)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread = caller_of_xla();

	if (thread && TFP_UNLIKELY(thread->op_site & UNSEEN))
		learn(thread, tfp_now());
	if (!thread || !thread->op_since)
		return;
	thread = tfp_window_enter(&lane);
	if (!thread)
		return;
	end_call(thread, lane, tfp_now());
	tfp_thread_leave(thread);
}

/* What a place wants the lock for is told by what it does then, so the first time nothing ends. */
void tfp_jax_asks(uintptr_t caller)
{
	struct tfp_thread *thread = caller_of_xla();
	uint32_t site = thread && knows_checks ? site_of(caller) : 0, asks = site ? sites[site - 1].asks : FOR_PYTHON;

	if (asks == NOT_KNOWN && !thread->op_asker)
		thread->op_asker = (uint8_t)site;
	else if (asks != FOR_SIGNALS)
		tfp_jax_returns();
}

void tfp_jax_checks(void)
{
	struct tfp_thread *thread = caller_of_xla();

	if (thread)
		learn_asker(thread, FOR_SIGNALS);
}

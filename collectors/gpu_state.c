/* SPDX-License-Identifier: Apache-2.0 */
/* Mode, mask, windows and engine of the GPU collectors; see collectors/gpu_state.h. */
#include "collectors/gpu_state.h"

#include "collectors/gpu_blocks.h"
#include "collectors/repeats.h"
#include "collectors/window.h"

#define BIT(kind) (UINT32_C(1) << TFP_GPU_KIND_##kind)
#define LAUNCHES (BIT(launch) | BIT(graph_launch))
#define REPEATED (LAUNCHES | BIT(copy) | BIT(set))
#define SERVED (LAUNCHES | BIT(copy) | BIT(set) | BIT(alloc) | BIT(stream)) /* none of them without the driver */
#define STARTERS (LAUNCHES | BIT(copy) | BIT(set) | BIT(alloc) | BIT(sync) | BIT(stream) | BIT(event) | BIT(graph) | BIT(module))

_Atomic uint32_t tfp_gpu_mode = TFP_GPU_OFF;
_Atomic uint32_t tfp_gpu_mask = UINT32_MAX;
_Atomic uint32_t tfp_gpu_attention;
uint32_t tfp_gpu_kept;
_Atomic uint32_t tfp_gpu_recorded;
_Atomic uint32_t tfp_gpu_is_working;
static _Atomic uint32_t has_served; /* kept across fork: a child that goes on with its parent's driver cannot use it */

/* Written by tfp_gpu_begin, before the first record; kept across fork. */
static struct tfp_gpu_plan plan;
/* Written once, by CUPTI's collector at start-up; kept across fork. */
static const struct tfp_gpu_engine *_Atomic engine_now;

void tfp_gpu_engine_set(const struct tfp_gpu_engine *engine)
{
	engine_now = engine;
}

const struct tfp_gpu_engine *tfp_gpu_engine(void)
{
	return engine_now;
}

int tfp_gpu_counts_launches(void)
{
	return plan.is_on && tfp_state && tfp_window_awaits_launch(tfp_state->gpu_launches);
}

static void settle_once(uint32_t is_open)
{
	uint32_t mask = BIT(device) | BIT(names);
	int counts = tfp_gpu_counts_launches();

	if (is_open)
		mask |= tfp_gpu_kept;
	else if (plan.follows_closed)
		mask |= BIT(alloc) | BIT(free) | BIT(context);
	if (counts)
		mask |= LAUNCHES;
	if (tfp_repeats_is_wanted)
		mask |= REPEATED;
	if (counts)
		__atomic_fetch_or((uint32_t *)&tfp_gpu_attention, TFP_GPU_COUNT, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and((uint32_t *)&tfp_gpu_attention, ~(uint32_t)TFP_GPU_COUNT, __ATOMIC_RELAXED);
	if (tfp_repeats_is_wanted)
		__atomic_fetch_or((uint32_t *)&tfp_gpu_attention, TFP_GPU_REPEAT, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and((uint32_t *)&tfp_gpu_attention, ~(uint32_t)TFP_GPU_REPEAT, __ATOMIC_RELAXED);
	tfp_gpu_mode = !plan.is_on || !is_open ? TFP_GPU_OFF : plan.wants_cupti ? TFP_GPU_FULL : TFP_GPU_HOOKS;
	tfp_gpu_recorded = tfp_gpu_mode != TFP_GPU_OFF ? tfp_gpu_kept : 0;
	tfp_gpu_mask = plan.is_on ? mask : 0;
}

/* Settings and window into mode and mask. By two threads at once: whose store is the last one looks whether the window is still so. */
static void settle(void)
{
	uint32_t is_open;

	do
		settle_once(is_open = tfp_is_open);
	while (is_open != tfp_is_open);
}

void tfp_gpu_begin(const struct tfp_gpu_plan *wanted)
{
	plan = *wanted;
#define TFP_GPU_KIND(name, word, has_stack, is_rare) (!(is_rare) || plan.records_all ? BIT(name) : 0) |
	tfp_gpu_kept = TFP_GPU_KINDS(TFP_GPU_KIND) 0;
#undef TFP_GPU_KIND
	settle();
}

void tfp_gpu_attend(int is_wanted)
{
	if (is_wanted)
		__atomic_fetch_or((uint32_t *)&tfp_gpu_attention, TFP_GPU_ATTEND, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and((uint32_t *)&tfp_gpu_attention, ~(uint32_t)TFP_GPU_ATTEND, __ATOMIC_RELAXED);
}

void tfp_gpu_window(struct tfp_thread *thread, struct tfp_lane *lane, int is_open, int by_launch)
{
	const struct tfp_gpu_engine *engine = engine_now;

	settle();
	if (!plan.is_on)
		return;
	if (is_open && lane)
		tfp_gpu_blocks_note(thread, lane);
	if (engine) {
		__atomic_fetch_or((uint32_t *)&tfp_gpu_attention, TFP_GPU_EDGE, __ATOMIC_RELAXED);
		if (!by_launch)
			engine->window(0);
	}
}

/* The innermost call of the thread is one of CUDA itself: what it calls is a part of it. */
static int is_inside_cuda(const struct tfp_gpu_thread *gpu)
{
	uint32_t function = gpu->depth ? gpu->frames[gpu->depth - 1].function : TFP_GPU_LIBRARY_FIRST;

	return function < TFP_GPU_LIBRARY_FIRST || function & TFP_GPU_CALLBACK;
}

/* The engine hears of an edge where it may act at once. */
static void tell_edge(void)
{
	const struct tfp_gpu_engine *engine = engine_now;
	uint32_t before = __atomic_fetch_and((uint32_t *)&tfp_gpu_attention, ~(uint32_t)TFP_GPU_EDGE, __ATOMIC_ACQ_REL);

	if (engine && (before & TFP_GPU_EDGE))
		engine->window(1);
}

/* Where steps are looked for: a call that the host makes gives a device work. */
static void tell_repeat(uint64_t call, struct tfp_thread *thread)
{
	if (tfp_repeats_is_wanted)
		tfp_repeats_call(thread, call);
	if (!tfp_repeats_is_wanted)
		settle();
}

void tfp_gpu_before(uint32_t kind, uint64_t call, struct tfp_thread *thread, uint64_t *launch)
{
	uint32_t attention = tfp_gpu_attention, bit = UINT32_C(1) << kind;

	if ((attention & TFP_GPU_ATTEND) && (bit & STARTERS) && !thread->depth && tfp_is_open)
		plan.attend();
	if ((attention & TFP_GPU_REPEAT) && (bit & REPEATED) && call && !is_inside_cuda(&thread->gpu))
		tell_repeat(call, thread);
	if ((attention & TFP_GPU_COUNT) && (bit & LAUNCHES) && !is_inside_cuda(&thread->gpu)) {
		*launch = __atomic_add_fetch((uint64_t *)&tfp_state->gpu_launches, 1, __ATOMIC_RELAXED);
		tfp_window_launch(*launch);
	}
	if (!thread->depth)
		tell_edge();
}

void tfp_gpu_after(uint64_t number)
{
	struct tfp_thread *thread = tfp_self;

	if (number != tfp_state->gpu_launches) /* a later one decides */
		return;
	tfp_window_launched(number);
	settle(); /* the last window may be over */
	if (thread && !thread->depth)
		tell_edge();
}

int tfp_gpu_has_device_records(struct tfp_thread *thread, uint64_t now)
{
	const struct tfp_gpu_engine *engine = engine_now;
	int state = engine ? engine->is_recording() : 0;

	if (state <= 0 && state > -2 && plan.wants_cupti) /* at the end the log's gpu_state says why */
		tfp_loss_add(thread, state < 0 ? TFP_LOSS_cupti_taken : TFP_LOSS_cupti_none, 1, now);
	return state > 0;
}

uint64_t tfp_gpu_widen(uint32_t correlation)
{
	const struct tfp_gpu_engine *engine = engine_now;

	return engine ? engine->widen(correlation) : correlation;
}

void tfp_gpu_place(struct tfp_gpu_block *block, uint64_t handle)
{
	if (plan.place)
		plan.place(block, handle);
}

void tfp_gpu_serves(uint32_t kind)
{
	if (UINT32_C(1) << kind & SERVED)
		has_served = 1;
}

int tfp_gpu_has_served(void)
{
	return has_served || tfp_gpu_is_working;
}

void tfp_gpu_work_began(void)
{
	if (!__atomic_exchange_n((uint32_t *)&tfp_gpu_is_working, 1, __ATOMIC_RELAXED))
		plan.work_began();
}

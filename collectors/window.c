/* SPDX-License-Identifier: Apache-2.0 */
/* Capture windows and the slow look that drives them; see collectors/window.h. */
#include "collectors/window.h"

#include "collectors/heap.h"
#include "writer/file.h"
#include "writer/sys.h"

#include "writer/poison.h"

/* Written by tfp_window_begin, before the first record; then only is_open, by compare-and-swap. Kept across fork. */
static struct tfp_window_plan plan;
static _Atomic int is_open_now;
static _Atomic int opened_by;        /* enum tfp_window_cause; written by who opened */
static _Atomic int last_time_window = -1; /* the one that held at the last look */

void tfp_window_begin(const struct tfp_window_plan *wanted)
{
	plan = *wanted;
	is_open_now = plan.is_open_at_start;
	tfp_mode_now = is_open_now ? plan.open_mode : plan.closed_mode;
}

static void put_edge(struct tfp_thread *thread, struct tfp_lane *lane, enum tfp_window_cause cause, uint32_t index)
{
	TFP_PUT(thread, lane, tfp_now(), window, .is_open = (uint8_t)is_open_now, .cause = (uint8_t)cause, .index = index,
		.live = tfp_state->live->live_bytes);
}

void tfp_window_note_start(struct tfp_thread *thread, struct tfp_lane *lane)
{
	put_edge(thread, lane, TFP_CAUSE_START, 0);
}

static void change_in(struct tfp_thread *thread, struct tfp_lane *lane, int is_open, enum tfp_window_cause cause,
		      uint32_t index)
{
	int before = !is_open;

	if (!__atomic_compare_exchange_n((int *)&is_open_now, &before, is_open, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	if (lane->pending)
		tfp_heap_flush(thread, lane);
	tfp_mode_now = is_open ? plan.open_mode : plan.closed_mode;
	tfp_state->live->heap_mode = tfp_mode_now;
	if (is_open)
		opened_by = (int)cause;
	put_edge(thread, lane, cause, index);
}

void tfp_window_change(int is_open, enum tfp_window_cause cause, uint32_t index)
{
	struct tfp_thread *thread = tfp_self && tfp_self->is_ready == 1 ? tfp_self : tfp_thread_start();

	if (!thread || thread->depth > 1)
		return;
	struct tfp_lane *lane = &thread->lanes[thread->depth];
	thread->depth++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	change_in(thread, lane, is_open, cause, index);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->depth--;
}

void tfp_window_toggle(enum tfp_window_cause cause)
{
	tfp_window_change(!is_open_now, cause, 0);
}

void tfp_window_step(uint64_t number)
{
	for (uint32_t i = 0; i < plan.count; i++) {
		const struct tfp_window_range *range = &plan.ranges[i];
		if (range->unit != TFP_CAUSE_STEP)
			continue;
		if (number == range->from || (!is_open_now && number > range->from && number <= range->to))
			tfp_window_change(1, TFP_CAUSE_STEP, i);
		else if (number == range->to + 1)
			tfp_window_change(0, TFP_CAUSE_STEP, i);
	}
}

/* Which time window holds `now`, -1 = none. */
static int window_at(uint64_t now)
{
	for (uint32_t i = 0; i < plan.count; i++)
		if (plan.ranges[i].unit == TFP_CAUSE_TIME && now >= plan.ranges[i].from && now < plan.ranges[i].to)
			return (int)i;
	return -1;
}

static void look_at_windows(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now)
{
	int has_time = 0;

	for (uint32_t i = 0; i < plan.count; i++)
		has_time |= plan.ranges[i].unit == TFP_CAUSE_TIME;
	if (!has_time)
		return;
	int at = window_at(now + tfp_origin.ticks - tfp_origin.job_ticks);
	/* Only an edge changes anything, so that a signal or the C API can close a time window early or open one by hand. */
	if (at == last_time_window)
		return;
	last_time_window = at;
	if (at >= 0 || opened_by == TFP_CAUSE_TIME)
		change_in(thread, lane, at >= 0, TFP_CAUSE_TIME, at >= 0 ? (uint32_t)at : 0);
}

static void look_at_clock(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now)
{
	uint64_t due = tfp_state->clock_next;

	if (now < due || tfp_sys_is_sealed() ||
	    !__atomic_compare_exchange_n((uint64_t *)&tfp_state->clock_next, &due, now + tfp_state->clock_step * 10, 0,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	if (tfp_state->clock_step * 10 <= tfp_state->second_ticks)
		tfp_state->clock_step *= 10;
	tfp_clock_note(thread, lane);
	tfp_file_sync();
}

void tfp_look(struct tfp_thread *thread, struct tfp_lane *lane)
{
	uint64_t now = tfp_now();

	thread->calls_left = TFP_CALLS_PER_LOOK;
	look_at_windows(thread, lane, now);
	look_at_clock(thread, lane, now);
}

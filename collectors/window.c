/* SPDX-License-Identifier: Apache-2.0 */
/* Capture windows and the slow look that drives them; see collectors/window.h. */
#include "collectors/window.h"

#include "collectors/budget.h"
#include "collectors/gpu_calls.h"
#include "collectors/heap.h"
#include "collectors/process.h"
#include "collectors/slow.h"
#include "collectors/system.h"
#include "writer/drain.h"
#include "writer/file.h"
#include "writer/records.h"
#include "writer/sys.h"

#include <sys/syscall.h>

#include "writer/poison.h"

/* Written by tfp_window_begin, before the first record; then only the edges, by compare-and-swap. Kept across fork. */
static struct tfp_window_plan plan;
static _Atomic uint32_t edges_made; /* odd = a window is open */
_Atomic uint32_t tfp_is_open; /* the same, for others to read */
static _Atomic int opened_by;        /* enum tfp_window_cause; written by who opened */
static _Atomic uint32_t held_by;     /* bits of causes: windows of these hold and were not closed by hand */
static _Atomic int is_closed_by_hand; /* the last edge closed, by the signal or the C API */
_Atomic uint64_t tfp_window_due = UINT64_MAX;
static _Atomic int last_time_window = -1; /* the one that held at the last look */
static _Atomic int last_step_window = -1; /* the one that held at the last step */
static _Atomic int last_launch_window = -1; /* the one that held at the last GPU launch */
static _Atomic int last_slow_window = -1; /* the one that held at the last step behind a slow one */
static _Atomic int last_budget_window = -1; /* one of these, if it held at the last look */
enum { LATER_WINDOW, FIRST_WINDOW /* since the process began */ };

static int is_open_now(void)
{
	return edges_made & 1;
}

static struct {
	int number;
	void (*handler)(int);
} window_signal; /* written by tfp_window_signal */

void tfp_window_signal(int number, void (*handler)(int))
{
	window_signal.number = number;
	window_signal.handler = handler;
}

/* The kernel's own struct; what it calls is its first word. */
void tfp_window_signal_end(void)
{
	struct {
		void (*handler)(int);
		uint64_t rest[7];
	} now;

	if (!window_signal.number || tfp_sys_is_sealed() ||
	    tfp_sys(SYS_rt_sigaction, window_signal.number, 0, (long)&now, sizeof(uint64_t), 0, 0) != 0)
		return;
	if (now.handler != window_signal.handler)
		tfp_fact_pair(TFP_TAG_note, "signal_taken", "it is not ours at the end"); /* Python for one gives its own back */
}

void tfp_window_forked(void)
{
	if (!tfp_budget_begin(tfp_ticks(), is_open_now()))
		return;
	last_budget_window = is_open_now() ? FIRST_WINDOW : -1;
	tfp_window_due = 0;
	if (!is_open_now())
		return;
	opened_by = TFP_CAUSE_BUDGET;
	held_by |= UINT32_C(1) << TFP_CAUSE_BUDGET;
}

void tfp_window_begin(const struct tfp_window_plan *wanted)
{
	plan = *wanted;
	edges_made = plan.is_open_at_start != 0;
	is_closed_by_hand = 0;
	tfp_is_open = (uint32_t)plan.is_open_at_start;
	tfp_heap_set_mode(is_open_now() ? plan.open_mode : plan.closed_mode);
	tfp_window_due = UINT64_MAX;
	for (uint32_t i = 0; i < plan.count; i++) {
		const struct tfp_window_range *range = &plan.ranges[i];
		if (range->unit == TFP_CAUSE_TIME)
			tfp_window_due = 0;
		if (range->unit == TFP_CAUSE_BUDGET)
			tfp_budget_choose(&(struct tfp_budget_rule){range->from, range->to, tfp_state->second_ticks});
	}
	tfp_window_forked();
}

static void put_edge(struct tfp_thread *thread, struct tfp_lane *lane, uint32_t number, enum tfp_window_cause cause, uint32_t index)
{
	TFP_PUT(thread, lane, tfp_now(), window, .is_open = number & 1, .cause = (uint8_t)cause, .index = index,
		.live = plan.closed_mode == TFP_MODE_PASS ? UINT64_MAX : tfp_state->live->live_bytes, .number = number);
}

/* What the collectors obey follows the edges; where another thread has made one meanwhile, whoever stores last sees that. */
static void obey(void)
{
	uint32_t now;

	do {
		now = edges_made;
		tfp_is_open = now & 1;
		tfp_heap_set_mode(now & 1 ? plan.open_mode : plan.closed_mode);
		tfp_state->live->heap_mode = tfp_mode_now;
	} while (now != edges_made);
}

static void change_in(struct tfp_thread *thread, struct tfp_lane *lane, int is_open, enum tfp_window_cause cause,
		      uint32_t index)
{
	uint32_t before = edges_made;

	do {
		if ((before & 1) == (uint32_t)is_open)
			return;
	} while (!__atomic_compare_exchange_n((uint32_t *)&edges_made, &before, before + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	tfp_thread_settle(thread);
	if (lane && lane->pending)
		tfp_heap_flush(thread, lane);
	obey();
	if (is_open)
		opened_by = (int)cause;
	is_closed_by_hand = !is_open && (cause == TFP_CAUSE_SIGNAL || cause == TFP_CAUSE_API);
	if (is_closed_by_hand)
		held_by = 0;
	if (is_open && tfp_drain_has_thread()) /* Python's task begins to look */
		tfp_drain_wake();
	if (lane)
		put_edge(thread, lane, before + 1, cause, index);
	else /* inside a handler that interrupted a handler's record */
		tfp_loss_add(thread, TFP_LOSS_nested, 1, tfp_now());
	tfp_gpu_window(thread, lane, is_open, cause == TFP_CAUSE_LAUNCH);
}

void tfp_window_change(int is_open, enum tfp_window_cause cause, uint32_t index)
{
	struct tfp_thread *thread = tfp_thread_have();

	if (!thread)
		return;
	uint32_t number = tfp_thread_enter(thread);
	if (thread->is_ready != 1)
		return;
	change_in(thread, number <= 1 ? &thread->lanes[number] : NULL, is_open, cause, index);
	tfp_thread_leave(thread);
}

void tfp_window_toggle(enum tfp_window_cause cause)
{
	tfp_window_change(!is_open_now(), cause, 0);
}

/* Step and launch windows hold their last number. A jump over what lies between two turns of a window leaves it as it is. */
static int is_inside(const struct tfp_window_range *range, uint64_t now)
{
	if (now < range->from)
		return 0;
	if (range->every)
		now = range->from + (now - range->from) % range->every;
	return now < range->to || (now == range->to && range->unit != TFP_CAUSE_TIME);
}

/* Which window of that unit holds `now`, a time or a number; -1 = none. */
static int window_at(enum tfp_window_cause unit, uint64_t now)
{
	for (uint32_t i = 0; i < plan.count; i++)
		if (plan.ranges[i].unit == unit && is_inside(&plan.ranges[i], now))
			return (int)i;
	return -1;
}

/* The last number that a window holds. */
static uint64_t last_of(const struct tfp_window_range *range)
{
	return range->every ? UINT64_MAX : range->to;
}

/* Only an edge changes anything, so that a signal or the C API can close a window early or open one by hand. */
static int is_edge(_Atomic int *last, int at)
{
	int before = __atomic_exchange_n((int *)last, at, __ATOMIC_RELAXED);

	return before != at;
}

/*
 * An edge of the windows of one unit: 1 = one opens, or the next one follows at once; 0 = what is open closes; -1 = nothing, it was
 * opened by something else, or a window of another unit goes on.
 */
static int edge_of(enum tfp_window_cause unit, int at)
{
	uint32_t bit = UINT32_C(1) << unit;

	if (at >= 0) {
		__atomic_fetch_or((uint32_t *)&held_by, bit, __ATOMIC_RELAXED);
		return 1;
	}
	uint32_t others = __atomic_and_fetch((uint32_t *)&held_by, ~bit, __ATOMIC_RELAXED);
	if (opened_by != (int)unit)
		return -1;
	if (others)
		opened_by = __builtin_ctz(others);
	return others ? -1 : 0;
}

/*
 * Of one unit the window `at` holds from here on, -1: none; `percent` of TFP_CAUSE_SLOW. Another thread may have moved on before our edge
 * was made: the last to say so is obeyed.
 */
static void change_at(enum tfp_window_cause unit, _Atomic int *last, int at, uint32_t percent)
{
	int before = at;

	if (!is_edge(last, at))
		return;
	do {
		at = before;
		int edge = edge_of(unit, at);
		if (edge >= 0)
			tfp_window_change(edge, unit, unit == TFP_CAUSE_SLOW ? percent : at >= 0 ? (uint32_t)at : 0);
		before = *last;
	} while (before != at);
}

void tfp_window_launch(uint64_t number)
{
	int at = window_at(TFP_CAUSE_LAUNCH, number);

	if (number != tfp_state->gpu_launches) /* another thread's launch came later: that one decides */
		return;
	change_at(TFP_CAUSE_LAUNCH, &last_launch_window, at, 0);
}

void tfp_window_launched(uint64_t number)
{
	if (window_at(TFP_CAUSE_LAUNCH, number) >= 0 && window_at(TFP_CAUSE_LAUNCH, number + 1) < 0)
		change_at(TFP_CAUSE_LAUNCH, &last_launch_window, -1, 0);
}

int tfp_window_takes_launch(uint64_t number)
{
	if (window_at(TFP_CAUSE_LAUNCH, number) >= 0)
		return !is_closed_by_hand;
	return is_open_now() && opened_by != TFP_CAUSE_LAUNCH;
}

int tfp_window_awaits_launch(uint64_t made)
{
	for (uint32_t i = 0; i < plan.count; i++)
		if (plan.ranges[i].unit == TFP_CAUSE_LAUNCH && last_of(&plan.ranges[i]) > made)
			return 1;
	return 0;
}

int tfp_window_awaits_slow(void)
{
	int awaits = 0;

	for (uint32_t i = 0; i < plan.count; i++)
		awaits |= plan.ranges[i].unit == TFP_CAUSE_SLOW;
	return awaits;
}

/* What was recorded of the step that ended is asked before this step's windows open. */
static void look_for_slow(void)
{
	for (uint32_t i = 0; i < plan.count; i++) {
		const struct tfp_window_range *range = &plan.ranges[i];
		struct tfp_slow_rule rule = {.percent = range->from, .steps = range->to, .every = range->every};
		int holds;
		if (range->unit != TFP_CAUSE_SLOW)
			continue;
		uint32_t percent = tfp_slow_step(&rule, tfp_ticks(), is_open_now(), &holds);
		if (holds >= 0)
			change_at(TFP_CAUSE_SLOW, &last_slow_window, holds ? (int)i : -1, percent);
	}
}

/* Which window of the budget holds, now that it says so. */
static int budget_window(int holds)
{
	return !holds ? -1 : last_budget_window == FIRST_WINDOW ? FIRST_WINDOW : LATER_WINDOW;
}

void tfp_window_step(uint64_t number)
{
	look_for_slow();
	int holds = tfp_budget_step(tfp_ticks(), is_open_now());
	if (holds >= 0)
		change_at(TFP_CAUSE_BUDGET, &last_budget_window, budget_window(holds), 0);
	change_at(TFP_CAUSE_STEP, &last_step_window, window_at(TFP_CAUSE_STEP, number), 0);
}

void tfp_window_other_loop(void)
{
	tfp_slow_anew();
	tfp_budget_anew(tfp_ticks());
}

int tfp_window_is_at_step(void)
{
	return last_step_window >= 0 || last_slow_window >= 0 || last_budget_window == LATER_WINDOW;
}

uint64_t tfp_window_last_step(void)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < plan.count; i++) {
		const struct tfp_window_range *range = &plan.ranges[i];
		int is_open_ended = range->unit == TFP_CAUSE_SLOW || range->unit == TFP_CAUSE_BUDGET;
		uint64_t its_last = is_open_ended ? UINT64_MAX : range->unit == TFP_CAUSE_STEP ? last_of(range) : 0;
		last = its_last > last ? its_last : last;
	}
	return last;
}

static uint64_t add(uint64_t one, uint64_t other)
{
	return one > UINT64_MAX - other ? UINT64_MAX : one + other;
}

/* When that window opens or closes next; UINT64_MAX = never. */
static uint64_t next_edge(const struct tfp_window_range *range, uint64_t now)
{
	uint64_t from = range->from, length = range->to - range->from;

	if (now < from)
		return from;
	from += range->every ? (now - from) / range->every * range->every : 0;
	if (now - from < length)
		return add(from, length);
	return range->every ? add(from, range->every) : UINT64_MAX;
}

static void look_at_windows(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now)
{
	uint64_t budget_due, due = UINT64_MAX, time = now + tfp_origin.ticks - tfp_origin.job_ticks;

	if (!tfp_window_is_due(now))
		return;
	int at = window_at(TFP_CAUSE_TIME, time);
	int edge = is_edge(&last_time_window, at) ? edge_of(TFP_CAUSE_TIME, at) : -1;
	if (edge >= 0)
		change_in(thread, lane, edge, TFP_CAUSE_TIME, at >= 0 ? (uint32_t)at : 0);
	int holds = tfp_budget_look(now + tfp_origin.ticks, &budget_due);
	edge = holds >= 0 && is_edge(&last_budget_window, budget_window(holds)) ? edge_of(TFP_CAUSE_BUDGET, budget_window(holds)) : -1;
	if (edge >= 0)
		change_in(thread, lane, edge, TFP_CAUSE_BUDGET, 0);
	for (uint32_t i = 0; i < plan.count; i++)
		if (plan.ranges[i].unit == TFP_CAUSE_TIME && next_edge(&plan.ranges[i], time) < due)
			due = next_edge(&plan.ranges[i], time);
	due = add(due, tfp_origin.job_ticks);
	tfp_window_due = due < budget_due ? due : budget_due; /* threads that look at once store in any order: an early one looks again */
}

int tfp_window_pass(void)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread = tfp_self;

	if (thread && thread->is_ready == 1 && !thread->is_own && tfp_window_is_due(tfp_now()) &&
	    (thread = tfp_thread_enter_lane(thread, &lane)) != NULL) {
		tfp_look(thread, lane);
		tfp_thread_leave(thread);
	}
	return (int)tfp_is_open;
}

uint32_t tfp_window_look(struct tfp_thread *self)
{
	look_at_windows(self, &self->lanes[0], tfp_now());
	uint64_t due = tfp_window_due, now = tfp_ticks();
	if (due == UINT64_MAX)
		return UINT32_MAX;
	uint64_t ms = due > now ? (due - now) / (tfp_state->second_ticks / 1000) + 1 : 1;
	return ms < UINT32_MAX / 2 ? (uint32_t)ms : UINT32_MAX / 2;
}

static void look_at_clock(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now)
{
	uint64_t due = tfp_state->clock_next;

	if (now < due || tfp_sys_is_sealed() ||
	    !__atomic_compare_exchange_n((uint64_t *)&tfp_state->clock_next, &due, now + tfp_state->clock_step * 10, 0,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	if (tfp_state->clock_step * 100 <= tfp_state->second_ticks) /* 1, 10, 100 ms: the next one is ten steps away */
		tfp_state->clock_step *= 10;
	tfp_clock_note(thread, lane);
	tfp_file_sync_some();
}

void tfp_look(struct tfp_thread *thread, struct tfp_lane *lane)
{
	uint64_t now = tfp_now();

	thread->calls_left = TFP_CALLS_PER_LOOK;
	look_at_windows(thread, lane, now);
	look_at_clock(thread, lane, now);
	tfp_system_look(thread, lane, now);
	tfp_heap_point(thread, lane);
}

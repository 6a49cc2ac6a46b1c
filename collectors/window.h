/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capture windows: when the collectors record, and the records that say so.
 *
 * Rule: a window's edge is where the recorder really changed over, and that moment is in the log. Windows by time are looked at every
 * TFP_CALLS_PER_LOOK hooked calls, at each call that comes seldom (a read, a range, a step), and by our thread where there is one; a
 * signal or the C API change over at once.
 */
#ifndef TFP_COLLECTORS_WINDOW_H
#define TFP_COLLECTORS_WINDOW_H

#include "writer/stream.h"

enum tfp_window_cause {
	TFP_CAUSE_START = 0,
	TFP_CAUSE_TIME = 1,
	TFP_CAUSE_SIGNAL = 2,
	TFP_CAUSE_API = 3,
	TFP_CAUSE_STEP = 4,
	TFP_CAUSE_LAUNCH = 5,
	TFP_CAUSE_LIMIT = 6,
	TFP_CAUSE_SLOW = 7, /* its edge's index: by how many percent the step before was longer */
	TFP_CAUSE_BUDGET = 8,
};

#define TFP_WINDOWS 16

/*
 * One window: [from, to) in ticks since the job's first process began, or an inclusive range of step or launch numbers; where
 * `every` is not 0, the same again so much later, and so on. TFP_CAUSE_SLOW, at most one: percent, steps, every of struct tfp_slow_rule;
 * TFP_CAUSE_BUDGET, at most one, open at the start: percent, steps of struct tfp_budget_rule.
 */
struct tfp_window_range {
	enum tfp_window_cause unit;
	uint64_t from, to, every;
};

struct tfp_window_plan {
	uint32_t count; /* 0: always open, or only opened by hand */
	int is_open_at_start;
	enum tfp_mode open_mode, closed_mode;
	struct tfp_window_range ranges[TFP_WINDOWS];
};

/* Sets the plan and the first mode. Start-up only, before the first record; a fork child keeps its parent's plan. */
void tfp_window_begin(const struct tfp_window_plan *plan);

/* Whether a window is open: what the collectors that have no mode of their own obey. Written by window.c; kept across fork. */
extern _Atomic uint32_t tfp_is_open TFP_HIDDEN;

/* Signal `number` goes to `handler`, which opens and closes; 0: none does. Start-up only; kept across fork, as handlers are. */
void tfp_window_signal(int number, void (*handler)(int));
/* At the process's end: the log says so where the program has taken that signal for itself, so that it opened nothing. */
void tfp_window_signal_end(void);

/* When the next edge by time is due, in ticks of the clock; UINT64_MAX: there is none. Kept across fork. */
extern _Atomic uint64_t tfp_window_due TFP_HIDDEN;

static inline int tfp_window_is_due(uint64_t now) /* as tfp_now() */
{
	return tfp_window_due != UINT64_MAX && now + tfp_origin.ticks >= tfp_window_due;
}

/* A call that comes seldom, outside of any lane: it looks whether a window by time opens or closes. Whether one is open then. */
int tfp_window_pass(void);
static inline int tfp_window_came(void)
{
	return tfp_window_due != UINT64_MAX && tfp_window_pass();
}

/* The same, by our thread. Milliseconds until the next edge by time, UINT32_MAX = there is none. */
uint32_t tfp_window_look(struct tfp_thread *self);

/* Opens or closes now. Any thread, any context (also a signal handler). */
void tfp_window_change(int is_open, enum tfp_window_cause cause, uint32_t index);
void tfp_window_toggle(enum tfp_window_cause cause);

/*
 * Around GPU launch `number` of this process, counted from 1: opens before the first launch of a window, closes after its
 * last. Of launches that several threads make at once the newest decides. takes: whether a window holds that launch, also
 * where another thread's later launch has moved its edge meanwhile, but not once it was closed by hand. awaits: after `made`
 * launches, whether a later one can open a window.
 */
void tfp_window_launch(uint64_t number);
void tfp_window_launched(uint64_t number);
int tfp_window_takes_launch(uint64_t number);
int tfp_window_awaits_launch(uint64_t made);

/* The host began step `number`: opens and closes step windows. */
void tfp_window_step(uint64_t number);

/* The next step is another loop's than those before: they say nothing of what is slow. */
void tfp_window_other_loop(void);

/* A budget's first window, in a fork child as well, whose steps are its own. */
void tfp_window_forked(void);

/* Whether a window of steps, of what follows a slow one or of a budget (but the process's first) held the last step; others may be open. */
int tfp_window_is_at_step(void);

/* Whether the plan has a window behind slow steps. */
int tfp_window_awaits_slow(void);

/* The last step that a window of the plan holds, or may; UINT64_MAX = there is always another, 0 = no window is of steps. */
uint64_t tfp_window_last_step(void);

/* Enters a hook that records only while a window is open. NULL: none is, or the library itself is calling. */
static inline __attribute__((always_inline)) struct tfp_thread *tfp_window_enter(struct tfp_lane **lane)
{
	struct tfp_thread *thread = tfp_self;

	if (!tfp_is_open)
		return NULL;
	if (!thread || thread->is_ready != 1)
		thread = tfp_thread_start();
	return thread && !thread->is_own ? tfp_thread_enter_lane(thread, lane) : NULL;
}

#endif

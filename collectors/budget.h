/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording may cost: windows that close once enough steps were recorded, and open again when that is paid for.
 *
 * Rule: a window opens with the process and holds so many steps. What it cost is the median of the steps in it, less that of those before
 * and behind it of which nothing was recorded, times its steps. The next one opens when that is no more than so many percent of the time
 * since this one opened and after a second at least, as to open and close costs as well, with a step whose number in its loop less 1 is a
 * multiple of twice the window's steps, or of that doubled until it pays: ranks in lockstep so record the same steps. Where no steps
 * come, a window lasts TFP_BUDGET_FIRST seconds (or as long as so many steps may take, where their time is known), and then so many
 * percent of the time, as if recording doubled it. Where several threads take steps at once a step ends with the next one of any of them.
 */
#ifndef TFP_COLLECTORS_BUDGET_H
#define TFP_COLLECTORS_BUDGET_H

#include <stdint.h>

#define TFP_BUDGET_KEPT 32   /* steps whose times are known, before, in, and behind a window each */
#define TFP_BUDGET_FIRST 300 /* seconds: the first window, or one that a step opened, where no steps come */
#define TFP_BUDGET_LATER 10  /* one that opens because none come */

/* percent: of the time; steps: recorded in one window; second: in ticks. */
struct tfp_budget_rule {
	uint64_t percent, steps, second;
};

/* The rule, which fork children keep. Until then there is no budget, and what follows answers -1. */
void tfp_budget_choose(const struct tfp_budget_rule *rule);

/* The process begins, a fork child as well, with or without an open window. Returns whether there is a budget. `now`: ticks. */
int tfp_budget_begin(uint64_t now, int is_open);

/*
 * The host begins a step at `now`; is_recording: whether a window is open, whatever opened it. Returns whether this window holds from
 * here on; -1 = another thread asks just now, and that one says. Any thread, any context.
 */
int tfp_budget_step(uint64_t now, int is_recording);

/* The same, where no step need have begun. *due: when to ask again; UINT64_MAX = never. */
int tfp_budget_look(uint64_t now, uint64_t *due);

/* The steps are another loop's from now on. Any thread, any context. */
void tfp_budget_anew(uint64_t now);

#endif

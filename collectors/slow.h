/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that took much longer than those before them: what a window `slow:` opens behind.
 *
 * Rule: only steps count of which nothing was recorded, as recording makes them longer. A step is slow where it took longer than
 * all but one of the 15 before it by so much: what comes each few steps (an evaluation, a checkpoint) is usual, and so is, from its
 * third step on, what stays slow. Where several threads take steps at once a step ends with the next one of any of them.
 */
#ifndef TFP_COLLECTORS_SLOW_H
#define TFP_COLLECTORS_SLOW_H

#include <stdint.h>

#define TFP_SLOW_BEFORE 15 /* steps that one is held against */

/* percent: longer by that; steps: recorded behind it; every: so many steps from there to the next such window at least. */
struct tfp_slow_rule {
	uint64_t percent, steps, every;
};

/*
 * The host begins a step at `now`, in ticks; is_recording: whether a window is open. Returns by how many percent the step that ended was
 * longer, where it was slow, at most UINT32_MAX; 0 = it was not. *holds: whether the steps behind a slow one go on with this one; -1 =
 * another thread's step begins just now, and that one says.
 * Any thread, any context.
 */
uint32_t tfp_slow_step(const struct tfp_slow_rule *rule, uint64_t now, int is_recording, int *holds);

/* The newest slow step, from its begin to its end in ticks; `number` of all so far, 0 = there was none. Any thread. */
struct tfp_slow_found {
	uint64_t number, from, to;
};
struct tfp_slow_found tfp_slow_last(void);

/* The steps are another loop's from now on, which knows nothing yet. Any thread, any context. */
void tfp_slow_anew(void);

/* In a fork child, whose parent's other threads are not there. */
void tfp_slow_forked(void);

#endif

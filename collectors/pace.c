/* SPDX-License-Identifier: Apache-2.0 */
/* How often our own thread looks; see collectors/pace.h. */
#include "collectors/pace.h"

#include "writer/poison.h"

#define WAKE_NS 40000      /* of a look that it does not see itself: to wake and to wait again */
#define SHARE 200          /* of a processor's time one part is meant to go into this */
#define GAP_MS 2000        /* a longer time between two looks is nobody's: we were stopped, or the program forked; */
#define GAP_TIMES 4        /* where looks are rarer, so many times what was planned */
#define COST_LOOKS 8       /* what a look costs is the mean of about so many: else the place where they are dear had longer gaps */
#define REST_AFTER_MS 1000 /* nothing has run for so long: looks are four times as rare */

void tfp_pace_begin(struct tfp_pace *pace)
{
	*pace = (struct tfp_pace){.random = tfp_ticks(), .gap = tfp_pace_ticks(GAP_MS)};
}

uint32_t tfp_pace_next(struct tfp_pace *pace, uint32_t period_ms, uint64_t now, uint64_t cost_ns)
{
	pace->cost_ns = (pace->cost_ns * (COST_LOOKS - 1) + cost_ns + WAKE_NS) / COST_LOOKS;
	pace->random = pace->random * UINT64_C(6364136223846793005) + 1442695040888963407;
	uint64_t least = pace->cost_ns * SHARE / 1000000, ms = period_ms / 2 + (pace->random >> 33) % (period_ms + 1);
	if (now - pace->ran > tfp_pace_ticks(REST_AFTER_MS))
		ms *= 4;
	/* Drawn, too: no multiple of anything. */
	ms = ms > least ? ms : least / 2 + (pace->random >> 33) % (least + 1);
	ms = ms ? ms : 1;
	pace->due = now + tfp_pace_ticks(ms);
	pace->gap = tfp_pace_ticks(ms * GAP_TIMES > GAP_MS ? ms * GAP_TIMES : GAP_MS);
	return (uint32_t)ms;
}

uint32_t tfp_pace_wait(const struct tfp_pace *pace, uint64_t now, uint32_t edge_ms)
{
	if (now >= pace->due)
		return 0;
	uint32_t ms = (uint32_t)((pace->due - now) / tfp_pace_ticks(1)) + 1;
	return edge_ms < ms ? edge_ms : ms;
}

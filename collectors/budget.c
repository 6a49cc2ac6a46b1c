/* SPDX-License-Identifier: Apache-2.0 */
/* What recording may cost; see collectors/budget.h. */
#include "collectors/budget.h"

#include <stddef.h>

#include "writer/poison.h"

#define STEPS_LONGER 4 /* a window may last so many times as long as its steps usually would */

struct times {
	uint32_t count, next;
	uint64_t ticks[TFP_BUDGET_KEPT];
};

/* Written by tfp_budget_choose; percent 0 = there is no budget. Kept across fork. */
static struct tfp_budget_rule rule;

/* Written by who has taken it. Kept across fork. */
static struct {
	_Atomic uint64_t taken;              /* ticks since when somebody is in here; 0 = nobody */
	int holds;                           /* the window */
	int has_begun, was_recording;        /* the step that ends now: is there one; was a window open when it began */
	uint64_t begun;                      /* ticks: when it did */
	uint64_t opened, closed;             /* ticks: the window's last edges */
	uint64_t least;                      /* seconds that it lasts, where no steps come */
	uint64_t made;                       /* steps that began since the last edge */
	uint64_t held;                       /* steps that the last window held */
	uint64_t all;                        /* steps of this loop */
	uint64_t usual;                      /* one of which nothing was recorded, ticks; 0 = not known */
	uint64_t cost;                       /* of the last window whose cost is known, ticks */
	struct times before, inside, behind; /* of steps: with nothing recorded, until the window opened; in it; since it closed */
	uint64_t sorted[2 * TFP_BUDGET_KEPT]; /* scratch; a signal handler's stack may be small */
} seen;

/* Who has been in here for a second is not coming back: a signal handler left it by longjmp. Nobody gets in without a budget. */
static int take(uint64_t now)
{
	uint64_t since = 0, mine = now | 1;

	if (!rule.percent)
		return 0;
	if (__atomic_compare_exchange_n((uint64_t *)&seen.taken, &since, mine, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return 1;
	return now > since && now - since > rule.second &&
	       __atomic_compare_exchange_n((uint64_t *)&seen.taken, &since, mine, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void leave(void)
{
	__atomic_store_n((uint64_t *)&seen.taken, 0, __ATOMIC_RELEASE);
}

static void forget_steps(void)
{
	seen.has_begun = 0;
	seen.all = 0;
	seen.before.count = seen.inside.count = seen.behind.count = 0;
	seen.before.next = seen.inside.next = seen.behind.next = 0;
}

static void remember(struct times *times, uint64_t time)
{
	times->ticks[times->next] = time;
	times->next = (times->next + 1) % TFP_BUDGET_KEPT;
	times->count += times->count < TFP_BUDGET_KEPT;
}

/* Of both together, the lower one of two in the middle; 0 where there is none. */
static uint64_t median(const struct times *one, const struct times *other)
{
	uint64_t *sorted = seen.sorted;
	uint32_t count = 0;

	for (uint32_t i = 0; i < one->count + other->count; i++) {
		uint64_t time = i < one->count ? one->ticks[i] : other->ticks[i - one->count];
		uint32_t at = count++;
		for (; at > 0 && sorted[at - 1] > time; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = time;
	}
	return count ? sorted[(count - 1) / 2] : 0;
}

/* The window that closed last, once there are steps behind it. Nothing is said where it held no whole step, or none is known beside it. */
static void reckon(void)
{
	static const struct times none;

	if (!seen.inside.count || (!seen.before.count && !seen.behind.count))
		return;
	uint64_t recorded = median(&seen.inside, &none);
	seen.usual = median(&seen.before, &seen.behind);
	seen.cost = recorded > seen.usual ? (recorded - seen.usual) * seen.held : 0;
}

static void open_at(uint64_t now, uint64_t made, uint64_t least)
{
	seen.before = seen.behind;
	seen.inside.count = seen.inside.next = seen.behind.count = seen.behind.next = 0;
	seen.holds = 1;
	seen.opened = now;
	seen.least = least;
	seen.made = made;
}

static void close_at(uint64_t now, uint64_t made)
{
	seen.behind.count = seen.behind.next = 0;
	seen.holds = 0;
	seen.closed = now;
	seen.held = seen.made;
	seen.made = made;
}

/* How long `cost` must last so that it is no more than so many percent. */
static uint64_t paid_in(uint64_t cost)
{
	uint64_t hundreds = cost / rule.percent;

	return hundreds > UINT64_MAX / 200 ? UINT64_MAX / 2 : hundreds * 100 + cost % rule.percent * 100 / rule.percent;
}

void tfp_budget_choose(const struct tfp_budget_rule *wanted)
{
	rule = *wanted;
}

int tfp_budget_begin(uint64_t now, int is_open)
{
	uint64_t length = TFP_BUDGET_FIRST * rule.second;

	if (!rule.percent)
		return 0;
	forget_steps();
	seen.cost = seen.usual = 0;
	open_at(is_open || now < length ? now : now - length, 0, TFP_BUDGET_FIRST);
	if (!is_open)
		close_at(now, 0);
	leave();
	return 1;
}

/*
 * Whether a window may open with the step that begins: only with one of a grid, whose width doubles until it pays. Processes that take
 * their steps together so record the same ones; else each would hold its own cost against steps that another one's recording made longer.
 */
static int is_on_grid(uint64_t wait)
{
	uint64_t width = 2 * rule.steps;

	while (seen.usual && width < UINT64_MAX / 2 && width < (wait - 1) / seen.usual + 1)
		width *= 2;
	return (seen.all - 1) % width == 0;
}

/* The step that ended was in a window, or outside, as a whole. */
static void end_step(uint64_t now, int is_recording)
{
	if (seen.has_begun && !seen.was_recording == !is_recording && now >= seen.begun)
		remember(is_recording ? &seen.inside : &seen.behind, now - seen.begun);
	seen.has_begun = 1;
	seen.begun = now;
}

int tfp_budget_step(uint64_t now, int is_recording)
{
	if (!take(now))
		return -1;
	end_step(now, is_recording);
	seen.made++;
	seen.all++;
	int is_over = seen.made > rule.steps;
	if (is_over && seen.holds) {
		seen.made--; /* the one that begins is not held */
		close_at(now, 1);
	} else if (is_over && !seen.holds) {
		if (seen.made == rule.steps + 1)
			reckon();
		uint64_t paid = paid_in(seen.cost), wait = paid > rule.second ? paid : rule.second;
		if (is_on_grid(wait) && now >= seen.opened && now - seen.opened >= wait)
			open_at(now, 1, TFP_BUDGET_FIRST);
	}
	seen.was_recording = seen.holds || is_recording;
	int holds = seen.holds;
	leave();
	return holds;
}

/* How long the window may last. */
static uint64_t longest(void)
{
	uint64_t usual = median(&seen.before, &seen.inside), least = seen.least * rule.second;
	uint64_t steps = usual > UINT64_MAX / STEPS_LONGER / rule.steps ? UINT64_MAX : usual * STEPS_LONGER * rule.steps;

	return steps > least ? steps : least;
}

static uint64_t quiet_since(void)
{
	return seen.has_begun && seen.begun > seen.closed ? seen.begun : seen.closed;
}

/* Without steps: as if all that was recorded had taken twice as long. */
static uint64_t pause(void)
{
	uint64_t lasted = seen.closed > seen.opened ? seen.closed - seen.opened : 0, least = TFP_BUDGET_LATER * rule.second;

	return paid_in(lasted > least ? lasted : least);
}

int tfp_budget_look(uint64_t now, uint64_t *due)
{
	if (!take(now)) {
		*due = rule.percent ? now : UINT64_MAX;
		return -1;
	}
	uint64_t from = seen.holds ? seen.opened : quiet_since(), wait = seen.holds ? longest() : pause();
	if (now >= from && now - from >= wait) {
		if (seen.holds)
			close_at(now, 0);
		else
			open_at(now, 0, TFP_BUDGET_LATER);
		*due = now;
	} else {
		*due = from > UINT64_MAX - wait ? UINT64_MAX : from + wait;
		if (!seen.holds && *due > now + TFP_BUDGET_FIRST * rule.second) /* a step may open one meanwhile, which must end */
			*due = now + TFP_BUDGET_FIRST * rule.second;
	}
	int holds = seen.holds;
	leave();
	return holds;
}

void tfp_budget_anew(uint64_t now)
{
	if (!take(now))
		return;
	forget_steps();
	leave();
}

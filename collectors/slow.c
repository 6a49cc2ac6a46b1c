/* SPDX-License-Identifier: Apache-2.0 */
/* Slow steps; see collectors/slow.h. */
#include "collectors/slow.h"

#include <stddef.h>

#include "writer/poison.h"

/* Written by who holds is_taken. Kept across fork. */
static struct {
	_Atomic uint32_t is_taken;
	uint32_t known;			/* of times: steps so far, 15 at most */
	uint32_t next;			/* its place for the next one */
	int has_begun, was_recording;	/* the step that ends now: is there one; was a window open when it began */
	uint64_t begun;			/* ticks */
	uint64_t made, until, again;	/* steps; up to before which the window holds; from which on there may be another one */
	uint64_t times[TFP_SLOW_BEFORE]; /* ticks */
} seen;

static _Atomic uint64_t found_number, found_from, found_to; /* as struct tfp_slow_found; the number is stored last */

void tfp_slow_forked(void)
{
	seen.is_taken = 0;
	seen.has_begun = 0;
}

/* The longest time but one. */
static uint64_t usual(void)
{
	uint64_t longest = 0, second = 0;

	for (size_t i = 0; i < TFP_SLOW_BEFORE; i++) {
		if (seen.times[i] > longest) {
			second = longest;
			longest = seen.times[i];
		} else if (seen.times[i] > second) {
			second = seen.times[i];
		}
	}
	return second;
}

/* By how many percent `time` is longer than what is usual. */
static uint64_t longer_by(uint64_t time)
{
	uint64_t before = seen.known == TFP_SLOW_BEFORE ? usual() : 0;

	if (!before || time <= before)
		return 0;
	uint64_t more = time - before;
	return more > UINT64_MAX / 100 ? UINT32_MAX : more * 100 / before;
}

static void remember(uint64_t time)
{
	seen.times[seen.next] = time;
	seen.next = (seen.next + 1) % TFP_SLOW_BEFORE;
	seen.known += seen.known < TFP_SLOW_BEFORE;
}

static uint32_t look(const struct tfp_slow_rule *rule, uint64_t now, int is_recording)
{
	uint64_t percent = 0;

	if (seen.has_begun && !seen.was_recording && !is_recording && now >= seen.begun) {
		percent = longer_by(now - seen.begun);
		remember(now - seen.begun);
	}
	if (percent < rule->percent || seen.made < seen.again)
		percent = 0;
	if (percent) {
		seen.until = seen.made + rule->steps;
		seen.again = seen.made + rule->every;
		found_from = seen.begun;
		found_to = now;
		found_number++;
	}
	seen.has_begun = 1;
	seen.begun = now;
	return percent < UINT32_MAX ? (uint32_t)percent : UINT32_MAX;
}

struct tfp_slow_found tfp_slow_last(void)
{
	struct tfp_slow_found found;

	do {
		found.number = found_number;
		found.from = found_from;
		found.to = found_to;
	} while (found.number != found_number);
	return found;
}

void tfp_slow_anew(void)
{
	if (__atomic_exchange_n((uint32_t *)&seen.is_taken, 1, __ATOMIC_ACQUIRE))
		return;
	seen.known = seen.next = 0;
	seen.has_begun = 0;
	__atomic_store_n((uint32_t *)&seen.is_taken, 0, __ATOMIC_RELEASE);
}

uint32_t tfp_slow_step(const struct tfp_slow_rule *rule, uint64_t now, int is_recording, int *holds)
{
	if (__atomic_exchange_n((uint32_t *)&seen.is_taken, 1, __ATOMIC_ACQUIRE)) {
		*holds = -1;
		return 0;
	}
	uint32_t percent = look(rule, now, is_recording);
	*holds = seen.made < seen.until;
	seen.was_recording = is_recording || *holds;
	seen.made++;
	__atomic_store_n((uint32_t *)&seen.is_taken, 0, __ATOMIC_RELEASE);
	return percent;
}

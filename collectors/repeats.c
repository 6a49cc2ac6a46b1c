/* SPDX-License-Identifier: Apache-2.0 */
/* What repeats among calls; see collectors/repeats.h. */
#include "collectors/repeats.h"

#include "collectors/python.h"
#include "collectors/ranges.h"
#include "collectors/window.h"

#include "writer/poison.h"

#define RING 4096u     /* words that are remembered; a power of two */
#define LONGEST 4095u  /* words of a round: all of one are remembered */
#define LEAST 4u       /* words in a row that come again, also where a round is one word */
#define KINDS 2048u    /* different words that are counted; a power of two. Those beyond are not told apart */
#define KINDS_USED 1792u
#define CANDIDATES 8u
#define RARER 2u	/* times: a longer round holds the words that steps began with at least so often */
#define SETTLED_BY 4u	/* rounds that there were at least, when they were found */
#define SHORT_PART 1000u /* of a second: steps that take less may be layers */
#define LEAST_PART 40000u /* of a second: rounds that take less are no steps. JAX frees a step's arrays one after the other, in 2 to 7 us */
#define LONGER_FOR 100u /* steps behind the last window that a loop goes on for, and as many as before: it was no overture */

struct kind {
	uint64_t word; /* 0 = free */
	uint32_t count, first, last; /* places in the sequence */
};

/* A distance at which words came again. */
struct candidate {
	uint32_t length, alike; /* words in a row; halved where one differs, for a word too many is no end */
	uint32_t run;		/* of them since one differed */
	uint64_t since;		/* when that was, or when the last round of these ended */
};

_Atomic uint32_t tfp_repeats_is_wanted;

/*
 * Kept across fork. Written by who holds `is_taken`, but for `votes` and `is_other`.
 * Whoever meets another one in here leaves its word out: a handler, or
 * before there is an anchor another thread.
 */
static struct {
	_Atomic uint32_t is_taken, is_settled;
	const void *_Atomic thread; /* whose words these are */
	_Atomic uint32_t votes;	    /* its words beyond those of others */
	_Atomic uint32_t anchor;    /* the kind that steps begin with, 0 = none yet */
	uint32_t made, kinds_used;
	uint32_t length;		   /* of a round of it */
	uint32_t anchor_count;		   /* how often it had come when it was found, */
	uint64_t anchor_since;		   /* when that was, */
	uint32_t anchor_made;		   /* and its place in the sequence */
	_Atomic int is_other;		   /* it has not begun a step yet */
	uint16_t ring[RING];		   /* kinds, by their place + 1; 0 = not told apart */
	struct kind kinds[KINDS];
	struct candidate candidates[CANDIDATES];
	uint16_t times[KINDS + 1]; /* scratch: of a kind in one round, by its place + 1 */
} seen;

void tfp_repeats_begin(void)
{
	tfp_repeats_is_wanted = tfp_window_last_step() != 0;
}

void tfp_repeats_settle(void)
{
	seen.is_settled = 1;
}

void tfp_repeats_forked(void)
{
	seen.is_taken = 0;
}

static uint32_t find_kind(uint64_t word)
{
	uint32_t at = (uint32_t)((word * UINT64_C(0x9e3779b97f4a7c15)) >> 40);

	word += word == 0;
	for (uint32_t i = 0; i < KINDS; i++) {
		struct kind *kind = &seen.kinds[(at + i) % KINDS];
		if (kind->word == word)
			return (at + i) % KINDS + 1;
		if (kind->word == 0 && seen.kinds_used == KINDS_USED)
			return 0;
		if (kind->word == 0) {
			seen.kinds_used++;
			*kind = (struct kind){.word = word, .first = seen.made};
			return (at + i) % KINDS + 1;
		}
	}
	return 0;
}

/* Another thread than the one that is followed made a word. Returns whether its words are to be followed. */
static int outvotes(void)
{
	uint32_t votes = seen.votes;

	if (seen.anchor != 0)
		return 0;
	while (votes > 0 && !__atomic_compare_exchange_n((uint32_t *)&seen.votes, &votes, votes - 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return votes == 0;
}

static void begin_anew(const void *thread)
{
	seen.thread = thread;
	seen.votes = 0;
	seen.made = seen.kinds_used = 0;
	seen.anchor = 0;
	seen.is_settled = 0;
	for (uint32_t i = 0; i < KINDS; i++)
		seen.kinds[i] = (struct kind){0};
	for (uint32_t i = 0; i < CANDIDATES; i++)
		seen.candidates[i] = (struct candidate){0};
}

static uint32_t kind_before(uint32_t back)
{
	return seen.ring[(seen.made - back) % RING];
}

/*
 * The kind that steps begin with, by the round that the last `length` words are; 0 = none stands there once. Words of the loop alone have
 * come least often; of those that have already come again in the round under way once more.
 */
static uint32_t find_anchor(uint32_t length)
{
	uint32_t fewest = UINT32_MAX, best = 0, behind = 1; /* behind: no word of the fewest is nearer */

	for (uint32_t back = 0; back < length; back++)
		seen.times[kind_before(back)] = 0;
	for (uint32_t back = 0; back < length; back++)
		seen.times[kind_before(back)]++;
	for (uint32_t back = 0; back < length; back++) {
		uint32_t kind = kind_before(back);
		if (kind && seen.times[kind] == 1 && seen.kinds[kind - 1].count < fewest)
			fewest = seen.kinds[kind - 1].count;
	}
	for (uint32_t back = 0; back < length; back++) {
		uint32_t kind = kind_before(back);
		if (!kind || seen.times[kind] != 1)
			continue;
		const struct kind *one = &seen.kinds[kind - 1];
		behind &= one->count != fewest;
		if ((one->count == fewest || (behind && one->count == fewest + 1)) &&
		    (best == 0 || one->first < seen.kinds[best - 1].first))
			best = kind;
	}
	return best;
}

/* Whether the steps found before have not come for so long that their loop is over: where a window was open, longer than they came for. */
static int is_past(uint32_t length)
{
	const struct kind *old = &seen.kinds[seen.anchor - 1];
	uint32_t absent = seen.made - old->last, round = length > seen.length ? length : seen.length;

	return absent > 2 * round && (!seen.is_settled || absent > old->last - seen.anchor_made + SETTLED_BY * seen.length);
}

/* Whether such rounds are the steps, and not those found before: their loop is over, or they are layers of these. */
static int takes_over(uint32_t length, uint32_t anchor, uint64_t now, uint64_t second)
{
	const struct kind *old = &seen.kinds[seen.anchor - 1];

	int past = is_past(length);

	if (past || seen.is_settled)
		return past;
	return seen.kinds[anchor - 1].count * RARER <= old->count &&
	       now - seen.anchor_since < (uint64_t)(old->count - seen.anchor_count + 1) * (second / SHORT_PART);
}

static void take_round(uint32_t length, uint64_t now, uint64_t second)
{
	uint32_t anchor = find_anchor(length);

	if (anchor == 0 || anchor == seen.anchor || (seen.anchor != 0 && !takes_over(length, anchor, now, second)))
		return;
	seen.anchor = anchor;
	seen.length = length;
	seen.anchor_count = seen.kinds[anchor - 1].count;
	seen.anchor_since = now;
	seen.anchor_made = seen.made;
	seen.is_settled = 0;
	seen.is_other = 1;
}

/* Nothing counts of rounds in a rush, not even where a wait lies between two such. */
static void end_round(struct candidate *candidate, uint64_t now, uint64_t second)
{
	if (now - candidate->since < second / LEAST_PART)
		candidate->alike = 0;
	candidate->since = now;
}

static int is_round(const struct candidate *candidate)
{
	return candidate->alike >= LEAST && candidate->alike >= 2 * candidate->length &&
	       candidate->run >= candidate->length; /* less may lie between a step's waits */
}

/* A distance is followed from the first time that a word comes again at it; the least proved one makes room. */
static void follow(uint32_t length, uint64_t now)
{
	struct candidate *least = &seen.candidates[0];

	for (uint32_t i = 0; i < CANDIDATES; i++) {
		struct candidate *candidate = &seen.candidates[i];
		if (candidate->length == length)
			return;
		if (candidate->alike < least->alike)
			least = candidate;
	}
	*least = (struct candidate){.length = length, .alike = 1, .since = now};
}

static void compare(uint32_t kind, uint64_t now, uint64_t second)
{
	for (uint32_t i = 0; i < CANDIDATES; i++) {
		struct candidate *candidate = &seen.candidates[i];
		if (candidate->length == 0 || candidate->length > seen.made)
			continue;
		if (kind == 0 || kind_before(candidate->length) != kind) {
			candidate->alike /= 2;
			candidate->run = 0;
			candidate->since = now;
			continue;
		}
		candidate->alike += candidate->alike < UINT32_MAX;
		candidate->run += candidate->run < UINT32_MAX;
		if (candidate->run % candidate->length == 0)
			end_round(candidate, now, second);
		if (candidate->alike % candidate->length == 0 && is_round(candidate))
			take_round(candidate->length, now, second);
	}
}

static uint64_t add(uint64_t word, uint64_t now, uint64_t second)
{
	uint32_t number = find_kind(word);

	if (number == 0 && (seen.anchor == 0 || is_past(0))) { /* the words of what came before the loop fill the table */
		begin_anew(seen.thread);
		number = find_kind(word);
	}
	struct kind *kind = number ? &seen.kinds[number - 1] : NULL;

	seen.ring[seen.made % RING] = (uint16_t)number;
	if (kind)
		kind->count++;
	compare(number, now, second);
	if (kind && kind->count > 1 && seen.made - kind->last <= LONGEST)
		follow(seen.made - kind->last, now);
	if (kind)
		kind->last = seen.made;
	seen.made++;
	return number != 0 && number == seen.anchor ? kind->count : 0;
}

uint64_t tfp_repeats_step(const void *thread, uint64_t word, uint64_t now, uint64_t second)
{
	uint64_t step = 0;

	if (seen.thread != thread && !outvotes())
		return 0;
	if (__atomic_exchange_n((uint32_t *)&seen.is_taken, 1, __ATOMIC_ACQUIRE))
		return 0;
	if (seen.thread != thread && seen.anchor == 0)
		begin_anew(thread);
	if (seen.thread == thread) {
		__atomic_fetch_add((uint32_t *)&seen.votes, seen.votes < UINT32_MAX, __ATOMIC_RELAXED);
		step = add(word, now, second);
	}
	__atomic_store_n((uint32_t *)&seen.is_taken, 0, __ATOMIC_RELEASE);
	return step;
}

void tfp_repeats_call(struct tfp_thread *thread, uint64_t call)
{
	uint32_t stack = 0;
	struct tfp_lane *lane;

	if (tfp_python_when != TFP_PYTHON_NEVER && tfp_thread_enter_lane(thread, &lane)) {
		stack = lane == &thread->lanes[0] ? tfp_python_read(thread, lane) : 0;
		tfp_thread_leave(thread);
	}
	uint64_t word = (call ^ stack) * UINT64_C(0xd6e8feb86659fd93) + stack;
	uint64_t step = tfp_repeats_step(thread, word, tfp_now(), tfp_state->second_ticks), last = tfp_window_last_step();
	if (step == 0)
		return;
	if (__atomic_exchange_n((int *)&seen.is_other, 0, __ATOMIC_RELAXED))
		tfp_window_other_loop();
	tfp_step_begin(TFP_FROM_repeats, step, 0);
	if (tfp_window_is_at_step())
		tfp_repeats_settle();
	if (step > last && step - last > (last > LONGER_FOR ? last : LONGER_FOR))
		tfp_repeats_is_wanted = 0;
}

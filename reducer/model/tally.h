/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an allocator's events add up to while they stream by: live bytes, peak, and both by call stack. Private to the
 * model.
 *
 * Rule: an event costs the same whatever came before. What each site held at the peak is not copied at each new peak:
 * a site saves what it held before its first change since the peak, marked with the peak's number; a newer peak makes
 * the mark stale, and a site that did not change since still holds what it held.
 */
#ifndef REDUCER_MODEL_TALLY_H
#define REDUCER_MODEL_TALLY_H

#include "reducer/model/curve.h"
#include "reducer/model/heap.h"

/* Blocks and bytes that come or go at once. Estimates count blocks in units of 1 / TALLY_FRACTION. */
struct amount {
	uint64_t blocks, bytes, requested;
};
#define TALLY_FRACTION 65536u

#define TALLY_STACKS_MAX (UINT32_C(1) << 26) /* as many as stacks.c takes in; larger ids count as "no stack" */

struct tally {
	struct heap_site *sites; /* in order of first use */
	uint32_t *site_of;       /* stack id -> index in sites + 1 */
	size_t site_count, site_capacity, stack_capacity;
	uint64_t live, live_blocks, live_requested;
	int64_t base;         /* bytes that the curve stands higher: live when recording began, blocks unknown */
	int has_base;         /* it was other than 0 once: the curve's highest point is the peak */
	uint64_t peak, peak_time, requested_peak, requested_peak_time;
	uint64_t peak_number; /* from 1; goes up at each new peak, and when blocks are forgotten */
	uint64_t peak_at, forgotten_at, forgotten_before_peak; /* peak_number at the peak; when blocks were forgotten last, by then */
	uint64_t forgotten_time; /* ticks: what was allocated before is forgotten; 0 = nothing */
	uint64_t allocations, frees, requested_bytes, allocated_bytes, freed_bytes;
	int has_own_curve;    /* live is the curve; else it comes from points in the log */
	int is_out_of_memory; /* something was left out */
	struct curve curve;
};

void tally_begin(struct tally *tally, int has_own_curve);
void tally_free(struct tally *tally);

/* The site of a stack, made when it is new. Never NULL once tally_begin succeeded with memory; stays valid until the next call. */
struct heap_site *tally_make_site(struct tally *tally, uint32_t stack);

static inline struct heap_site *tally_site(struct tally *tally, uint32_t stack)
{
	if (stack < tally->stack_capacity && tally->site_of[stack] != 0)
		return &tally->sites[tally->site_of[stack] - 1];
	return tally_make_site(tally, stack);
}

/* The same where a peak, or forgetting, came since. */
void tally_save(const struct tally *tally, struct heap_site *site);

/* Saves what the site held at the peak, before its first change since. */
static inline void tally_touch(const struct tally *tally, struct heap_site *site)
{
	if (site->peak_mark != tally->peak_number)
		tally_save(tally, site);
}

/* Recording stops: which of the live blocks are released meanwhile nobody sees, so none of them counts as live from here on. */
void tally_forget(struct tally *tally, uint64_t time);

/* Whether a block of that time is forgotten. */
static inline int tally_has_forgotten(const struct tally *tally, uint64_t time)
{
	return time <= tally->forgotten_time && tally->forgotten_time != 0;
}

/* A forgotten block goes: it was live when recording went on again; or it was not, for another one stands there (is_replaced). */
void tally_take_forgotten(struct tally *tally, uint64_t time, const struct amount *amount, int is_replaced);

/* What is live, as far as is known. The sum at an opening is some bytes a thread old: more may be given back than it says. */
static inline uint64_t tally_sum(const struct tally *tally)
{
	int64_t sum = (int64_t)(tally->live + (uint64_t)tally->base); /* of no sense where a log says blocks of 2^63 bytes */

	return sum > 0 ? (uint64_t)sum : 0;
}

static inline void tally_curve(struct tally *tally, uint64_t time)
{
	if (tally->has_own_curve && curve_add(&tally->curve, time, tally_sum(tally)) != 0)
		tally->is_out_of_memory = 1;
}

/* Something was allocated by `stack`. Inlined: as a call the first screen of a heap log takes 3 % more instructions. */
static inline __attribute__((always_inline)) struct heap_site *tally_add(struct tally *tally, uint32_t stack, uint64_t time,
									  const struct amount *amount)
{
	struct heap_site *site = tally_site(tally, stack);

	tally_touch(tally, site);
	site->allocations += amount->blocks;
	site->bytes += amount->bytes;
	site->requested_bytes += amount->requested;
	site->live_blocks += amount->blocks;
	site->live_bytes += amount->bytes;
	tally->allocations++;
	tally->requested_bytes += amount->requested;
	tally->allocated_bytes += amount->bytes;
	tally->live += amount->bytes;
	tally->live_blocks += amount->blocks;
	tally->live_requested += amount->requested;
	if (tally->live > tally->peak) {
		tally->peak = tally->live;
		tally->peak_time = time;
		tally->peak_at = ++tally->peak_number;
		tally->forgotten_before_peak = tally->forgotten_at;
	}
	if (tally->live_requested > tally->requested_peak) {
		tally->requested_peak = tally->live_requested;
		tally->requested_peak_time = time;
	}
	tally_curve(tally, time);
	return site;
}

/* Something that tally_add had counted for `stack` is gone. */
static inline struct heap_site *tally_take(struct tally *tally, uint32_t stack, uint64_t time, const struct amount *amount)
{
	struct heap_site *site = tally_site(tally, stack);

	tally_touch(tally, site);
	site->live_blocks -= amount->blocks;
	site->live_bytes -= amount->bytes;
	tally->freed_bytes += amount->bytes;
	tally->live -= amount->bytes;
	tally->live_blocks -= amount->blocks;
	tally->live_requested -= amount->requested;
	tally_curve(tally, time);
	return site;
}

/* Something that is counted, but is no memory: never live. */
static inline void tally_pass(struct tally *tally, uint32_t stack, const struct amount *amount)
{
	struct heap_site *site = tally_site(tally, stack);

	site->allocations += amount->blocks;
	site->bytes += amount->bytes;
	site->requested_bytes += amount->requested;
	tally->allocations++;
	tally->requested_bytes += amount->requested;
	tally->allocated_bytes += amount->bytes;
}

/* What tally_take took did not go after all. */
void tally_put_back(struct tally *tally, uint32_t stack, uint64_t time, const struct amount *amount);

/* Makes the site's peak numbers final and hands the sites, sorted by stack, to the account. The tally has none after. */
void tally_finish(struct tally *tally, struct account *account);

#endif

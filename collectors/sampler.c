/* SPDX-License-Identifier: Apache-2.0 */
/* The Poisson sampler; see collectors/sampler.h. */
#include "collectors/sampler.h"

#include "writer/sys.h"

#include "writer/poison.h"

/*
 * Slots of the table, by interval: 64 Ki live samples at 512 KiB stand for 32 GiB of live heap; a finer interval gets
 * more, so that at least 16 GiB of live heap can be followed. Untouched pages cost nothing.
 */
#define SLOTS_LEAST (UINT64_C(1) << 16)
#define SLOTS_MOST (UINT64_C(1) << 22)
#define FOLLOWED_BYTES (UINT64_C(16) << 30)
#define LINE_SLOTS 8   /* of one cache line */
#define NEAR_LINES 512 /* 32 KiB in front of the table: spread over all of it, a few hundred samples would touch all its pages */
#define PROBES 72      /* slots looked at before the table counts as full: a line, then of the rest */

/*
 * A slot holds a block's address, 0 = never used, 1 = used once and free again. A block stands in the line that its hash chooses, or,
 * where that was full, further on: a line with a slot never used has sent none there.
 */
static _Atomic uint64_t *near, *table; /* written at start-up once; a fork child finds them empty */
static uint64_t slot_mask;
static uint8_t no_filter[1 << TFP_FILTER_BITS]; /* all zero: what the hooks read until the sampler is made */
uint8_t *tfp_sampler_filter = no_filter;

int tfp_sampler_make(uint64_t interval)
{
	uint64_t slots = SLOTS_LEAST;

	while (slots < SLOTS_MOST && slots * interval < 2 * FOLLOWED_BYTES)
		slots *= 2;
	uint8_t *pages = tfp_pages_get((slots + NEAR_LINES * LINE_SLOTS) * sizeof *table + (1 << TFP_FILTER_BITS), 1);
	if (!pages)
		return -1;
	near = (_Atomic uint64_t *)(void *)(pages + (1 << TFP_FILTER_BITS));
	table = near + NEAR_LINES * LINE_SLOTS;
	slot_mask = slots - 1;
	tfp_sampler_filter = pages;
	return 0;
}

/*
 * -ln(u) * 2^32 for u = x / 2^32, x in 1..2^32: 32 - log2(x) times ln 2. The fraction of log2 comes from 32 squarings
 * (each gives one bit), exact to 2^-31. Only drawn once a sample.
 */
static uint64_t minus_log(uint64_t x)
{
	unsigned whole = 63 - (unsigned)__builtin_clzll(x);
	uint64_t mantissa = x << (63 - whole); /* 1 <= m < 2, as 1.63 */
	uint64_t fraction = 0;

	for (int bit = 0; bit < 32; bit++) {
		unsigned __int128 square = (unsigned __int128)mantissa * mantissa; /* 2.126 */
		fraction <<= 1;
		if (square >> 127) {
			fraction |= 1;
			mantissa = (uint64_t)(square >> 64);
		} else {
			mantissa = (uint64_t)(square >> 63);
		}
	}
	uint64_t log2 = (uint64_t)whole << 32 | fraction;                                      /* 32.32 */
	return (uint64_t)((unsigned __int128)((UINT64_C(32) << 32) - log2) * 2977044472u >> 32); /* ln 2 * 2^32 */
}

int64_t tfp_sampler_distance(uint64_t *random, uint64_t interval)
{
	uint64_t x = *random; /* xorshift64* */

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*random = x;
	uint64_t uniform = (x * UINT64_C(0x2545f4914f6cdd1d) >> 32) + 1; /* 1..2^32 */
	return (int64_t)((unsigned __int128)minus_log(uniform) * interval >> 32);
}

/* Counts sampled blocks a filter byte, 255 and more stay 255: a release may ask in vain but never fails to ask. */
static void count_in_filter(const void *block, int change)
{
	uint8_t *place = &tfp_sampler_filter[tfp_sampler_place(block)];
	uint8_t old = __atomic_load_n(place, __ATOMIC_RELAXED);

	while (old != UINT8_MAX &&
	       !__atomic_compare_exchange_n(place, &old, (uint8_t)(old + change), 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

static inline _Atomic uint64_t *slot_of(uint64_t hash, uint64_t probe)
{
	return probe < LINE_SLOTS ? &near[(hash >> 48) % NEAR_LINES * LINE_SLOTS + probe] : &table[((hash >> 20) + probe) & slot_mask];
}

int tfp_sampler_add(const void *block)
{
	uint64_t hash = tfp_sampler_hash(block);

	for (uint64_t probe = 0; probe < PROBES; probe++) {
		_Atomic uint64_t *slot = slot_of(hash, probe);
		uint64_t old = *slot;
		if (old > 1 || !__atomic_compare_exchange_n((uint64_t *)slot, &old, (uint64_t)(uintptr_t)block, 0,
							    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			continue;
		count_in_filter(block, 1); /* before the host has the block, so before it can be given back */
		return 0;
	}
	return -1;
}

int tfp_sampler_remove(const void *block)
{
	uint64_t hash = tfp_sampler_hash(block);

	for (uint64_t probe = 0; probe < PROBES; probe++) {
		_Atomic uint64_t *slot = slot_of(hash, probe);
		uint64_t held = *slot;
		if (held == 0)
			return 0;
		if (held != (uint64_t)(uintptr_t)block)
			continue;
		if (!__atomic_compare_exchange_n((uint64_t *)slot, &held, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return 0;
		count_in_filter(block, -1);
		return 1;
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls whose device work may still come, and device work whose call has not returned yet. Private to the model.
 *
 * Rule: each call and each record costs a bounded number of steps (`looks` counts them), however late the device is; memory is
 * bounded by AWAITED_MOST and AWAITED_HELD whatever the log holds. The youngest stay.
 */
#ifndef REDUCER_MODEL_SPANS_AWAITED_H
#define REDUCER_MODEL_SPANS_AWAITED_H

#include "reducer/model/spans.h"

#define AWAITED_LEAST (1u << 16) /* calls kept at first, by correlation id modulo their number: 4 MiB */
#define AWAITED_MOST (1u << 19)  /* at most: 32 MiB; what the first pass paired finds its call here (FLIGHTS_MAX of gpu_flights.h) */
#define AWAITED_HELD 4096u       /* device records that came before their call returned */

/* Where a thread is at one moment. */
struct span_place {
	uint32_t op, range, inputs; /* places in texts; SPANS_NO_TEXT = none. inputs: of the op */
	uint32_t depth;
	uint32_t nest; /* number in nests: all ranges around it */
	uint8_t phase, op_source;
	uint8_t is_awaited; /* of a call: work of it is to come, as far as is known */
};

struct span_call {
	uint64_t correlation; /* 0 = empty */
	int64_t begin_ns;
	uint64_t begin;	 /* ticks */
	uint64_t record; /* tells its last device record from others; 0 = none came yet */
	struct span_place place;
	uint32_t thread;
};

struct span_awaited {
	struct span_call *calls; /* NULL where the log has no GPU work */
	uint32_t room;		 /* a power of two */
	uint64_t looks;		 /* entries that were looked at or moved */
	struct held_span {
		struct span span;
		uint16_t next; /* of the same bucket and younger, + 1 */
		uint8_t is_held;
	} * held; /* a ring */
	uint64_t held_count;
	uint16_t first[AWAITED_HELD], last[AWAITED_HELD]; /* of each bucket of correlation ids, + 1 */
};

/* Returns -1 without memory. */
int awaited_begin(struct span_awaited *awaited);
void awaited_free(struct span_awaited *awaited);

/* Keeps a call. One that is still awaited leaves only where there is no more room to grow. */
void awaited_put(struct span_awaited *awaited, const struct span_call *call);

/* The call with that correlation id, or NULL. */
static inline struct span_call *awaited_find(struct span_awaited *awaited, uint64_t correlation)
{
	struct span_call *call;

	if (awaited->calls == NULL || correlation == 0)
		return NULL;
	awaited->looks++;
	call = &awaited->calls[correlation & (awaited->room - 1)];
	return call->correlation == correlation ? call : NULL;
}

/* Somebody will soon look for that call: memory is asked for it now. */
static inline __attribute__((always_inline)) void awaited_fetch(const struct span_awaited *awaited, uint64_t correlation)
{
	if (awaited->calls != NULL)
		__builtin_prefetch(&awaited->calls[correlation & (awaited->room - 1)]);
}

/* The eldest work, where there is room for no more: it is held no longer and valid until awaited_hold. NULL = there is room. */
struct span *awaited_make_room(struct span_awaited *awaited);

/* Keeps device work until its call returns, without its arguments. Call awaited_make_room before. */
void awaited_hold(struct span_awaited *awaited, const struct span *span);

/* The eldest work that is held for that correlation id; it is held no longer and valid until awaited_hold. NULL = none. */
struct span *awaited_unhold(struct span_awaited *awaited, uint64_t correlation);

/* The eldest of all that is held, likewise; for the end. */
struct span *awaited_unhold_any(struct span_awaited *awaited);

#endif

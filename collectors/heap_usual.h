/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call of the malloc family that only counts: nearly every one in the modes totals and sample.
 *
 * A thread has a budget for allocations and one for releases, each no larger than what is left until the next sample, the
 * next look or the next sum of the process's live bytes. A call takes its bytes and TFP_SPENT_CALL off its budget and adds to the
 * exact counters; where the budget is used up the general road (heap.h) works out what is due and arms it anew.
 * Rule: no lane, no enter and leave, no call but the allocator's own for the size. Each word is changed by one instruction, so
 * that a signal handler between any two of them may do the same. Where a handler forks there, the child stores once more to
 * where its parent's counters were: tfp_process_in_child has put zeros there.
 */
#ifndef TFP_COLLECTORS_HEAP_USUAL_H
#define TFP_COLLECTORS_HEAP_USUAL_H

#include "collectors/sampler.h"

#define TFP_BUDGET_BYTES 65536 /* of live heap that a thread may keep to itself */
#define TFP_HEADER_MAPPED 2    /* flag in the word before a block: it was mapped by itself, or is none of the allocator's */
#define TFP_SPENT_CALL 512     /* 128 allocations and 128 releases at most between two looks */

/*
 * enum tfp_heap_road: which one the calls may take now; TFP_ROAD_CLOSED: none of this kind. Written with tfp_mode_now alone
 * (tfp_heap_set_mode). Two words, so that the hooks themselves hold nothing of allocators whose blocks have no such header.
 */
extern _Atomic uint32_t tfp_road_header TFP_HIDDEN, tfp_road_ask TFP_HIDDEN;

/* Adds in one instruction, or in a loop that a handler makes begin again: nothing is lost to one. No lock: one thread. */
static inline __attribute__((always_inline)) void tfp_count(uint64_t *word, uint64_t by)
{
#if defined __x86_64__
	__asm__ volatile("addq %1, %0" : "+m"(*word) : "er"(by) : "cc");
#else
	__atomic_fetch_add(word, by, __ATOMIC_RELAXED);
#endif
}

/* 1: the budget is used up. */
static inline __attribute__((always_inline)) int tfp_spend(int64_t *left, int64_t cost)
{
#if defined __x86_64__
	int is_used_up;

	__asm__ volatile("subq %2, %0" : "+m"(*left), "=@ccs"(is_used_up) : "er"(cost) : "cc");
	return is_used_up;
#else
	return __atomic_sub_fetch(left, cost, __ATOMIC_RELAXED) < 0;
#endif
}

/* Read before the budget: where a handler forks in between, and this is the child, the emptied budget is found used up. */
static inline __attribute__((always_inline)) struct tfp_heap_totals *tfp_budget_totals(const struct tfp_heap_budget *budget)
{
	return *(struct tfp_heap_totals *const volatile *)&budget->totals;
}

/* 1: the allocation is counted; 0: nothing was, take the general road. */
static inline __attribute__((always_inline)) int tfp_spend_allocation(struct tfp_heap_budget *budget, uint64_t usable, size_t size)
{
	struct tfp_heap_totals *totals = tfp_budget_totals(budget);

	if (__builtin_expect(tfp_spend(&budget->allocations, (int64_t)usable + TFP_SPENT_CALL), 0))
		return 0;
	tfp_count(&totals->allocations, 1);
	tfp_count(&totals->requested_bytes, size);
	tfp_count(&totals->allocated_bytes, usable);
	return 1;
}

static inline __attribute__((always_inline)) int tfp_spend_release(struct tfp_heap_budget *budget, uint64_t usable)
{
	struct tfp_heap_totals *totals = tfp_budget_totals(budget);

	if (__builtin_expect(tfp_spend(&budget->releases, (int64_t)usable + TFP_SPENT_CALL), 0))
		return 0;
	tfp_count(&totals->frees, 1);
	tfp_count(&totals->freed_bytes, usable);
	return 1;
}

/* The budget of the calling thread, where it is armed for the road; else NULL. */
static inline __attribute__((always_inline)) struct tfp_heap_budget *tfp_heap_on_road(uint32_t road)
{
	struct tfp_thread *thread = tfp_self;

	return __builtin_expect(thread && thread->budget.road == road, 1) ? &thread->budget : NULL;
}

/* On the road that glibc's headers allow. A block that was mapped by itself takes the general one. */
static inline __attribute__((always_inline)) int tfp_heap_allocated_usual(const void *block, size_t size)
{
	struct tfp_heap_budget *budget = tfp_heap_on_road(tfp_road_header);

	if (__builtin_expect(!budget, 0))
		return 0;
	uint64_t word = ((const uint64_t *)block)[-1];
	return __builtin_expect(!(word & TFP_HEADER_MAPPED), 1) && tfp_spend_allocation(budget, (word & ~UINT64_C(7)) - 8, size);
}

static inline __attribute__((always_inline)) int tfp_heap_freed_usual(const void *block)
{
	struct tfp_heap_budget *budget = tfp_heap_on_road(tfp_road_header);

	if (__builtin_expect(!budget || tfp_sampler_may_hold(block), 0))
		return 0;
	uint64_t word = ((const uint64_t *)block)[-1];
	return __builtin_expect(!(word & TFP_HEADER_MAPPED), 1) && tfp_spend_release(budget, (word & ~UINT64_C(7)) - 8);
}

/* The same where the allocator is asked for the size. Out of line in the hooks. */
static inline int tfp_heap_allocated_asking(void *block, size_t size, size_t (*usable_size)(void *))
{
	struct tfp_heap_budget *budget = tfp_heap_on_road(tfp_road_ask);

	return budget && tfp_spend_allocation(budget, usable_size(block), size);
}

static inline int tfp_heap_freed_asking(void *block, size_t (*usable_size)(void *))
{
	struct tfp_heap_budget *budget = tfp_heap_on_road(tfp_road_ask);

	return budget && !tfp_sampler_may_hold(block) && tfp_spend_release(budget, usable_size(block));
}

#endif

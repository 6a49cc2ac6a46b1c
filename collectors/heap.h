/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call of the malloc family means: exact counters, sampled allocations, or a record of every event.
 *
 * Rule: a hook costs what its mode promises (off 2 ns, totals and sample 5 ns, full one rdtsc and a stack), keeps errno,
 * and where it cannot record counts a loss. Allocations are noted after the real call, releases before it, so that the
 * clock's order is the order in which addresses were reused.
 */
#ifndef TFP_COLLECTORS_HEAP_H
#define TFP_COLLECTORS_HEAP_H

#include "collectors/heap_usual.h"
#include "collectors/python.h"
#include "collectors/stacks.h"
#include "writer/stream.h"

/* Where the host called us from: the caller's code address, stack pointer and frame pointer at that address. */
struct tfp_caller {
	uintptr_t pc, sp, fp;
};

/* Written at start-up, before the mode leaves COLD; read by every hook. */
struct tfp_heap {
	size_t (*usable_size)(void *); /* NULL where the allocator below cannot tell: requested sizes stand in */
	uint32_t reads_glibc;          /* the block's own header says its size; see tfp_usable */
	int64_t batch;                 /* bytes of |pending| at which a lane adds to the process's live bytes; 0 = each call */
	uint64_t interval;             /* of the sampler */
	void *first_block;             /* the block whose allocation started us, NULL = none: start-up looks at its size */
	size_t first_size;
};
extern struct tfp_heap tfp_heap TFP_HIDDEN;

/* enum tfp_mode: what the hooks do now. */
extern _Atomic uint32_t tfp_mode_now TFP_HIDDEN;

/* Written by this alone: start-up, windows, a child that must stay silent. */
void tfp_heap_set_mode(uint32_t mode);

#define TFP_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define TFP_CALLS_PER_LOOK 256 /* hooked calls between two slow looks */

/* The general road: no state yet, inside another hook, or the library's own call. Out of line. */
void tfp_heap_allocated_slow(void *block, size_t size, unsigned function, const struct tfp_caller *caller);
void tfp_heap_freed_slow(void *block);

/* Adds the lane's pending bytes to the process's live bytes, and to its peak. */
void tfp_heap_flush(struct tfp_thread *thread, struct tfp_lane *lane);

/* Lets calls of lane 0 that only count take the usual road until something is due. Own thread, in lane 0; after tfp_thread_settle. */
void tfp_heap_arm(struct tfp_thread *thread);

/* The timeline point that TOTALS=exact owes for small moves. In every slow look. */
void tfp_heap_point(struct tfp_thread *thread, struct tfp_lane *lane);

/* The sampler's distance is used up: records this block, draws the next distance. */
void tfp_heap_sample(struct tfp_thread *thread, struct tfp_lane *lane, void *block, size_t size, uint64_t usable,
		     unsigned function, const struct tfp_caller *caller);
void tfp_heap_sample_freed(struct tfp_thread *thread, struct tfp_lane *lane, void *block);

/* The stack of the caller; 0 where there is none. Makes the lane's cache on first use. */
uint32_t tfp_caller_stack(struct tfp_thread *thread, struct tfp_lane *lane, const struct tfp_caller *caller);

/*
 * The stack of a framework's block of so many bytes, Python's frames first; 0 where none is due: in mode sample about one each
 * interval of bytes has one, in mode full each, in others none. Their record, of the same time, must follow.
 */
uint32_t tfp_heap_block_stack(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now, uint64_t bytes,
			      const struct tfp_caller *caller);

/* After a call that failed for want of memory: an event with its stack, in every mode that records. Keeps errno. */
void tfp_heap_refused(size_t size, unsigned function, const struct tfp_caller *caller);

/* Every TFP_CALLS_PER_LOOK calls: windows, clock. collectors/window.c */
void tfp_look(struct tfp_thread *thread, struct tfp_lane *lane);

/*
 * Usable bytes of a block. glibc keeps a chunk's size (its header of 8 bytes included, 16 where it was mapped) with three
 * flags in the word before the block; reading it costs a load instead of a call that reads the next chunk's header too.
 * Start-up and then every TFP_CALLS_PER_LOOK-th allocation compare it with malloc_usable_size (tfp_heap_prove).
 */
static inline uint64_t tfp_usable_glibc(const void *block)
{
	uint64_t word = ((const uint64_t *)block)[-1];

	return (word & ~UINT64_C(7)) - 8 - ((word & 2) << 2); /* bit 1: mapped by itself */
}

static inline uint64_t tfp_usable(void *block, size_t size)
{
	if (__builtin_expect(tfp_heap.reads_glibc, 1))
		return tfp_usable_glibc(block);
	return tfp_heap.usable_size ? tfp_heap.usable_size(block) : size;
}

/* Compares the header with the function, and gives the header up for good where they differ. */
void tfp_heap_prove(void *block);

/* Every TFP_CALLS_PER_LOOK-th call of a thread. */
void tfp_heap_look_allocated(struct tfp_thread *thread, struct tfp_lane *lane, void *block);

static inline void tfp_heap_add(struct tfp_thread *thread, struct tfp_lane *lane, int64_t bytes)
{
	lane->pending += bytes;
	if (TFP_UNLIKELY((uint64_t)(lane->pending + tfp_heap.batch) > (uint64_t)(2 * tfp_heap.batch)))
		tfp_heap_flush(thread, lane);
}

/* Writes the record of an allocation; `slack` is what is usable beyond `size`. */
static inline __attribute__((always_inline)) void tfp_heap_put(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now,
							       void *block, size_t size, uint64_t slack, unsigned function,
							       uint32_t stack)
{
	struct tfp_record_alloc *record = tfp_record_begin(thread, lane, sizeof *record, now);

	if (TFP_UNLIKELY(!record))
		return;
	record->word = now << TFP_TAG_BITS | TFP_TAG_alloc;
	record->address = (uint64_t)(uintptr_t)block;
	record->requested = size;
	record->stack = stack;
	record->slack = slack < UINT16_MAX ? (uint16_t)slack : UINT16_MAX;
	record->function = (uint8_t)function;
	tfp_record_commit(lane, record, sizeof *record);
	if (TFP_UNLIKELY(slack >= UINT16_MAX))
		TFP_PUT(thread, lane, now, usable, .address = (uint64_t)(uintptr_t)block, .usable = size + slack);
}

static inline __attribute__((always_inline)) void tfp_heap_record(struct tfp_thread *thread, struct tfp_lane *lane,
								  void *block, size_t size, uint64_t usable,
								  unsigned function, const struct tfp_caller *caller)
{
	uint64_t now = tfp_now();
	uint32_t stack = tfp_caller_stack(thread, lane, caller);

	if (TFP_UNLIKELY(tfp_python_when >= TFP_PYTHON_CALLS))
		tfp_python_put(thread, lane, now, TFP_PYTHON_CALLS);
	tfp_heap_put(thread, lane, now, block, size, usable - size, function, stack);
}

/* Notes an allocation in lane `number` of a thread whose depth already covers this call. */
static inline __attribute__((always_inline)) void tfp_heap_allocated_in(struct tfp_thread *thread, unsigned number,
									void *block, size_t size, unsigned function,
									const struct tfp_caller *caller, uint32_t mode)
{
	struct tfp_lane *lane = &thread->lanes[number];
	struct tfp_heap_totals *totals = &thread->slot->heap[number];
	uint64_t usable = tfp_usable(block, size);

	totals->allocations++;
	totals->requested_bytes += size;
	totals->allocated_bytes += usable;
	tfp_heap_add(thread, lane, (int64_t)usable);
	if (mode == TFP_MODE_FULL) {
		tfp_heap_record(thread, lane, block, size, usable, function, caller);
	} else if (mode == TFP_MODE_SAMPLE) {
		thread->sample_left -= (int64_t)usable;
		if (TFP_UNLIKELY(thread->sample_left < 0))
			tfp_heap_sample(thread, lane, block, size, usable, function, caller);
	}
	if (TFP_UNLIKELY(--thread->calls_left <= 0))
		tfp_heap_look_allocated(thread, lane, block);
}

static inline __attribute__((always_inline)) void tfp_heap_freed_in(struct tfp_thread *thread, unsigned number, void *block,
								    uint32_t mode)
{
	struct tfp_lane *lane = &thread->lanes[number];
	struct tfp_heap_totals *totals = &thread->slot->heap[number];
	uint64_t usable = tfp_usable(block, 0);

	totals->frees++;
	totals->freed_bytes += usable;
	tfp_heap_add(thread, lane, -(int64_t)usable);
	if (mode == TFP_MODE_FULL) {
		uint64_t now = tfp_now();
		TFP_PUT(thread, lane, now, free, .address = (uint64_t)(uintptr_t)block);
	} else if (tfp_sampler_may_hold(block)) {
		tfp_heap_sample_freed(thread, lane, block);
	}
	if (TFP_UNLIKELY(--thread->calls_left <= 0))
		tfp_look(thread, lane);
}

/* A signal handler that runs between these two sees depth 1 and uses lane 1. */
#define TFP_ENTER(thread) \
	do { \
		(thread)->entered = (uintptr_t)__builtin_frame_address(0); \
		(thread)->depth = 1; \
		__atomic_signal_fence(__ATOMIC_SEQ_CST); \
	} while (0)
#define TFP_LEAVE(thread) \
	do { \
		__atomic_signal_fence(__ATOMIC_SEQ_CST); \
		(thread)->depth = 0; \
	} while (0)

/* After a successful allocation of `size` bytes at `block`. Any thread, any context; keeps errno. */
static inline __attribute__((always_inline)) void tfp_heap_allocated(void *block, size_t size, unsigned function,
								     const struct tfp_caller *caller)
{
	struct tfp_thread *thread = tfp_self;
	uint32_t mode = tfp_mode_now;

	if (mode == TFP_MODE_PASS)
		return;
	if (TFP_UNLIKELY(!thread || thread->depth)) {
		tfp_heap_allocated_slow(block, size, function, caller);
		return;
	}
	TFP_ENTER(thread);
	if (TFP_UNLIKELY(thread->is_ready != 1)) { /* last: a handler may have forked just before, and we are in the child */
		TFP_LEAVE(thread);
		tfp_heap_allocated_slow(block, size, function, caller);
		return;
	}
	tfp_thread_settle(thread);
	tfp_heap_allocated_in(thread, 0, block, size, function, caller, mode);
	if (mode != TFP_MODE_FULL)
		tfp_heap_arm(thread);
	TFP_LEAVE(thread);
}

/* Before `block` (not NULL) is given back. Any thread, any context; keeps errno. */
static inline __attribute__((always_inline)) void tfp_heap_freed(void *block)
{
	struct tfp_thread *thread = tfp_self;
	uint32_t mode = tfp_mode_now;

	if (mode == TFP_MODE_PASS)
		return;
	if (TFP_UNLIKELY(!thread || thread->depth)) {
		tfp_heap_freed_slow(block);
		return;
	}
	TFP_ENTER(thread);
	if (TFP_UNLIKELY(thread->is_ready != 1)) { /* last: a handler may have forked just before, and we are in the child */
		TFP_LEAVE(thread);
		tfp_heap_freed_slow(block);
		return;
	}
	tfp_thread_settle(thread);
	tfp_heap_freed_in(thread, 0, block, mode);
	if (mode != TFP_MODE_FULL)
		tfp_heap_arm(thread);
	TFP_LEAVE(thread);
}

/* Whether one more move of `bytes` in lane 0 needs no other look: live bytes are not passed on yet, no budget is to be settled. */
static inline __attribute__((always_inline)) int tfp_heap_only_counts(const struct tfp_thread *thread, int64_t bytes)
{
	uint64_t moved = (uint64_t)(thread->lanes[0].pending + bytes + tfp_heap.batch);

	return moved <= (uint64_t)(2 * tfp_heap.batch) && thread->calls_left > 1 && !thread->budget.road;
}

/*
 * Mode full, most calls: as tfp_heap_allocated, the block is returned. Where anything is due besides the counters and the record
 * it goes on to the general road.
 */
void *tfp_heap_allocated_full(void *block, size_t size, unsigned function, uintptr_t pc, uintptr_t sp, uintptr_t fp);

/* The same for a release, in code without a call. 1: noted; 0: nothing was, take the general road. */
static inline __attribute__((always_inline)) int tfp_heap_freed_full(void *block)
{
	struct tfp_thread *thread = tfp_self;
	struct tfp_lane *lane = &thread->lanes[0];

	if (TFP_UNLIKELY(tfp_mode_now != TFP_MODE_FULL || !thread || thread->depth || !tfp_heap.reads_glibc || !tfp_clock_is_counter()))
		return 0;
	TFP_ENTER(thread);
	struct tfp_heap_totals *totals = &thread->slot->heap[0];
	uint64_t usable = tfp_usable_glibc(block);
	struct tfp_record_free *record = (void *)lane->cursor;
	int is_usual = thread->is_ready == 1 && tfp_heap_only_counts(thread, -(int64_t)usable) &&
		       (size_t)(lane->end - (uint8_t *)record) >= sizeof *record;
	if (__builtin_expect(is_usual, 1)) {
		totals->frees++;
		totals->freed_bytes += usable;
		lane->pending -= (int64_t)usable;
		thread->calls_left--;
		record->word = tfp_now() << TFP_TAG_BITS | TFP_TAG_free;
		record->address = (uint64_t)(uintptr_t)block;
		__atomic_signal_fence(__ATOMIC_SEQ_CST); /* the commit looks whether a handler has moved the cursor meanwhile */
		tfp_record_commit(lane, record, sizeof *record);
	}
	TFP_LEAVE(thread);
	return is_usual;
}

/* The release noted last did not happen: a realloc failed. */
void tfp_heap_free_undone(void *block);

#endif

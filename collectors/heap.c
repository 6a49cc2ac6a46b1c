/* SPDX-License-Identifier: Apache-2.0 */
/* The slow roads of the heap collector; see collectors/heap.h. */
#include "collectors/heap.h"

#include "writer/poison.h"

struct tfp_heap tfp_heap;
_Atomic uint32_t tfp_mode_now = TFP_MODE_COLD;
_Atomic uint32_t tfp_road_header = TFP_ROAD_CLOSED, tfp_road_ask = TFP_ROAD_CLOSED;

#define POINT_JUMP_SHIFT 6    /* a point of the timeline comes before its time when live moved by 1/64 of the peak and */
#define POINT_LEAST 1048576   /* at least 1 MiB */
#define EXACT_MOVE 65536      /* a move that TOTALS=exact notes at once, as the other setting does */

void tfp_heap_set_mode(uint32_t mode)
{
	int counts = (mode == TFP_MODE_TOTALS || mode == TFP_MODE_SAMPLE) && tfp_heap.batch;
	int is_sample = mode == TFP_MODE_SAMPLE;
	uint32_t header = is_sample ? TFP_ROAD_HEADER_SAMPLE : TFP_ROAD_HEADER_TOTALS;
	uint32_t ask = is_sample ? TFP_ROAD_ASK_SAMPLE : TFP_ROAD_ASK_TOTALS;

	tfp_mode_now = mode;
	tfp_road_header = counts && tfp_heap.reads_glibc ? header : TFP_ROAD_CLOSED;
	tfp_road_ask = counts && !tfp_heap.reads_glibc && tfp_heap.usable_size ? ask : TFP_ROAD_CLOSED;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void tfp_heap_arm(struct tfp_thread *thread)
{
	struct tfp_heap_budget *budget = &thread->budget;
	uint32_t road = tfp_road_header != TFP_ROAD_CLOSED ? tfp_road_header : tfp_road_ask;
	struct tfp_thread_slot *slot = *(struct tfp_thread_slot *volatile *)&thread->slot; /* NULL in a child that a handler forked */
	struct tfp_lane *lane = &thread->lanes[0];

	if (road == TFP_ROAD_CLOSED || thread->is_own || budget->road || !slot)
		return;
	if (tfp_heap_road_samples(road) && thread->sample_left < 0)
		return; /* no distance drawn yet */
	/* Half of the room on either side: budgets near 0 would send each call this way. */
	if ((uint64_t)(lane->pending + TFP_BUDGET_BYTES / 2) > TFP_BUDGET_BYTES)
		tfp_heap_flush(thread, lane);
	struct tfp_heap_totals *totals = budget->totals = &slot->heap[0];
	budget->allocated = totals->allocated_bytes;
	budget->freed = totals->freed_bytes;
	budget->calls = (uint32_t)(totals->allocations + totals->frees);
	budget->allocations = TFP_BUDGET_BYTES - lane->pending;
	budget->releases = TFP_BUDGET_BYTES + lane->pending;
	if (tfp_heap_road_samples(road))
		budget->allocations = least(budget->allocations, thread->sample_left);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	budget->road = road;
}

/* Every 100 us at most, whatever jumps: 10,000 points a second and thread are 0.2 ms of it. */
static int is_point_due(uint64_t live, uint64_t peak, uint64_t now)
{
	uint64_t last = tfp_state->heap_last;
	uint64_t moved = live > last ? live - last : last - live;
	uint64_t due = tfp_state->heap_next;

	if (now >= due)
		return moved > 0;
	uint64_t least = peak >> POINT_JUMP_SHIFT > POINT_LEAST ? peak >> POINT_JUMP_SHIFT : POINT_LEAST;
	return moved >= least && now + tfp_state->point_ticks >= due + tfp_state->point_ticks / 10;
}

static void put_point(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t live)
{
	uint64_t now = tfp_now(), peak = __atomic_load_n(&tfp_state->live->peak_bytes, __ATOMIC_RELAXED);

	if (!is_point_due(live, peak, now))
		return;
	tfp_state->heap_next = now + tfp_state->point_ticks;
	tfp_state->heap_last = live;
	TFP_PUT(thread, lane, now, heap, .live = live, .peak = peak);
}

void tfp_heap_flush(struct tfp_thread *thread, struct tfp_lane *lane)
{
	struct tfp_file_live *process = tfp_state->live;
	int64_t bytes = lane->pending;
	uint64_t live = __atomic_add_fetch(&process->live_bytes, (uint64_t)bytes, __ATOMIC_RELAXED);
	uint64_t peak = __atomic_load_n(&process->peak_bytes, __ATOMIC_RELAXED);

	lane->pending -= bytes; /* what a handler added meanwhile stays */
	if (bytes >= POINT_LEAST)
		thread->calls_left = 1; /* memory may run out before this thread's next usual look: what the system holds is due */
	while ((int64_t)live > (int64_t)peak)
		if (__atomic_compare_exchange_n(&process->peak_bytes, &peak, live, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			process->peak_time = tfp_now(); /* a second thread may store between: both were at their peak */
			break;
		}
	/* TOTALS=exact comes here with each call and leaves small moves to tfp_heap_point: reading the clock costs more. */
	if (tfp_mode_now != TFP_MODE_FULL && (tfp_heap.batch || live - tfp_state->heap_last + EXACT_MOVE > 2 * EXACT_MOVE))
		put_point(thread, lane, (int64_t)live > 0 ? live : 0);
}

void tfp_heap_point(struct tfp_thread *thread, struct tfp_lane *lane)
{
	int64_t live = (int64_t)__atomic_load_n(&tfp_state->live->live_bytes, __ATOMIC_RELAXED);

	if (tfp_mode_now != TFP_MODE_FULL && !tfp_heap.batch)
		put_point(thread, lane, live > 0 ? (uint64_t)live : 0);
}

void tfp_heap_prove(void *block)
{
	if (!tfp_heap.reads_glibc || tfp_usable(block, 0) == tfp_heap.usable_size(block))
		return;
	tfp_heap.reads_glibc = 0;
	tfp_heap_set_mode(tfp_mode_now);
}

void tfp_heap_look_allocated(struct tfp_thread *thread, struct tfp_lane *lane, void *block)
{
	tfp_heap_prove(block);
	tfp_look(thread, lane);
}

static inline int is_lossy(uint32_t stack, uint32_t cut)
{
	return !stack || (cut & (TFP_PC_CUT_UNKNOWN | TFP_PC_CUT_MEMORY | TFP_PC_CUT_FULL));
}

static __attribute__((noinline)) void count_losses(struct tfp_thread *thread, uint32_t stack, uint32_t cut)
{
	if (cut & (TFP_PC_CUT_UNKNOWN | TFP_PC_CUT_MEMORY))
		tfp_loss_add(thread, TFP_LOSS_stack_cut, 1, tfp_now());
	if (!stack || (cut & TFP_PC_CUT_FULL))
		tfp_loss_add(thread, TFP_LOSS_stack_table, 1, tfp_now());
}

uint32_t tfp_caller_stack(struct tfp_thread *thread, struct tfp_lane *lane, const struct tfp_caller *caller)
{
	uint32_t cut = 0;

	if (!tfp_state->stacks)
		return 0;
	if (TFP_UNLIKELY(!lane->stacks)) {
		lane->stacks = tfp_stack_cache_make(tfp_state->stacks);
		if (!lane->stacks) {
			tfp_loss_add(thread, TFP_LOSS_memory, 1, tfp_now());
			return 0;
		}
	}
	uint32_t stack = tfp_stack_capture(tfp_state->stacks, lane->stacks, caller->pc, caller->sp, caller->fp, &cut);
	if (TFP_UNLIKELY(is_lossy(stack, cut)))
		count_losses(thread, stack, cut);
	return stack;
}

static __attribute__((noinline)) void *allocated_generally(void *block, size_t size, unsigned function, uintptr_t pc, uintptr_t sp,
							   uintptr_t fp)
{
	tfp_heap_allocated(block, size, function, &(struct tfp_caller){pc, sp, fp});
	return block;
}

/* Out of the way of those who record without Python's frames. */
static __attribute__((noinline)) void put_frames(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now)
{
	tfp_python_put(thread, lane, now, TFP_PYTHON_CALLS);
}

void *tfp_heap_allocated_full(void *block, size_t size, unsigned function, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	struct tfp_thread *thread = tfp_self;
	struct tfp_lane *lane = &thread->lanes[0];
	uint32_t stack = 0, cut = 0;

	if (TFP_UNLIKELY(!thread || thread->depth || !tfp_heap.reads_glibc))
		return allocated_generally(block, size, function, pc, sp, fp);
	thread->entered = sp;
	thread->depth = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	uint64_t usable = tfp_usable_glibc(block), slack = usable - size;
	int is_usual = thread->is_ready == 1 && tfp_heap_only_counts(thread, (int64_t)usable) && slack < UINT16_MAX;
	if (TFP_UNLIKELY(!is_usual || (!lane->stacks && tfp_state->stacks))) {
		TFP_LEAVE(thread);
		return allocated_generally(block, size, function, pc, sp, fp);
	}
	struct tfp_heap_totals *totals = &thread->slot->heap[0];
	totals->allocations++;
	totals->requested_bytes += size;
	totals->allocated_bytes += usable;
	lane->pending += (int64_t)usable;
	thread->calls_left--;
	if (lane->stacks) {
		stack = tfp_stack_capture(tfp_state->stacks, lane->stacks, pc, sp, fp, &cut);
		if (TFP_UNLIKELY(is_lossy(stack, cut)))
			count_losses(thread, stack, cut);
	}
	uint64_t now = tfp_now();
	if (TFP_UNLIKELY(tfp_python_when >= TFP_PYTHON_CALLS))
		put_frames(thread, lane, now);
	tfp_heap_put(thread, lane, now, block, size, slack, function, stack);
	TFP_LEAVE(thread);
	return block;
}

uint32_t tfp_heap_block_stack(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now, uint64_t bytes,
			      const struct tfp_caller *caller)
{
	if (tfp_mode_now == TFP_MODE_SAMPLE) {
		thread->block_left -= (int64_t)(bytes < INT32_MAX ? bytes : INT32_MAX);
		if (thread->block_left >= 0)
			return 0;
		thread->block_left = tfp_sampler_distance(&thread->random, tfp_heap.interval);
	} else if (tfp_mode_now != TFP_MODE_FULL) {
		return 0;
	}
	if (tfp_python_when)
		tfp_python_put(thread, lane, now, TFP_PYTHON_SAMPLES);
	return tfp_caller_stack(thread, lane, caller);
}

/* A thread's first distance is drawn when its first allocation, of `usable` bytes, is weighed. 1: which is no sample then. */
static int is_undrawn(struct tfp_thread *thread, uint64_t usable)
{
	if (thread->sample_left >= TFP_SAMPLE_UNDRAWN)
		return 0;
	thread->sample_left = tfp_sampler_distance(&thread->random, tfp_heap.interval) - (int64_t)usable;
	return thread->sample_left >= 0;
}

void tfp_heap_sample(struct tfp_thread *thread, struct tfp_lane *lane, void *block, size_t size, uint64_t usable,
		     unsigned function, const struct tfp_caller *caller)
{
	uint64_t now = tfp_now();

	if (is_undrawn(thread, usable))
		return;
	thread->sample_left = tfp_sampler_distance(&thread->random, tfp_heap.interval); /* from here on: distances have no memory */
	if (tfp_python_when)
		tfp_python_put(thread, lane, now, TFP_PYTHON_SAMPLES);
	TFP_PUT(thread, lane, now, sample, .address = (uint64_t)(uintptr_t)block, .requested = size, .usable = usable,
		.interval = tfp_heap.interval, .stack = tfp_caller_stack(thread, lane, caller), .function = (uint8_t)function);
	if (tfp_sampler_add(block))
		tfp_loss_add(thread, TFP_LOSS_sample_table, 1, now);
}

void tfp_heap_sample_freed(struct tfp_thread *thread, struct tfp_lane *lane, void *block)
{
	uint64_t now = tfp_now();

	if (!tfp_sampler_remove(block))
		return;
	thread->sample_released = (uint64_t)(uintptr_t)block;
	TFP_PUT(thread, lane, now, sample_free, .address = (uint64_t)(uintptr_t)block);
}

/* The thread's state and which lane this call uses; see tfp_thread_enter. NULL: nothing can be recorded. */
static struct tfp_thread *enter_slow(uint32_t *lane)
{
	struct tfp_thread *thread = tfp_self;

	if (!thread || thread->is_ready != 1)
		thread = tfp_thread_start();
	if (!thread)
		return NULL;
	*lane = tfp_thread_enter(thread);
	if (thread->is_ready != 1)
		return NULL;
	tfp_thread_settle(thread);
	return thread;
}

/*
 * A handler that interrupted a handler's record: exact counters alone, because the lane that its hook would use is being
 * written; `lost` records are counted. `blocks` is 1, or -1 for a release.
 */
static void count_deep(struct tfp_thread *thread, int blocks, uint64_t requested, uint64_t usable, unsigned lost)
{
	struct tfp_heap_totals *totals = &thread->slot->heap[1];
	uint64_t bytes = blocks > 0 ? usable : 0 - usable;

	if (blocks > 0) {
		totals->allocations++;
		totals->requested_bytes += requested;
		totals->allocated_bytes += usable;
	} else {
		totals->frees++;
		totals->freed_bytes += usable;
	}
	__atomic_fetch_add(&tfp_state->live->live_bytes, bytes, __ATOMIC_RELAXED);
	if (lost)
		tfp_loss_add(thread, TFP_LOSS_nested, lost, tfp_now());
}

/* Whether the sampler would have taken the block. */
static unsigned is_sample_due(struct tfp_thread *thread, uint64_t usable)
{
	if (tfp_mode_now != TFP_MODE_SAMPLE)
		return 0;
	thread->sample_left -= (int64_t)usable;
	if (thread->sample_left >= 0 || is_undrawn(thread, usable))
		return 0;
	thread->sample_left = tfp_sampler_distance(&thread->random, tfp_heap.interval);
	return 1;
}

void tfp_heap_allocated_slow(void *block, size_t size, unsigned function, const struct tfp_caller *caller)
{
	uint32_t lane;

	if (tfp_mode_now == TFP_MODE_COLD) {
		tfp_heap.first_block = block;
		tfp_heap.first_size = size;
	}
	struct tfp_thread *thread = enter_slow(&lane);

	if (!thread)
		return;
	uint32_t mode = tfp_mode_now;
	uint64_t usable = tfp_usable(block, size);
	if (thread->is_own) {
		thread->slot->own_allocations++;
		thread->slot->own_bytes += size;
	} else if (lane > 1) {
		count_deep(thread, 1, size, usable, mode == TFP_MODE_FULL || is_sample_due(thread, usable));
	} else {
		tfp_heap_allocated_in(thread, lane, block, size, function, caller, mode);
		if (!lane)
			tfp_heap_arm(thread);
	}
	tfp_thread_leave(thread);
}

void tfp_heap_freed_slow(void *block)
{
	uint32_t lane;
	struct tfp_thread *thread = enter_slow(&lane);

	if (!thread)
		return;
	uint32_t mode = tfp_mode_now;
	if (lane > 1 && !thread->is_own)
		count_deep(thread, -1, 0, tfp_usable(block, 0),
			   mode == TFP_MODE_FULL || (tfp_sampler_may_hold(block) && tfp_sampler_remove(block)));
	else if (!thread->is_own)
		tfp_heap_freed_in(thread, lane, block, mode);
	tfp_thread_leave(thread);
}

void tfp_heap_refused(size_t size, unsigned function, const struct tfp_caller *caller)
{
	uint32_t number;
	struct tfp_thread *thread = tfp_mode_now > TFP_MODE_PASS ? enter_slow(&number) : NULL;

	if (!thread)
		return;
	struct tfp_lane *lane = &thread->lanes[number & 1];
	uint64_t now = tfp_now();
	if (number > 1) {
		tfp_loss_add(thread, TFP_LOSS_nested, 1, now);
	} else if (!thread->is_own) {
		if (tfp_python_when)
			tfp_python_put(thread, lane, now, TFP_PYTHON_SAMPLES);
		TFP_PUT(thread, lane, now, refused, .requested = size, .stack = tfp_caller_stack(thread, lane, caller),
			.function = (uint8_t)function);
	}
	tfp_thread_leave(thread);
}

/* The block was a sample and was said to be released: it is one still. */
static void undo_sample_free(struct tfp_thread *thread, struct tfp_lane *lane, void *block)
{
	uint64_t now = tfp_now();

	if (thread->sample_released != (uint64_t)(uintptr_t)block)
		return;
	thread->sample_released = 0;
	if (tfp_sampler_add(block))
		tfp_loss_add(thread, TFP_LOSS_sample_table, 1, now);
	TFP_PUT(thread, lane, now, free_undo, .address = (uint64_t)(uintptr_t)block);
}

void tfp_heap_free_undone(void *block)
{
	uint32_t number;
	struct tfp_thread *thread = tfp_mode_now > TFP_MODE_PASS ? enter_slow(&number) : NULL;

	if (!thread)
		return;
	struct tfp_lane *lane = &thread->lanes[number & 1];
	struct tfp_heap_totals *totals = &thread->slot->heap[number ? 1 : 0];
	uint64_t usable = tfp_usable(block, 0), now = tfp_now();
	totals->frees--;
	totals->freed_bytes -= usable;
	__atomic_fetch_add(&tfp_state->live->live_bytes, usable, __ATOMIC_RELAXED);
	if (number > 1)
		tfp_loss_add(thread, TFP_LOSS_nested, tfp_mode_now == TFP_MODE_FULL, now);
	else if (tfp_mode_now == TFP_MODE_FULL)
		TFP_PUT(thread, lane, now, free_undo, .address = (uint64_t)(uintptr_t)block);
	else
		undo_sample_free(thread, lane, block);
	tfp_thread_leave(thread);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Putting records into a thread's stream: take room, fill, commit.
 *
 * Rule: a record is visible to a reader only once `used` is stored after it, so that SIGKILL tears nothing. A lane is
 * used by its own thread alone, by one hook at a time (struct tfp_thread.depth says which lane).
 */
#ifndef TFP_WRITER_STREAM_H
#define TFP_WRITER_STREAM_H

#include "writer/records.h"
#include "writer/state.h"

/* The chunk is full or missing: drains it or gets another. Room, or NULL after counting one lost record. */
void *tfp_lane_refill(struct tfp_thread *thread, struct tfp_lane *lane, size_t bytes, uint64_t now);

/* Room for a record of `bytes` (a multiple of 8), or NULL: counted, go on without. Own thread only. */
static inline void *tfp_record_begin(struct tfp_thread *thread, struct tfp_lane *lane, size_t bytes, uint64_t now)
{
	uint8_t *at = lane->cursor;

	if (__builtin_expect((size_t)(lane->end - at) >= bytes, 1))
		return at;
	return tfp_lane_refill(thread, lane, bytes, now);
}

/* Where somebody else has used the lane meanwhile (two threads on one TLS, a handler that switched stacks) nothing is kept. */
static inline void tfp_record_commit(struct tfp_lane *lane, void *record, size_t bytes)
{
	uint8_t *end = (uint8_t *)record + bytes;

	if (__builtin_expect(lane->cursor != (uint8_t *)record, 0))
		return;
	lane->cursor = end;
	/* Pairs with the reducer, which trusts the bytes below `used`. */
	__atomic_store_n(&lane->chunk->used, (uint64_t)(end - (uint8_t *)(lane->chunk + 1)), __ATOMIC_RELEASE);
}

/*
 * Writes a record of kind `name` whose fields are the designated initialisers that follow:
 * TFP_PUT(thread, lane, now, heap, .live = live, .peak = peak). Evaluates to 1, or 0 when it was lost (and counted).
 */
#define TFP_PUT(thread, lane, now, name, ...) \
	({ \
		uint64_t put_now = (now); \
		struct tfp_lane *put_lane = (lane); \
		struct tfp_record_##name *put_record = tfp_record_begin((thread), put_lane, sizeof *put_record, put_now); \
		if (put_record) { \
			*put_record = (struct tfp_record_##name){__VA_ARGS__}; \
			put_record->word = put_now << TFP_TAG_BITS | TFP_TAG_##name; \
			tfp_record_commit(put_lane, put_record, sizeof *put_record); \
		} \
		put_record != NULL; \
	})

/*
 * Calls that only counted (struct tfp_heap_budget) are taken off what is left until the next sample and look, and their bytes
 * go to lane 0's pending; nothing more may be spent until tfp_heap_arm. Own thread, or one that ended.
 */
void tfp_thread_settle_slow(struct tfp_thread *thread);

static inline __attribute__((always_inline)) void tfp_thread_settle(struct tfp_thread *thread)
{
	if (__builtin_expect(thread->budget.road != 0, 0))
		tfp_thread_settle_slow(thread);
}

/* Whether the hooks that `depth` counts are gone: a signal handler left them by longjmp. Slow: asks the kernel. */
int tfp_thread_is_left(const struct tfp_thread *thread, uintptr_t frame);

/* A thread has an alternate stack that the kernel forgets while a handler runs on it. Any thread; for good. */
void tfp_thread_hides_handlers(void);

/*
 * Enters a hook by the slow road. Returns the lane to use, 0 or 1 (inside a handler that interrupted a hook); 2 and more:
 * too deep, no lane may be touched. Pairs with tfp_thread_leave. Own thread, any context. The caller asks is_ready after
 * it: a handler may have forked just before, and this is the child, which has no state yet.
 */
static inline __attribute__((always_inline)) uint32_t tfp_thread_enter_at(struct tfp_thread *thread, uintptr_t frame)
{
	if (thread->depth && tfp_thread_is_left(thread, frame))
		thread->depth = 0;
	if (!thread->depth)
		thread->entered = frame;
	uint32_t lane = thread->depth++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return lane;
}

static inline __attribute__((always_inline)) uint32_t tfp_thread_enter(struct tfp_thread *thread)
{
	return tfp_thread_enter_at(thread, (uintptr_t)__builtin_frame_address(0));
}

static inline void tfp_thread_leave(struct tfp_thread *thread)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->depth -= thread->depth > 0;
}

/* The general road of tfp_thread_enter_lane: inside another hook, or in a process that a handler has just forked. */
struct tfp_lane *tfp_thread_enter_lane_slow(struct tfp_thread *thread, uintptr_t frame);

/* The same for a hook that is there for its record alone: NULL, and the record counted as lost, where it is too deep. */
static inline __attribute__((always_inline)) struct tfp_thread *tfp_thread_enter_lane(struct tfp_thread *thread,
										      struct tfp_lane **lane)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	if (__builtin_expect(thread->depth != 0, 0)) {
		*lane = tfp_thread_enter_lane_slow(thread, frame);
		return *lane ? thread : NULL;
	}
	thread->entered = frame;
	thread->depth = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(thread->is_ready != 1, 0)) { /* last: a handler may have forked just before, and this is the child */
		thread->depth = 0;
		return NULL;
	}
	*lane = &thread->lanes[0];
	return thread;
}

/*
 * The state of the calling thread, made on first use (also in a fork child). NULL: none can be had; the caller forwards
 * and counts nothing more.
 */
struct tfp_thread *tfp_thread_start(void);

static inline struct tfp_thread *tfp_thread_have(void)
{
	struct tfp_thread *thread = tfp_thread_ready();

	return thread ? thread : tfp_thread_start();
}

/* What tfp_thread_start calls when the process itself has not started. Defined by preload/start.c: 0 = it runs now. */
extern int (*const tfp_start_process)(void) TFP_HIDDEN;

/*
 * Seals a chunk that its lane has left as FULL and frees it, with the memory of `scratch_of`. 0; or a loss kind: it stays
 * full. Whoever is first; for the others there is nothing to do (0).
 */
enum tfp_loss tfp_chunk_drain(struct tfp_chunk *chunk, struct tfp_lane *scratch_of);

/* The calling thread is ours: no hooked call of it is the host's. */
void tfp_thread_ignore(void);

/* This program and its fork children record nothing: no thread looks for a log. Start-up only. */
void tfp_threads_never_start(void);

/* A state for the calling thread, which is ours: it stands inside a hook for good, and owns lane 0. NULL: none to be had. */
struct tfp_thread *tfp_thread_own(void);

/*
 * While others work for us on a thread of the host, its allocations are ours. Begin returns the thread's state, or NULL
 * (then they count as the host's). Nestable. The pair must not be left by longjmp.
 */
struct tfp_thread *tfp_own_begin(void);
void tfp_own_end(struct tfp_thread *self);

/* The thread that filled the lane ended: seals what it left; the lane starts anew for thread `serial`. */
void tfp_lane_hand_over(struct tfp_thread *thread, struct tfp_lane *lane, uint32_t serial, uint64_t now);

/* Reads all clocks and writes the record; over 10 ms the rate for fork children comes from it too. Own thread, own lane. */
void tfp_clock_note(struct tfp_thread *thread, struct tfp_lane *lane);

#endif

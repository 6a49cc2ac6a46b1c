/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of each thread: made on its first hooked call, taken over by a newer thread after it ended.
 *
 * Rule: a thread's end is learnt from the kernel (its id is gone), never from a destructor, so that everything a
 * thread does while it is torn down is still recorded.
 */
#include "writer/stream.h"

#include "writer/signals.h"
#include "writer/sys.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "writer/poison.h"

#define STACK_SPAN 262144 /* bytes between two frames of one stack; what a longjmp skips is seldom more */
#define SIGNAL_FRAME 512 /* bytes; x86-64 has 900 and more, aarch64 4,600; our own out-of-line part needs half of it */
#define LOOK_AT 8 /* other threads looked at when a new one starts: churn is kept up with, a start stays cheap */
#define AGAIN_PART 100 /* of a second: until a thread that found no room asks again. A try takes some 16 us, a look at the time 20 ns */

struct tfp_state *tfp_state;
struct tfp_origin tfp_origin = {.descriptor = -1};
__thread struct tfp_thread *tfp_self;

#define IGNORED 2 /* the thread is ours */

/* 1 while this thread is inside tfp_thread_start: a signal handler that gets here then goes unrecorded. */
static __thread uint32_t is_starting;

/* The ticks before which this thread asks for no state: the log or the memory had no room for one. */
static __thread uint64_t again;

static const struct tfp_segment_kind slots = {TFP_BLOCK_THREADS, sizeof(struct tfp_thread_slot), 2}; /* 4 KiB with header */

static void take_early_losses(struct tfp_thread *thread, uint64_t now)
{
	for (uint32_t kind = 1; kind < TFP_LOSS_SLOTS; kind++) {
		uint32_t count = tfp_state->early_losses[kind];
		if (count)
			count = __atomic_exchange_n((uint32_t *)&tfp_state->early_losses[kind], 0, __ATOMIC_RELAXED);
		if (count)
			tfp_loss_add(thread, (enum tfp_loss)kind, count, now);
	}
}

static int is_gone(const struct tfp_thread *thread, uint32_t my_tid)
{
	uint32_t tid = __atomic_load_n(&thread->tid, __ATOMIC_RELAXED);

	return tid == my_tid || tfp_sys(SYS_tgkill, tfp_state->pid, tid, 0, 0, 0, 0) == -ESRCH;
}

/* Asked again once the slot is ours: between the question and the taking somebody else may have taken it over and begun. */
static int claim_ended(struct tfp_thread *old, uint32_t my_tid)
{
	uint64_t in_use = 1;

	if (!is_gone(old, my_tid) || !__atomic_compare_exchange_n(&old->slot->state, &in_use, 2, 0, __ATOMIC_ACQ_REL,
								  __ATOMIC_RELAXED))
		return 0;
	if (is_gone(old, my_tid))
		return 1;
	__atomic_store_n(&old->slot->state, 1, __ATOMIC_RELEASE);
	return 0;
}

/* The first of at most `most` threads from *at on that has ended, now ours, or NULL. *at moves on behind what was looked at. */
static struct tfp_thread *take_from(struct tfp_thread **at, int most, uint32_t my_tid)
{
	for (; *at && most; *at = (*at)->next) {
		if (!(*at)->is_ready)
			continue;
		most--;
		if (claim_ended(*at, my_tid))
			return *at;
	}
	return NULL;
}

/*
 * Takes over the state of a thread that ended: its slot's state says who owns it, changed by compare-and-swap. The newest
 * are looked at each time, for threads that come and go leave these, and a few of all in turn: among ten thousand that live
 * a start must not pass by each.
 */
static struct tfp_thread *take_ended(uint32_t my_tid)
{
	struct tfp_thread *newest = tfp_state->threads;
	struct tfp_thread *found = take_from(&newest, LOOK_AT / 2, my_tid);

	if (found)
		return found;
	struct tfp_thread *at = tfp_state->look_next;
	if (!at)
		at = newest;
	found = take_from(&at, LOOK_AT / 2, my_tid);
	tfp_state->look_next = at; /* two threads starting at once look at the same ones; at the end it begins anew */
	return found;
}

/* Who ended, and what its slot counted, goes into the new owner's stream; where there is no room nobody will know it by name. */
static void tell_end(struct tfp_thread *self, const struct tfp_thread_slot *old, uint64_t now)
{
	const struct tfp_heap_totals *heap = old->heap;
	const struct tfp_map_totals *map = old->map;

	TFP_PUT(self, self->lanes, now, thread_end, .serial = old->serial, .tid = old->tid, .start = old->start_time,
		.end = now, .allocations = heap[0].allocations + heap[1].allocations, .frees = heap[0].frees + heap[1].frees,
		.requested = heap[0].requested_bytes + heap[1].requested_bytes,
		.allocated = heap[0].allocated_bytes + heap[1].allocated_bytes,
		.freed = heap[0].freed_bytes + heap[1].freed_bytes, .maps = map[0].maps + map[1].maps,
		.unmaps = map[0].unmaps + map[1].unmaps, .mapped = map[0].mapped_bytes + map[1].mapped_bytes,
		.unmapped = map[0].unmapped_bytes + map[1].unmapped_bytes, .own_allocations = old->own_allocations,
		.own = old->own_bytes);
}

/* All words of both are counters. */
static void add_words(void *to, const void *more, size_t bytes)
{
	uint64_t *sum = to;
	const uint64_t *part = more;

	for (size_t i = 0; i < bytes / sizeof *sum; i++)
		sum[i] += part[i];
}

/* The ended thread's counters go to those of the slot's threads before it: in the other of the two sums, which one store makes valid. */
static void keep_ended(struct tfp_thread_slot *slot)
{
	uint64_t which = ~slot->ended_through & 1;
	struct tfp_ended_totals *sum = &slot->ended[which];

	*sum = slot->ended[!which];
	for (int lane = 0; lane < 2; lane++) {
		add_words(&sum->heap, &slot->heap[lane], sizeof sum->heap);
		add_words(&sum->map, &slot->map[lane], sizeof sum->map);
	}
	sum->own_allocations += slot->own_allocations;
	sum->own_bytes += slot->own_bytes;
	__atomic_store_n(&slot->ended_through, (uint64_t)slot->serial << 1 | which, __ATOMIC_RELEASE); /* read by the reducer */
}

void tfp_thread_settle_slow(struct tfp_thread *thread)
{
	struct tfp_heap_budget *budget = &thread->budget;
	const struct tfp_heap_totals *totals = *(struct tfp_heap_totals *const volatile *)&budget->totals;
	uint32_t road = budget->road;

	budget->road = 0; /* from here on a handler's calls take the general road */
	if (!totals) /* a handler has forked, and this is the child */
		return;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	uint64_t allocated = totals->allocated_bytes - budget->allocated;
	thread->lanes[0].pending += (int64_t)(allocated - (totals->freed_bytes - budget->freed));
	thread->calls_left -= (int32_t)((uint32_t)(totals->allocations + totals->frees) - budget->calls);
	if (tfp_heap_road_samples(road))
		thread->sample_left -= (int64_t)allocated;
}

/*
 * The ended thread's chunks are sealed under its serial, then filled under ours; what its slot counted goes into our
 * stream and to the slot's sum, and only then is the slot cleared, but for its losses, which go on: whatever becomes of the
 * stream, the sum over all slots is exact.
 */
static void take_over(struct tfp_thread *self, uint32_t serial, uint32_t tid, uint64_t now)
{
	tfp_thread_settle(self);
	for (uint16_t lane = 0; lane < 2; lane++)
		tfp_lane_hand_over(self, &self->lanes[lane], serial, now);
	self->serial = serial;
	self->tid = tid;
	self->depth = 0;
	self->is_own = 0;
	self->op_step = self->op_stepper = 0;
	self->op_others = 0;
	self->op_since = self->op_nested = 0;
	self->op_asker = 0;
	self->gpu.depth = self->gpu.device = 0;
	tell_end(self, self->slot, now);
	keep_ended(self->slot);
	tfp_fill(&self->slot->serial, 0, offsetof(struct tfp_thread_slot, losses) - offsetof(struct tfp_thread_slot, serial));
}

static int hides_handlers; /* set once, never cleared; kept across fork, as alternate stacks are */

void tfp_thread_hides_handlers(void)
{
	hides_handlers = 1;
}

/*
 * The stack grows down, and a handler's hook lies at least a signal frame below the hook it interrupted; a hook that began
 * at or below the one now beginning has been left, if both are on one stack: not where we are on the alternate signal
 * stack, nor so far apart that it may be another coroutine's. Where that cannot be seen none counts as left: a lane that is used twice
 * at once is worse than a thread that goes on in its second one.
 */
int tfp_thread_is_left(const struct tfp_thread *thread, uintptr_t frame)
{
	stack_t alternate = {.ss_flags = SS_DISABLE};

	if (thread->is_own || hides_handlers || frame + SIGNAL_FRAME <= thread->entered || frame > thread->entered + STACK_SPAN)
		return 0;
	return tfp_sys(SYS_sigaltstack, 0, (long)&alternate, 0, 0, 0, 0) == 0 && !(alternate.ss_flags & SS_ONSTACK);
}

struct tfp_lane *tfp_thread_enter_lane_slow(struct tfp_thread *thread, uintptr_t frame)
{
	uint32_t number = tfp_thread_enter_at(thread, frame);

	if (thread->is_ready == 1 && number <= 1)
		return &thread->lanes[number];
	tfp_thread_leave(thread);
	if (thread->is_ready == 1)
		tfp_loss_add(thread, TFP_LOSS_nested, 1, tfp_now());
	return NULL;
}

static struct tfp_thread *make_thread(void)
{
	uint32_t index;
	struct tfp_thread *thread = tfp_pages_get(sizeof *thread, 1);

	if (!thread)
		return NULL;
	thread->slot = tfp_segment_take(&tfp_state->slots, &slots, (uint64_t *)&tfp_state->slot_count, 0, &index);
	if (!thread->slot) {
		tfp_pages_put(thread, sizeof *thread);
		return NULL;
	}
	struct tfp_thread *head = tfp_state->threads;
	do
		thread->next = head;
	while (!__atomic_compare_exchange_n((struct tfp_thread **)&tfp_state->threads, &head, thread, 0, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED));
	return thread;
}

static struct tfp_thread *begin_thread(void)
{
	uint32_t tid = (uint32_t)tfp_sys(SYS_gettid, 0, 0, 0, 0, 0, 0);
	uint64_t now = tfp_now();

	/* Another process in our memory (clone with CLONE_VM and a TLS of its own): its threads look as if they had ended. */
	if (!tfp_sys_is_sealed() && tfp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0) != (long)tfp_state->pid)
		return NULL;
	struct tfp_thread *ended = take_ended(tid), *thread = ended ? ended : make_thread();
	if (!thread) {
		again = tfp_ticks() + tfp_state->second_ticks / AGAIN_PART;
		return NULL;
	}
	uint32_t serial = (uint32_t)__atomic_add_fetch(&tfp_state->live->threads_count, 1, __ATOMIC_RELAXED);
	if (ended) {
		take_over(thread, serial, tid, now);
	} else {
		thread->serial = serial;
		thread->tid = tid;
	}
	thread->handle = (uintptr_t)pthread_self();
	struct tfp_thread_slot *slot = thread->slot;
	slot->serial = serial;
	slot->tid = tid;
	slot->start_time = now;
	tfp_sys(SYS_prctl, PR_GET_NAME, (long)slot->name, 0, 0, 0, 0);
	__atomic_store_n(&slot->state, 1, __ATOMIC_RELEASE); /* read by the reducer and by take_ended */
	thread->random = (tfp_ticks() ^ (uint64_t)serial << 32 ^ (uint64_t)(uintptr_t)thread) | 1;
	thread->calls_left = 1; /* the first call takes the slow look */
	thread->sample_left = INT64_MIN / 4 * 3;
	thread->sample_released = 0;
	take_early_losses(thread, now);
	thread->is_ready = 1;
	return thread;
}

void tfp_thread_ignore(void)
{
	is_starting = IGNORED;
}

struct tfp_thread *tfp_thread_own(void)
{
	if (tfp_thread_ready())
		return tfp_self;
	is_starting = 0;
	struct tfp_thread *self = tfp_thread_start();
	is_starting = IGNORED;
	if (self)
		self->depth = self->is_own = 1;
	return self;
}

struct tfp_thread *tfp_own_begin(void)
{
	struct tfp_thread *self = tfp_thread_have();

	if (self) {
		self->depth++;
		self->is_own++;
		tfp_thread_settle(self); /* what only counts would count as the host's */
	}
	return self;
}

void tfp_own_end(struct tfp_thread *self)
{
	if (!self)
		return;
	self->is_own--;
	self->depth--;
}

/* What could not be recorded for want of a state is counted where it belongs to nobody. */
static struct tfp_thread *none(void)
{
	if (is_starting != IGNORED && tfp_state && tfp_state->phase == TFP_STATE_READY)
		__atomic_fetch_add(&tfp_state->live->early_calls, 1, __ATOMIC_RELAXED);
	return NULL;
}

static int is_never; /* written at start-up; kept across fork */

void tfp_threads_never_start(void)
{
	is_never = 1;
}

/* Whether every look for a log would find none: hooks that ask for a state at each call must not pay for that. */
static int is_in_vain(void)
{
	return is_never || (tfp_state && tfp_state->phase == TFP_STATE_FAILED);
}

/* Whether there was no room just now. A fork child has its own log to make first. */
static int is_too_soon(void)
{
	return again && tfp_state && tfp_state->phase == TFP_STATE_READY && tfp_ticks() < again;
}

/* A handler that forked in here would leave a child in the middle of its parent's log; one that came back by longjmp, nobody to end it. */
struct tfp_thread *tfp_thread_start(void)
{
	struct tfp_signals signals;

	if (is_starting || is_in_vain() || is_too_soon())
		return none();
	int is_started = tfp_state && tfp_state->phase == TFP_STATE_READY;
	if (is_started)
		tfp_signals_block(&signals);
	else
		tfp_signals_block_handled(&signals);
	is_starting = 1;
	if (!is_started)
		is_started = tfp_start_process() == 0;
	if (is_started && !(tfp_self && tfp_self->is_ready))
		tfp_self = begin_thread();
	is_starting = 0;
	tfp_signals_restore(&signals);
	return is_started && tfp_self && tfp_self->is_ready ? tfp_self : none();
}

#define RATE_LEAST_NS 10000000 /* a shorter life knows its counter less well than the process that forked it may have */

void tfp_clock_note(struct tfp_thread *thread, struct tfp_lane *lane)
{
	struct tfp_clock_set set;

	tfp_clock_read(&set);
	TFP_PUT(thread, lane, tfp_now(), clock, .ticks = set.ticks, .raw = set.raw_ns, .monotonic = set.monotonic_ns,
		.realtime = set.realtime_ns, .width = set.width_ticks);
	uint64_t hz = tfp_clock_hz(&tfp_origin.start, &set);

	if (set.raw_ns - tfp_origin.start.raw_ns > RATE_LEAST_NS)
		tfp_origin.clock_hz = hz;
	tfp_state->live->clock_hz = tfp_origin.clock_hz ? tfp_origin.clock_hz : hz;
}

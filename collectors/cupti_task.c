/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of our thread for CUPTI: flush, decode, clocks, counts of what was lost; and the fetching at the end of the
 * process. See collectors/cupti.h.
 *
 * Rule: what CUPTI has complete is in the log one flush period later at most; nobody of the host waits for it but at the end
 * of the process, for 2 s.
 */
#include "collectors/cupti_buffers.h"
#include "collectors/cupti_state.h"
#include "collectors/window.h"
#include "collectors/heap.h"
#include "collectors/nvml.h"

#include "writer/sys.h"

#include <sys/syscall.h>

#include "writer/poison.h"

#define END_MS 2000u      /* waited for the last buffers */
#define FETCH_MS 500u     /* waited before an exec, a filter or an abort */
#define END_WORK_MS 1000u /* of it, for work that still runs on the device */
#define END_WAITED_MS 100u /* of it, where each thread has waited for its work, on whatever stream */

/* Two threads may want to at the end of a process; whoever comes second leaves it to the first. */
static int take_reading(struct tfp_cupti *cupti)
{
	uint32_t free_state = 0;

	return __atomic_compare_exchange_n((uint32_t *)&cupti->is_reading, &free_state, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void count_losses(struct tfp_cupti *cupti, struct tfp_thread *thread, uint64_t thrown_away)
{
	uint64_t lost = tfp_cupti_tables_lost(cupti->decoder.tables) - cupti->noted_lost;
	uint64_t unreadable = cupti->decoder.unreadable - cupti->noted_unreadable;
	uint64_t forgotten = cupti->decoder.forgotten - cupti->noted_forgotten;

	cupti->is_lossy |= unreadable || thrown_away;
	cupti->noted_lost += lost;
	cupti->noted_unreadable += unreadable;
	cupti->noted_forgotten += forgotten;
	if (lost)
		tfp_loss_add(thread, TFP_LOSS_gpu_tables, lost, tfp_now());
	if (unreadable)
		tfp_loss_add(thread, TFP_LOSS_cupti_unreadable, unreadable, tfp_now());
	if (forgotten)
		tfp_loss_add(thread, TFP_LOSS_cupti_windows, forgotten, tfp_now());
	if (thrown_away)
		tfp_loss_add(thread, TFP_LOSS_cupti_dropped, thrown_away, tfp_now());
}

uint64_t tfp_cupti_read_all(struct tfp_cupti *cupti, struct tfp_thread *thread, struct tfp_lane *lane)
{
	struct tfp_cupti_full full;
	uint64_t before = cupti->decoder.records;
	uint32_t kernel_bytes = cupti->decoder.strides.of[TFP_CUPTI_CONCURRENT_KERNEL];

	if (!take_reading(cupti))
		return 0;
	uint64_t thrown_away = kernel_bytes ? (tfp_cupti_buffers_wasted() + kernel_bytes - 1) / kernel_bytes : 0; /* about */
	cupti->decoder.next_record = cupti->phase == TFP_CUPTI_ON ? cupti->api.next_record : NULL;
	while (tfp_cupti_buffers_take(&full)) {
		if (full.is_discarded)
			thrown_away += tfp_cupti_count(&cupti->decoder, full.start, full.valid_bytes);
		else
			tfp_cupti_decode(&cupti->decoder, thread, lane, full.start, full.valid_bytes);
		tfp_cupti_buffers_give(&full);
		if (cupti->decoder.last_kernel > cupti->newest) /* no callbacks: the records lead */
			cupti->newest = cupti->decoder.last_kernel;
	}
	count_losses(cupti, thread, thrown_away);
	__atomic_store_n((uint32_t *)&cupti->is_reading, 0, __ATOMIC_RELEASE);
	return cupti->decoder.records - before;
}

/* What CUPTI threw away itself since it was last asked; asking clears it. */
static void count_dropped(struct tfp_cupti *cupti, struct tfp_thread *thread)
{
	size_t dropped = 0;

	if (cupti->api.dropped(NULL, 0, &dropped) || !dropped)
		return;
	cupti->is_lossy = 1;
	tfp_loss_add(thread, TFP_LOSS_cupti_dropped, dropped, tfp_now());
}

/* The narrowest of three readings of CUPTI's clock between two of ours. */
static void put_clock(struct tfp_cupti *cupti, struct tfp_thread *thread, struct tfp_lane *lane)
{
	uint64_t best = UINT64_MAX, middle = 0, timestamp = 0;

	for (int i = 0; i < 3; i++) {
		uint64_t said = 0, before = tfp_ticks();
		uint32_t result = (uint32_t)cupti->api.timestamp(&said);
		uint64_t width = tfp_ticks() - before;
		if (result || width >= best)
			continue;
		best = width;
		middle = before + width / 2;
		timestamp = said;
	}
	if (best != UINT64_MAX)
		TFP_PUT(thread, lane, tfp_now(), gpu_clock, .ticks = middle, .width = best, .timestamp = timestamp);
}

static uint64_t ms_ticks(uint32_t ms)
{
	return tfp_state->second_ticks / 1000 * ms;
}

/* Time that somebody has waited for another thread, less that in which neither could run: a process that is stopped, or whose machine
 * is, gives nobody a chance to answer, and a stretch longer than a wait is meant to be counts as that wait. */
struct patience {
	uint64_t last_ns, spent_ns;
};

static struct patience patience_begin(void)
{
	return (struct patience){.last_ns = tfp_clock_monotonic_ns()};
}

/* Whether less than `most_ms` went by; wait_ms: what a single wait between two such questions takes. */
static int is_patient(struct patience *patience, uint32_t most_ms, uint32_t wait_ms)
{
	uint64_t now = tfp_clock_monotonic_ns(), passed = now - patience->last_ns, most = wait_ms * UINT64_C(1000000);

	patience->last_ns = now;
	patience->spent_ns += passed < most ? passed : most;
	return patience->spent_ns < most_ms * UINT64_C(1000000);
}

/* CUPTI tells of a device when its first context is made, if the kind is asked for then: not where a window opens later. */
static void describe(struct tfp_cupti *cupti)
{
	if (cupti->decoder.devices || !cupti->decoder.last_kernel || cupti->is_described)
		return;
	cupti->is_described = 1;
	tfp_cupti_options.describe();
}

/* Has CUPTI hand over what is complete (all: also what is not), and reads it. Returns records read. */
static uint64_t fetch(struct tfp_cupti *cupti, struct tfp_thread *thread, struct tfp_lane *lane, int is_all)
{
	cupti->is_lossy |= cupti->api.flush_all(is_all ? 1 : 0) != TFP_CUPTI_SUCCESS;
	uint64_t got = tfp_cupti_read_all(cupti, thread, lane);
	count_dropped(cupti, thread);
	describe(cupti);
	return got;
}

/* Whether work may still run that its record is worth waiting for: not where the only context is stopped by a kernel's fault. */
static int is_worth_waiting(const struct tfp_cupti *cupti, struct patience *patience)
{
	enum tfp_cupti_outstanding state = tfp_cupti_outstanding(cupti);

	return state && !cupti->is_lossy && cupti->launching != TFP_CUPTI_BROKEN &&
	       is_patient(patience, state == TFP_CUPTI_WAITED ? END_WAITED_MS : END_WORK_MS, END_WORK_MS / 2);
}

/* The process ends: work that was launched may still run; after a while what is complete must do. */
static void fetch_last(struct tfp_cupti *cupti, struct tfp_thread *thread, struct tfp_lane *lane)
{
	struct patience patience = patience_begin();

	if (cupti->phase == TFP_CUPTI_ON && (cupti->is_enabled || cupti->close_time)) {
		fetch(cupti, thread, lane, 0);
		while (is_worth_waiting(cupti, &patience)) {
			tfp_futex_wait((uint32_t *)&cupti->end_done, 0, 5); /* ms; nobody wakes it */
			fetch(cupti, thread, lane, 0);
		}
		if (cupti->is_enabled && !cupti->close_time)
			TFP_PUT(thread, lane, tfp_now(), gpu_state, .state = TFP_GPU_STATE_ENDS);
		fetch(cupti, thread, lane, 1);
		put_clock(cupti, thread, lane);
		if (tfp_cupti_outstanding(cupti) == TFP_CUPTI_UNWAITED)
			tfp_loss_add(thread, TFP_LOSS_cupti_unflushed, 1, tfp_now());
	}
	cupti->phase = TFP_CUPTI_ENDED; /* from here on CUDA takes itself down: nobody calls CUPTI any more */
}

static void flush_when_due(struct tfp_cupti *cupti, struct tfp_thread *self, struct tfp_lane *lane)
{
	uint64_t now = tfp_ticks();

	if ((int64_t)(now - cupti->next_flush) < 0) {
		tfp_cupti_read_all(cupti, self, lane); /* woken because buffers are full */
		return;
	}
	cupti->next_flush = now + ms_ticks(tfp_cupti_options.flush_ms);
	uint64_t got = fetch(cupti, self, lane, 0);
	cupti->quiet_flushes = got ? 0 : cupti->quiet_flushes + 1;
	if (cupti->decoder.managed && !cupti->is_managed) {
		cupti->is_managed = 1;
		tfp_cupti_enable_managed(cupti);
	}
}

static uint32_t ms_until(uint64_t due)
{
	int64_t left = (int64_t)(due - tfp_ticks());

	return left <= 0 ? 1 : (uint32_t)((uint64_t)left / (tfp_state->second_ticks / 1000) + 1);
}

static void answer_fetch(struct tfp_cupti *cupti, struct tfp_thread *self, struct tfp_lane *lane)
{
	uint32_t asked = cupti->fetch_asked;

	if (asked == cupti->fetch_done)
		return;
	if (cupti->phase == TFP_CUPTI_ON)
		fetch(cupti, self, lane, (int)cupti->fetch_is_last);
	__atomic_store_n((uint32_t *)&cupti->fetch_done, asked, __ATOMIC_RELEASE);
	tfp_futex_wake((uint32_t *)&cupti->fetch_done);
}

#define FRAGILE_MS 20u /* how soon it is asked again whether the driver has a device */

uint32_t tfp_cupti_task(struct tfp_thread *self)
{
	struct tfp_cupti *cupti = tfp_cupti;
	struct tfp_lane *lane = &self->lanes[0];

	if (!cupti || !cupti->phase)
		return TFP_DRAIN_NEVER;
	if (cupti->end_asked && !cupti->end_done) {
		tfp_cupti_tell_left(1);
		fetch_last(cupti, self, lane);
		__atomic_store_n((uint32_t *)&cupti->end_done, 1, __ATOMIC_RELEASE);
		tfp_futex_wake((uint32_t *)&cupti->end_done);
	}
	answer_fetch(cupti, self, lane);
	uint32_t nvml_ms = cupti->phase != TFP_CUPTI_ENDED ? tfp_nvml_task(self, lane) : TFP_DRAIN_NEVER;
	if (cupti->phase >= TFP_CUPTI_REFUSED) {
		tfp_cupti_read_all(cupti, self, lane);
		return nvml_ms;
	}
	tfp_look(self, lane); /* windows by time, our clock: the host may be waiting for its device */
	tfp_cupti_apply(1);
	tfp_cupti_tell_left(0);
	if (cupti->phase != TFP_CUPTI_ON)
		tfp_cupti_read_all(cupti, self, lane);
	else if (cupti->is_enabled || cupti->close_time)
		flush_when_due(cupti, self, lane);
	if (cupti->phase == TFP_CUPTI_ON && cupti->is_enabled && (int64_t)(tfp_ticks() - cupti->next_clock) >= 0) {
		cupti->next_clock = tfp_ticks() + tfp_state->second_ticks;
		put_clock(cupti, self, lane);
	}
	tfp_cupti_buffers_grow();
	uint32_t edge_ms = tfp_window_look(self);
	if (cupti->is_fragile)
		return FRAGILE_MS < edge_ms ? FRAGILE_MS : edge_ms;
	uint32_t flush_ms = cupti->phase == TFP_CUPTI_ON && cupti->is_enabled ? ms_until(cupti->next_flush) : tfp_cupti_options.flush_ms;
	flush_ms = flush_ms < edge_ms ? flush_ms : edge_ms;
	return flush_ms < nvml_ms ? flush_ms : nvml_ms;
}

/* Where our thread cannot: it never started, or the process may make no more system calls. */
static void end_here(struct tfp_cupti *cupti)
{
	struct tfp_thread *thread = tfp_thread_have();
	struct tfp_lane *lane;

	if (!thread || !(thread = tfp_thread_enter_lane(thread, &lane)))
		return;
	thread->is_own++;
	if (cupti->phase != TFP_CUPTI_ENDED && !tfp_sys_is_sealed()) {
		fetch_last(cupti, thread, lane);
	} else {
		if (cupti->phase == TFP_CUPTI_ON)
			tfp_loss_add(thread, TFP_LOSS_cupti_unflushed, 1, tfp_now());
		cupti->phase = TFP_CUPTI_ENDED;
		tfp_cupti_read_all(cupti, thread, lane);
	}
	thread->is_own--;
	tfp_thread_leave(thread);
}

/* Ours to speak of: our own process, and not one that lives in its memory until it execs. */
static int is_at_home(void)
{
	return tfp_sys_is_sealed() || tfp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0) == (long)tfp_state->pid;
}

void tfp_cupti_fetch(int is_last)
{
	struct tfp_cupti *cupti = tfp_cupti;

	if (!cupti || cupti->phase != TFP_CUPTI_ON || !tfp_drain_has_thread() || (tfp_self && tfp_self->is_own) || !is_at_home())
		return;
	struct patience patience = patience_begin();
	cupti->fetch_is_last = is_last != 0;
	uint32_t wanted = ++cupti->fetch_asked, done;
	tfp_drain_wake();
	while ((done = __atomic_load_n((uint32_t *)&cupti->fetch_done, __ATOMIC_ACQUIRE)) != wanted &&
	       (int32_t)(wanted - done) > 0 && is_patient(&patience, FETCH_MS, FETCH_MS / 4))
		tfp_futex_wait((uint32_t *)&cupti->fetch_done, done, FETCH_MS / 4);
}

void tfp_cupti_end(void)
{
	struct tfp_cupti *cupti = tfp_cupti;

	if (!cupti || !cupti->phase || (tfp_self && tfp_self->is_own))
		return;
	if (!is_at_home() || cupti->phase == TFP_CUPTI_REFUSED) /* refused: nothing was ever asked of it, and nobody would answer */
		return;
	if (cupti->phase == TFP_CUPTI_ENDED || !tfp_drain_has_thread()) {
		end_here(cupti);
		return;
	}
	struct patience patience = patience_begin();
	cupti->end_asked = 1;
	tfp_drain_wake();
	while (!__atomic_load_n((uint32_t *)&cupti->end_done, __ATOMIC_ACQUIRE) && is_patient(&patience, END_MS, END_MS / 4))
		tfp_futex_wait((uint32_t *)&cupti->end_done, 0, END_MS / 4);
	if (cupti->end_done)
		return;
	cupti->phase = TFP_CUPTI_ENDED;
	tfp_loss_note(TFP_LOSS_cupti_unflushed);
}

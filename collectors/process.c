/* SPDX-License-Identifier: Apache-2.0 */
/* Forks, programs started, the end; see collectors/process.h. */
#include "collectors/process.h"

#include "collectors/heap.h"
#include "collectors/names.h"
#include "collectors/system.h"
#include "collectors/title.h"
#include "collectors/window.h"
#include "writer/file.h"
#include "writer/store.h"
#include "writer/sys.h"

#include <sys/syscall.h>

/* Depth and lane as in heap.c; NULL where nothing is recorded, or in a process (vfork child) that only borrows our memory. */
static struct tfp_thread *enter(struct tfp_lane **lane)
{
	struct tfp_thread *thread = tfp_self;

	if (tfp_mode_now <= TFP_MODE_PASS || !thread || thread->is_ready != 1)
		return NULL;
	return tfp_thread_enter_lane(thread, lane);
}

static int is_live(void)
{
	return tfp_state && tfp_state->phase == TFP_STATE_READY;
}

static int is_borrowed(void)
{
	return tfp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0) != (long)tfp_state->pid;
}

void tfp_fact_pair(uint8_t tag, const char *name, const char *value)
{
	struct tfp_fact_field fields[2] = {
		{.is_text = 1, .text = {name, tfp_length(name)}},
		{.is_text = 1, .text = {value, tfp_length(value)}},
	};

	tfp_store_fact(tag, fields, 2);
}

void tfp_fact_framework(const char *name, const char *how, const char *detail)
{
	struct tfp_fact_field fields[3] = {
		{.is_text = 1, .text = {name, tfp_length(name)}},
		{.is_text = 1, .text = {how, tfp_length(how)}},
		{.is_text = 1, .text = {detail, tfp_length(detail)}},
	};

	if (tfp_state && tfp_state->phase == TFP_STATE_READY)
		tfp_store_fact(TFP_TAG_framework, fields, 3);
}

uint64_t tfp_string_id(const char *text)
{
	return tfp_name_id(text, tfp_length(text));
}

void tfp_process_leaves_counter(void)
{
	tfp_clock_leave_counter(&tfp_origin.start);
}

void tfp_process_forbidding(int is_strict)
{
	struct tfp_lane *lane;

#if defined __x86_64__
	if (is_strict) /* the kernel takes the counter away with it */
		tfp_process_leaves_counter();
#else
	(void)is_strict;
#endif
	if (tfp_clock_kind != TFP_CLOCK_MONOTONIC)
		return;
	struct tfp_thread *thread = enter(&lane);
	if (thread) {
		tfp_loss_add(thread, TFP_LOSS_clock_stopped, 1, tfp_now());
		tfp_thread_leave(thread);
	}
	tfp_clock_stop(1);
}

void tfp_process_allowed(void)
{
	tfp_clock_stop(0);
}

void tfp_process_forking(void)
{
	/* A process that does nothing but fork again must be there to be named as a parent. */
	struct tfp_thread *thread = tfp_thread_have();

	if (!is_live())
		return;
	uint64_t live = tfp_state->live->live_bytes;
	if (thread)
		tfp_thread_settle(thread);
	if (thread)
		live += (uint64_t)(thread->lanes[0].pending + thread->lanes[1].pending);
	tfp_origin.inherited_bytes = (int64_t)live > 0 ? live : 0;
}

void tfp_process_forked(int child)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread = child > 0 ? enter(&lane) : NULL;

	if (!thread)
		return;
	TFP_PUT(thread, lane, tfp_now(), fork, .child = (uint32_t)child);
	tfp_thread_leave(thread);
}

void tfp_process_child_killed(int child, int status)
{
	struct tfp_fact_field fields[2] = {{.number = (uint32_t)child}, {.number = (uint32_t)status}};

	if (is_live() && tfp_mode_now > TFP_MODE_PASS && !is_borrowed())
		tfp_store_fact(TFP_TAG_child_killed, fields, 2);
}

/* A last clock reading pins the end of the time line: without one the last second rests on an extrapolation. */
static void put_last_clock(void)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread = tfp_sys_is_sealed() ? NULL : enter(&lane);

	if (!thread)
		return;
	tfp_clock_note(thread, lane);
	tfp_system_end(thread, lane);
	tfp_title_look(tfp_now(), 1);
	tfp_thread_settle(thread);
	if (lane->pending)
		tfp_heap_flush(thread, lane);
	tfp_thread_leave(thread);
}

static _Atomic uint32_t forks_inside; /* such forks now in progress; a child sees how many there were */

int tfp_process_forks_inside(void)
{
	struct tfp_thread *thread = tfp_self;

	if (!is_live() || !thread || thread->is_ready != 1 || !thread->depth)
		return forks_inside != 0;
	uint32_t lane = tfp_thread_enter(thread);
	tfp_thread_leave(thread);
	if (!lane) /* that hook is gone */
		return forks_inside != 0;
	forks_inside++;
	tfp_pages_keep(1);
	tfp_loss_add(thread, TFP_LOSS_interrupted_fork, 1, tfp_now());
	return 1;
}

uintptr_t tfp_process_counters(void)
{
	struct tfp_thread *thread = tfp_self;

	return thread && thread->is_ready == 1 ? (uintptr_t)&thread->slot->heap[0] : 0;
}

void tfp_process_in_child(uintptr_t counters)
{
	if (counters)
		tfp_pages_blank(counters, sizeof(struct tfp_heap_totals));
}

void tfp_process_forked_inside(int child)
{
	if (!child) {
		forks_inside = 0;
		tfp_heap_set_mode(TFP_MODE_PASS);
		tfp_is_open = 0;
		tfp_pages_detach();
		if (!tfp_state)
			return;
		tfp_state->phase = TFP_STATE_FAILED;
		tfp_state->drainer.phase = 0;
		if (tfp_state->log)
			tfp_file_abandon();
		return;
	}
	if (tfp_self && tfp_self->depth && --forks_inside == 0)
		tfp_pages_keep(0);
}

/* Not inlined: its stack is free again before the last readings are taken. */
__attribute__((noinline)) static void put_exec(const char *path)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread = enter(&lane);

	if (!thread)
		return;
	TFP_PUT(thread, lane, tfp_now(), exec, .path = tfp_string_id(path));
	tfp_thread_leave(thread);
}

int tfp_process_execing(const char *path)
{
	if (!is_live())
		return 0;
	put_exec(path);
	if (is_borrowed())
		return 0;
	put_last_clock();
	tfp_state->live->end_time = tfp_now();
	tfp_state->live->end_kind = TFP_END_EXEC;
	tfp_file_sync(); /* not the end: the exec may fail */
	return 1;
}

void tfp_process_exec_failed(void)
{
	tfp_state->live->end_kind = TFP_END_NONE;
	tfp_state->live->end_time = 0;
}

void tfp_process_spawned(int child, const char *path)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread = is_live() ? enter(&lane) : NULL;

	if (!thread)
		return;
	TFP_PUT(thread, lane, tfp_now(), spawn, .child = (uint32_t)child, .path = tfp_string_id(path));
	tfp_thread_leave(thread);
}

int tfp_process_unfollowed(int count)
{
	struct tfp_file_live *inherited = NULL;

	if (!is_live() && !tfp_sys_is_sealed())
		inherited = tfp_file_inherited();
	struct tfp_file_live *live = is_live() ? tfp_state->live : inherited;
	if (!live)
		return 0;
	__atomic_fetch_add(&live->programs_unfollowed, (uint64_t)(int64_t)count, __ATOMIC_RELAXED);
	if (inherited)
		tfp_file_inherited_done(inherited);
	return 1;
}

void tfp_process_ending(enum tfp_end_kind kind, int status)
{
	/* Behind a filter the kernel cannot be asked who we are. A vfork child there is rare, and its parent's end stands last. */
	if (!is_live() || (!tfp_sys_is_sealed() && is_borrowed()))
		return;
	tfp_window_signal_end();
	put_last_clock();
	tfp_state->live->end_status = (uint64_t)(int64_t)status;
	tfp_state->live->end_time = tfp_now();
	__atomic_store_n(&tfp_state->live->end_kind, (uint64_t)kind, __ATOMIC_RELEASE);
	tfp_file_end();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Address space mapped by the host; see collectors/maps.h. */
#include "collectors/maps.h"

#include "writer/poison.h"

#define PAGE UINT64_C(4096) /* lengths are rounded as the kernel does on x86-64; on 64 KiB pages they are a lower bound */

/* As enter_slow of heap.c, for calls that are rare anyway. NULL: nothing can be recorded. */
static struct tfp_thread *enter(uint32_t *lane)
{
	struct tfp_thread *thread = tfp_self;

	if (tfp_mode_now == TFP_MODE_PASS)
		return NULL;
	if (!thread || thread->is_ready != 1)
		thread = tfp_thread_start();
	if (!thread || thread->is_own)
		return NULL;
	*lane = tfp_thread_enter(thread);
	return thread->is_ready == 1 ? thread : NULL;
}

/* Where no record can be made (a handler that interrupted a handler's record) one is lost. */
static int is_too_deep(struct tfp_thread *thread, uint32_t lane, uint64_t now)
{
	if (lane <= 1)
		return 0;
	tfp_loss_add(thread, TFP_LOSS_nested, 1, now);
	tfp_thread_leave(thread);
	return 1;
}

/* caller: of a map; NULL: an unmap. */
static void note(const struct tfp_map_change *change, const struct tfp_caller *caller)
{
	uint32_t number;
	struct tfp_thread *thread = enter(&number);

	if (!thread)
		return;
	struct tfp_map_totals *totals = &thread->slot->map[number ? 1 : 0];
	uint64_t length = (change->length + PAGE - 1) & ~(PAGE - 1), now = tfp_now();
	*(caller ? &totals->maps : &totals->unmaps) += 1;
	*(caller ? &totals->mapped_bytes : &totals->unmapped_bytes) += length;
	if (is_too_deep(thread, number, now))
		return;
	struct tfp_lane *lane = &thread->lanes[number];
	if (caller) {
		uint32_t stack = tfp_mode_now >= TFP_MODE_SAMPLE ? tfp_caller_stack(thread, lane, caller) : 0;
		if (tfp_python_when && stack)
			tfp_python_put(thread, lane, now, TFP_PYTHON_SAMPLES);
		TFP_PUT(thread, lane, now, map, .address = change->address, .length = length, .stack = stack,
			.protection = change->protection, .flags = change->flags, .function = (uint8_t)change->function);
	} else {
		TFP_PUT(thread, lane, now, unmap, .address = change->address, .length = length,
			.function = (uint8_t)change->function);
	}
	tfp_thread_leave(thread);
}

void tfp_map_added(const struct tfp_map_change *change, const struct tfp_caller *caller)
{
	note(change, caller);
}

void tfp_map_removed(const struct tfp_map_change *change)
{
	note(change, NULL);
}

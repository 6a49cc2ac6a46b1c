/* SPDX-License-Identifier: Apache-2.0 */
/* Address space mapped by the host; see collectors/maps.h. */
#include "collectors/maps.h"

#include "writer/poison.h"

#define PAGE UINT64_C(4096) /* lengths are rounded as the kernel does on x86-64; on 64 KiB pages they are a lower bound */

/* As enter_slow of heap.c, for calls that are rare anyway. NULL: nothing can be recorded. */
static struct tfp_thread *enter(unsigned *lane)
{
	struct tfp_thread *thread = tfp_self;

	if (tfp_mode_now == TFP_MODE_PASS)
		return NULL;
	if (!thread || thread->is_ready != 1)
		thread = tfp_thread_start();
	if (!thread || thread->is_own)
		return NULL;
	if (thread->depth > 1) {
		tfp_loss_add(thread, TFP_LOSS_nested, 1, tfp_now());
		return NULL;
	}
	*lane = thread->depth++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return thread;
}

static void leave(struct tfp_thread *thread)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->depth--;
}

void tfp_map_added(const struct tfp_map_change *change, const struct tfp_caller *caller)
{
	unsigned number;
	struct tfp_thread *thread = enter(&number);

	if (!thread)
		return;
	struct tfp_lane *lane = &thread->lanes[number];
	uint64_t length = (change->length + PAGE - 1) & ~(PAGE - 1), now = tfp_now();
	thread->slot->map[number].maps++;
	thread->slot->map[number].mapped_bytes += length;
	uint32_t stack = tfp_mode_now >= TFP_MODE_SAMPLE ? tfp_caller_stack(thread, lane, caller) : 0;
	TFP_PUT(thread, lane, now, map, .address = change->address, .length = length, .stack = stack,
		.protection = change->protection, .flags = change->flags, .function = (uint8_t)change->function);
	leave(thread);
}

void tfp_map_removed(const struct tfp_map_change *change)
{
	unsigned number;
	struct tfp_thread *thread = enter(&number);

	if (!thread)
		return;
	struct tfp_lane *lane = &thread->lanes[number];
	uint64_t length = (change->length + PAGE - 1) & ~(PAGE - 1), now = tfp_now();
	thread->slot->map[number].unmaps++;
	thread->slot->map[number].unmapped_bytes += length;
	TFP_PUT(thread, lane, now, unmap, .address = change->address, .length = length,
		.function = (uint8_t)change->function);
	leave(thread);
}

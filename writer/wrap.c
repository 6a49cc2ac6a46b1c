/* SPDX-License-Identifier: Apache-2.0 */
/* FULL=wrap: the oldest events blocks make room for new ones. What is exported is told in writer/log.h. */
#include "writer/log.h"

#include "writer/state.h"
#include "writer/sys.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include "writer/poison.h"

#define AHEAD 4096u      /* events blocks that are looked through behind the oldest, while its writer has no processor to say where it is */

/* The draining thread has no slot of its own: what it gives up is counted for the newest thread, hence atomically. */
static void count_wrapped(uint64_t records)
{
	const struct tfp_thread *ready = tfp_thread_ready(), *thread = ready ? ready : tfp_state->threads;
	uint64_t now = tfp_now();

	if (!thread)
		return;
	struct tfp_loss_slot *loss = &thread->slot->losses[TFP_LOSS_wrapped];
	if (!__atomic_fetch_add(&loss->count, records, __ATOMIC_RELAXED))
		loss->first_time = now;
	loss->last_time = now;
}

uint64_t tfp_wrap_end(const struct tfp_log *log, uint64_t bytes)
{
	uint64_t alignment = log->is_wrapping ? log->page_bytes : 8;

	return ((log->live->file_end + alignment - 1) & ~(alignment - 1)) + bytes;
}

/* Whether `bytes` more fit, and another block can be remembered. */
static int has_room(const struct tfp_log *log, uint64_t bytes)
{
	uint64_t end = tfp_wrap_end(log, bytes);

	return (!log->max_bytes || end + TFP_COUNTERS_BYTES - log->dropped_bytes <= log->max_bytes) &&
	       !tfp_total_forbids(log, end, TFP_COUNTERS_BYTES) && log->newest - log->oldest < TFP_EVENT_BLOCKS;
}

/* Steps over the oldest ones that were given up, or whose place was taken. Returns the number of the oldest that was not. */
static uint64_t oldest_kept(struct tfp_log *log)
{
	uint64_t index = __atomic_load_n(&log->oldest, __ATOMIC_RELAXED);

	while (index < log->newest) {
		const struct tfp_extent *oldest = &log->events[index % TFP_EVENT_BLOCKS];
		uint64_t number = __atomic_load_n(&oldest->number, __ATOMIC_ACQUIRE);
		if (number < index + 1 || (number == index + 1 && oldest->bytes))
			break;
		if (__atomic_compare_exchange_n(&log->oldest, &index, index + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			index++;
	}
	return index;
}

/*
 * Gives the disk space of an events block back. Returns -1 where it is not there: another thread does it, or its writer has not said
 * yet what the number stands for.
 */
static int give_up(struct tfp_log *log, long descriptor, uint64_t index)
{
	struct tfp_extent *extent = &log->events[index % TFP_EVENT_BLOCKS], gone;

	if (__atomic_load_n(&extent->number, __ATOMIC_ACQUIRE) != index + 1)
		return -1;
	gone = *extent;
	if (!gone.bytes || !__atomic_compare_exchange_n(&extent->bytes, &gone.bytes, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return -1;
	uint64_t whole = (gone.bytes + log->page_bytes - 1) & ~(log->page_bytes - 1);
	if (tfp_is_error(tfp_sys(SYS_fallocate, descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (long)gone.offset, (long)whole,
				 0, 0)))
		return -1;
	__atomic_fetch_add(&log->dropped_bytes, whole, __ATOMIC_RELAXED);
	__atomic_fetch_add(&log->live->given_up_bytes, gone.bytes, __ATOMIC_RELAXED);
	tfp_log_raise(&log->live->dropped_from, gone.offset + whole);
	tfp_total_follow(log);
	count_wrapped(gone.records);
	return 0;
}

/* Whether an events block lies below one that was given up, written sooner at a higher place: a reader passes it over. */
static int is_skipped(const struct tfp_log *log, uint64_t index)
{
	const struct tfp_extent *extent = &log->events[index % TFP_EVENT_BLOCKS];

	return index < log->newest && __atomic_load_n(&extent->number, __ATOMIC_ACQUIRE) == index + 1 && extent->bytes &&
	       extent->offset < log->live->dropped_from;
}

int tfp_wrap_make_room(struct tfp_log *log, uint64_t bytes)
{
	int is_kept, is_made = has_room(log, bytes);
	long descriptor = is_made ? -1 : tfp_file_borrow(log, &is_kept);

	if (descriptor < 0)
		return is_made;
	for (uint64_t oldest = oldest_kept(log); !(is_made = has_room(log, bytes)) || is_skipped(log, oldest); oldest = oldest_kept(log)) {
		uint64_t index = oldest, end = oldest + AHEAD < log->newest ? oldest + AHEAD : log->newest;
		while (index < end && give_up(log, descriptor, index) != 0)
			index++; /* its writer has no processor just now: the next one goes instead */
		if (index == end)
			break;
	}
	tfp_file_give_back(descriptor, is_kept);
	return is_made;
}

static void give_up_kept(struct tfp_log *log, uint64_t index)
{
	int is_kept;
	long descriptor = tfp_file_borrow(log, &is_kept);

	if (descriptor < 0)
		return;
	give_up(log, descriptor, index);
	tfp_file_give_back(descriptor, is_kept);
}

void tfp_wrap_remember(struct tfp_log *log, uint64_t offset, uint64_t bytes, uint64_t records)
{
	uint64_t index = __atomic_fetch_add(&log->newest, 1, __ATOMIC_RELAXED);
	struct tfp_extent *extent = &log->events[index % TFP_EVENT_BLOCKS];

	/* Several threads may each have seen the last place: whose turn comes with ours is given up first, or nobody would ever again. */
	if (index >= TFP_EVENT_BLOCKS && extent->bytes)
		give_up_kept(log, index - TFP_EVENT_BLOCKS);
	extent->offset = offset;
	extent->records = records;
	extent->bytes = bytes;
	__atomic_store_n(&extent->number, index + 1, __ATOMIC_RELEASE);
}

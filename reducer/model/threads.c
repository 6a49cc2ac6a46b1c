/* SPDX-License-Identifier: Apache-2.0 */
/* Threads and losses of a process, from its slots and from the records of slots that were used again. */
#include "reducer/model/internal.h"

#include "reducer/model/number_map.h"
#include "reducer/read/schema.h"

#include <stdlib.h>
#include <string.h>

void *model_room(void *array, size_t count, size_t bytes)
{
	size_t capacity = count == 0 ? 8 : count * 2;

	if (count >= MODEL_ENTRIES_MAX)
		return NULL;
	if (count == 0 || (count >= 8 && (count & (count - 1)) == 0))
		array = realloc(array, capacity * bytes);
	if (array != NULL)
		memset((char *)array + count * bytes, 0, bytes);
	return array;
}

struct build {
	struct process *process;
	struct number_map ended; /* serials of threads that have a thread_end record */
	struct thread all; /* what all threads counted, also those that nothing else is left of */
};

enum { /* losses.def */
	LOSS_THREAD_STATE = 14,
	LOSS_LOG_REFUSED = 30,
	LOSS_LOG_REMOVED = 31,
	LOSS_CHILD_REFUSED = 40,
	LOSS_CHILD_UNMADE = 41,
};

static void add_loss(struct process *process, const struct loss *loss)
{
	const struct schema_row *row = schema_loss(process->log->schema, loss->kind);
	struct loss *losses = model_room(process->losses, process->loss_count, sizeof *losses), *to;

	if (losses == NULL)
		return;
	process->losses = losses;
	to = &losses[process->loss_count++];
	*to = *loss;
	to->name = row == NULL ? "unknown" : row->name;
	to->help = row == NULL ? "a kind of loss that the log does not name" : row->help;
	to->remedy = row == NULL ? "" : row->remedy;
}

/* What the log counts for no thread, and without times. */
static void add_loss_of_none(struct process *process, uint8_t kind, uint64_t count)
{
	if (count != 0)
		add_loss(process, &(struct loss){.kind = kind, .count = count, .first_ns = TIME_UNKNOWN, .last_ns = TIME_UNKNOWN});
}

/* A new thread of the process, all zero; NULL when there is no room. */
static struct thread *add_thread(struct process *process)
{
	struct thread *threads = model_room(process->threads, process->thread_count, sizeof *threads);

	if (threads == NULL)
		return NULL;
	process->threads = threads;
	return &threads[process->thread_count++];
}

static void add_heap(struct thread *thread, const struct tfp_heap_totals *heap)
{
	thread->allocations += heap->allocations;
	thread->frees += heap->frees;
	thread->requested_bytes += heap->requested_bytes;
	thread->allocated_bytes += heap->allocated_bytes;
	thread->freed_bytes += heap->freed_bytes;
	thread->unknown_frees += heap->unknown_frees;
	thread->unknown_freed_bytes += heap->unknown_freed_bytes;
}

static void add_map(struct thread *thread, const struct tfp_map_totals *map)
{
	thread->maps += map->maps;
	thread->unmaps += map->unmaps;
	thread->mapped_bytes += map->mapped_bytes;
	thread->unmapped_bytes += map->unmapped_bytes;
}

static void add_lanes(struct thread *thread, const struct tfp_thread_slot *slot)
{
	for (int lane = 0; lane < 2; lane++) {
		add_heap(thread, &slot->heap[lane]);
		add_map(thread, &slot->map[lane]);
	}
}

/* Of all threads that ever had the slot, once each: see format.h. */
static void add_all_of(struct thread *sum, const struct tfp_thread_slot *slot)
{
	if (slot->ended_through != 0) {
		add_heap(sum, &slot->ended[slot->ended_through & 1].heap);
		add_map(sum, &slot->ended[slot->ended_through & 1].map);
	}
	if (slot->serial > slot->ended_through >> 1)
		add_lanes(sum, slot);
}

/* Those of a slot that had other threads before may be theirs. */
static void take_losses(struct process *process, const struct tfp_thread_slot *slot)
{
	for (uint32_t kind = 0; kind < TFP_LOSS_SLOTS; kind++) {
		const struct tfp_loss_slot *loss = &slot->losses[kind];

		if (loss->count != 0)
			add_loss(process, &(struct loss){.thread = slot->ended_through == 0 ? slot->serial : 0, .kind = (uint8_t)kind,
							 .count = loss->count, .first_ns = (int64_t)(loss->first_time & INT64_MAX),
							 .last_ns = (int64_t)(loss->last_time & INT64_MAX)});
	}
}

/* Ticks as a time that is converted later; 0 = unknown. */
static int64_t as_time(uint64_t ticks)
{
	return ticks == 0 ? TIME_UNKNOWN : (int64_t)(ticks & INT64_MAX);
}

static int take_slot(void *context, const struct tfp_thread_slot *slot)
{
	struct build *build = context;
	struct process *process = build->process;
	struct thread *thread;

	add_all_of(&build->all, slot);
	take_losses(process, slot);
	/* Serial 0: being cleared for its next thread. One with a thread_end record: that record holds what it counted. */
	if (slot->serial == 0 || number_map_find(&build->ended, 0, slot->serial) != NUMBER_MAP_NONE)
		return 0;
	thread = add_thread(process);
	if (thread == NULL)
		return 0;
	thread->serial = slot->serial;
	thread->tid = slot->tid;
	memcpy(thread->name, slot->name, sizeof slot->name);
	thread->has_ended = slot->state == 2;
	thread->start_ns = (int64_t)(slot->start_time & INT64_MAX);
	thread->end_ns = as_time(slot->end_time);
	add_lanes(thread, slot);
	thread->own_allocations = slot->own_allocations;
	thread->own_bytes = slot->own_bytes;
	return 0;
}

static int by_serial(const void *a, const void *b)
{
	const struct thread *left = a, *right = b;

	return left->serial < right->serial ? -1 : left->serial > right->serial;
}

static int by_kind(const void *a, const void *b)
{
	const struct loss *left = a, *right = b;

	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	return left->thread < right->thread ? -1 : left->thread > right->thread;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * The slots say it all, but in logs of before, where what threads that ended counted is in their records alone. Those may have been
 * given up: `unlisted` is what is in the sum and in no thread.
 */
static void sum_threads(struct process *process, const struct thread *all)
{
	struct account *heap = &process->heap, *map = &process->mmap;
	struct thread sum = {0};

	for (size_t i = 0; i < process->thread_count; i++) {
		const struct thread *thread = &process->threads[i];

		add_heap(&sum, &(struct tfp_heap_totals){thread->allocations, thread->frees, thread->requested_bytes,
							 thread->allocated_bytes, thread->freed_bytes, thread->unknown_frees,
							 thread->unknown_freed_bytes, 0});
		add_map(&sum, &(struct tfp_map_totals){thread->maps, thread->unmaps, thread->mapped_bytes, thread->unmapped_bytes});
	}
	*heap = (struct account){.allocator = "heap", .peak_time_ns = TIME_UNKNOWN, .requested_peak_time_ns = TIME_UNKNOWN,
				 .allocations = larger(sum.allocations, all->allocations), .frees = larger(sum.frees, all->frees),
				 .requested_bytes = larger(sum.requested_bytes, all->requested_bytes),
				 .allocated_bytes = larger(sum.allocated_bytes, all->allocated_bytes),
				 .freed_bytes = larger(sum.freed_bytes, all->freed_bytes),
				 .unknown_frees = larger(sum.unknown_frees, all->unknown_frees),
				 .unknown_freed_bytes = larger(sum.unknown_freed_bytes, all->unknown_freed_bytes)};
	*map = (struct account){.allocator = "mmap", .peak_time_ns = TIME_UNKNOWN, .requested_peak_time_ns = TIME_UNKNOWN,
				.allocations = larger(sum.maps, all->maps), .frees = larger(sum.unmaps, all->unmaps),
				.requested_bytes = larger(sum.mapped_bytes, all->mapped_bytes),
				.allocated_bytes = larger(sum.mapped_bytes, all->mapped_bytes),
				.freed_bytes = larger(sum.unmapped_bytes, all->unmapped_bytes)};
	process->unlisted_calls = heap->allocations - sum.allocations + heap->frees - sum.frees + map->allocations - sum.maps +
				  map->frees - sum.unmaps;
}

void threads_build(struct process *process, const struct thread_list *more)
{
	struct build build = {.process = process};

	free(process->threads);
	free(process->losses);
	process->threads = NULL;
	process->losses = NULL;
	process->thread_count = process->loss_count = 0;
	for (size_t i = 0; more != NULL && i < more->thread_count; i++)
		number_map_set(&build.ended, 0, more->threads[i].serial, (uint32_t)i); /* without memory both rows are shown */
	log_slots(process->log, take_slot, &build);
	number_map_free(&build.ended);
	for (size_t i = 0; more != NULL && i < more->thread_count; i++) {
		struct thread *thread = add_thread(process);

		if (thread != NULL)
			*thread = more->threads[i];
	}
	for (size_t i = 0; more != NULL && i < more->loss_count; i++)
		add_loss(process, &more->losses[i]);
	add_loss_of_none(process, LOSS_THREAD_STATE, process->log->live.early_calls);
	add_loss_of_none(process, LOSS_CHILD_REFUSED, process->log->live.children_refused);
	add_loss_of_none(process, LOSS_CHILD_UNMADE, process->log->live.children_unmade);
	add_loss_of_none(process, LOSS_LOG_REFUSED, process->logs_refused);
	add_loss_of_none(process, LOSS_LOG_REMOVED, process->logs_removed);
	if (process->thread_count > 0)
		qsort(process->threads, process->thread_count, sizeof *process->threads, by_serial);
	if (process->loss_count > 0)
		qsort(process->losses, process->loss_count, sizeof *process->losses, by_kind);
	sum_threads(process, &build.all);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* From tallies to accounts: which number is exact, which is batched, which is an estimate. See accounts.h, heap.h. */
#include "reducer/model/accounts.h"

#include <stdlib.h>
#include <string.h>

#define TICKS_PER_NS_UNKNOWN 1.0

int accounts_begin(struct accounts *accounts, const struct process *process, unsigned temporary)
{
	double ns_per_tick = process->clock->ns_per_tick;

	*accounts = (struct accounts){0};
	samples_begin(&accounts->samples);
	maps_begin(&accounts->maps);
	return pairs_begin(&accounts->pairs, process->log->stream_count,
			   ns_per_tick > 0 ? 1 / ns_per_tick : TICKS_PER_NS_UNKNOWN, temporary);
}

void accounts_free(struct accounts *accounts)
{
	pairs_free(&accounts->pairs);
	samples_free(&accounts->samples);
	maps_free(&accounts->maps);
}

void accounts_point(struct accounts *accounts, uint64_t time, uint64_t live, uint64_t peak)
{
	if (curve_add(&accounts->pairs.tally.curve, time, live) != 0)
		accounts->pairs.tally.is_out_of_memory = 1;
	if (peak > accounts->point_peak) {
		accounts->point_peak = peak;
		accounts->point_peak_time = time;
	}
}

void accounts_window(struct accounts *accounts, const struct window *window)
{
	struct tally *tally = &accounts->pairs.tally;

	if (window->is_open && window->cause == 0 && !accounts->has_edge && tally->allocations == 0)
		return;
	accounts->has_edge = 1;
	if (window->live_bytes == UINT64_MAX)
		return; /* WINDOW=off: what was live before is not known; the curve is that of blocks from inside */
	if (!window->is_open)
		tally_forget(tally, (uint64_t)window->time_ns);
	/* From here on, what is live and not known stands below the curve of what is known. */
	if (window->is_open)
		tally->base = (int64_t)(window->live_bytes - tally->live);
	if (curve_add(&tally->curve, (uint64_t)window->time_ns, window->live_bytes) != 0)
		tally->is_out_of_memory = 1;
}

int accounts_take_curve(struct curve *curve, struct timeline *timeline)
{
	curve_finish(curve);
	timeline->points = calloc(curve->count + 1, sizeof *timeline->points);
	if (timeline->points == NULL)
		return -1;
	for (size_t i = 0; i < curve->count; i++) {
		const struct curve_point *point = &curve->points[i];

		timeline->points[i] = (struct timeline_point){.time_ns = (int64_t)(point->start & INT64_MAX),
							      .max_time_ns = (int64_t)(point->max_time & INT64_MAX),
							      .live = point->live, .max = point->max};
	}
	timeline->count = curve->count;
	return 0;
}

static uint64_t difference(uint64_t more, uint64_t less)
{
	return more > less ? more - less : 0;
}

/* Where only some events are there (windows, losses), releases are missing and the curve only knows a bound; the counter
 * knows better. */
static void lower_to(struct timeline *timeline, uint64_t peak)
{
	for (size_t i = 0; i < timeline->count; i++) {
		struct timeline_point *point = &timeline->points[i];

		point->max = point->max > peak ? peak : point->max;
		point->live = point->live > peak ? peak : point->live;
	}
}

/*
 * Peak of what was not seen event by event: the log's own counter, or a higher point of the timeline. A curve made of
 * some of the events only knows a bound (releases are missing), so it is not asked.
 */
static void batched_peak(const struct accounts *accounts, const struct process *process, struct account *heap)
{
	const struct tfp_file_live *live = &process->log->live;
	uint64_t time = live->peak_time;

	heap->is_peak_batched = strcmp(process_setting(process, "TOTALS"), "exact") != 0;
	heap->peak_bytes = live->peak_bytes;
	if (accounts->point_peak > heap->peak_bytes) {
		heap->peak_bytes = accounts->point_peak;
		time = accounts->point_peak_time;
	}
	if (heap->kind == ACCOUNT_EVENTS && heap->peak_bytes > 0)
		lower_to(&heap->timeline, heap->peak_bytes);
	for (size_t i = 0; i < heap->timeline.count; i++) {
		if (heap->timeline.points[i].max <= heap->peak_bytes)
			continue;
		heap->peak_bytes = heap->timeline.points[i].max;
		time = (uint64_t)heap->timeline.points[i].max_time_ns;
	}
	heap->peak_time_ns = heap->peak_bytes == 0 ? TIME_UNKNOWN : (int64_t)(time & INT64_MAX);
	heap->inherited_bytes = live->inherited_bytes;
	heap->live_bytes = difference(heap->allocated_bytes + live->inherited_bytes, heap->freed_bytes);
	/* Grown since the last batch was counted: when, only that says, and nothing where there was none. */
	if (heap->live_bytes > heap->peak_bytes && heap->is_peak_batched)
		heap->peak_bytes = heap->live_bytes;
}

static void exact_peak(const struct tally *tally, struct account *account)
{
	account->peak_bytes = tally->peak;
	account->peak_time_ns = tally->peak == 0 ? TIME_UNKNOWN : (int64_t)(tally->peak_time & INT64_MAX);
	account->live_bytes = tally->live;
	account->live_blocks = tally->live_blocks;
}

static void count_events(const struct tally *tally, struct account *account)
{
	account->event_allocations = tally->allocations;
	account->event_frees = tally->frees;
	account->event_requested_bytes = tally->requested_bytes;
	account->event_allocated_bytes = tally->allocated_bytes;
	account->event_freed_bytes = tally->freed_bytes;
}

/* Whether the events tell all: none given up, and as many as were counted but for one a killed thread (see check.c). */
static int is_whole(const struct accounts *accounts, const struct process *process, const struct account *heap)
{
	uint64_t missing = difference(heap->allocations, heap->event_allocations) + difference(heap->frees, heap->event_frees);

	return !accounts->has_edge && process->log->live.dropped_from == 0 && missing <= process->thread_count;
}

static void finish_full(struct accounts *accounts, const struct process *process, struct account *heap)
{
	struct pairs *pairs = &accounts->pairs;
	struct tally *tally = &pairs->tally;

	pairs_end(pairs);
	heap->kind = ACCOUNT_EVENTS;
	count_events(tally, heap);
	heap->event_frees += pairs->unknown_frees;
	heap->event_unknown_frees = pairs->unknown_frees;
	heap->event_reordered = pairs->reordered;
	heap->event_replaced = pairs->replaced;
	heap->requested_peak_bytes = tally->requested_peak;
	heap->requested_peak_time_ns =
		tally->requested_peak == 0 ? TIME_UNKNOWN : (int64_t)(tally->requested_peak_time & INT64_MAX);
	heap->live_blocks = tally->live_blocks;
	if (is_whole(accounts, process, heap))
		exact_peak(tally, heap);
	else
		batched_peak(accounts, process, heap);
	heap->has_gaps = !is_whole(accounts, process, heap);
	heap->is_leak_unknown = tally->forgotten_time != 0;
	tally_finish(tally, heap);
	heap->histogram = pairs->histogram;
	pairs->histogram = NULL;
}

/* Neither what is live nor its peak follows from the counters. */
static void forget_live(struct account *heap)
{
	heap->is_live_unknown = 1;
	heap->live_bytes = heap->peak_bytes = heap->inherited_bytes = 0;
	heap->peak_time_ns = TIME_UNKNOWN;
	heap->timeline.count = 0;
}

/*
 * WINDOW=off: calls were counted only in windows opened by hand. In mode full what was live is known of blocks from inside,
 * and releases of others are kept apart; else nothing is known but the counts.
 */
static void finish_blind(struct accounts *accounts, struct account *heap)
{
	if (heap->kind != ACCOUNT_EVENTS) {
		forget_live(heap);
		return;
	}
	exact_peak(&accounts->pairs.tally, heap);
	heap->is_peak_batched = 0;
	heap->unknown_frees = heap->event_unknown_frees;
	heap->unknown_freed_bytes = difference(heap->freed_bytes, heap->event_freed_bytes);
	heap->frees = difference(heap->frees, heap->unknown_frees);
	heap->event_frees = difference(heap->event_frees, heap->unknown_frees);
	heap->freed_bytes = heap->event_freed_bytes;
}

static int finish_heap(struct accounts *accounts, struct process *process)
{
	struct account *heap = &process->heap;
	const char *mode = process_setting(process, "MALLOC");
	int result = accounts_take_curve(&accounts->pairs.tally.curve, &heap->timeline);

	if (accounts->has_events || process->is_full) {
		finish_full(accounts, process, heap);
	} else {
		batched_peak(accounts, process, heap);
		heap->kind = accounts->samples.count > 0 || strncmp(mode, "sample", 6) == 0 ? ACCOUNT_SAMPLED
			     : heap->timeline.count > 0 || strcmp(mode, "totals") == 0       ? ACCOUNT_POINTS
											     : ACCOUNT_NONE;
		if (heap->kind == ACCOUNT_SAMPLED && samples_finish(&accounts->samples, heap) != 0)
			result = -1;
	}
	if (heap->kind == ACCOUNT_NONE && heap->allocations > 0)
		heap->kind = ACCOUNT_POINTS;
	if (strcmp(process_setting(process, "WINDOW"), "off") == 0)
		finish_blind(accounts, heap);
	else if (process->are_releases_unsized && (heap->kind != ACCOUNT_EVENTS || !is_whole(accounts, process, heap)))
		forget_live(heap);
	else if (process->are_releases_unsized)
		heap->freed_bytes = heap->event_freed_bytes;
	if (heap->kind == ACCOUNT_SAMPLED && result == 0)
		samples_limit(heap);
	return result;
}

/* Fewer events than were counted: what is live follows from the counters, and the peak was at least that. */
static void bound_maps(const struct process *process, struct account *map)
{
	uint64_t missing = difference(map->allocations, map->event_allocations) + difference(map->frees, map->event_frees);

	if (process->log->live.dropped_from == 0 && missing <= process->thread_count)
		return;
	map->has_gaps = 1;
	map->live_bytes = difference(map->allocated_bytes, map->freed_bytes + map->no_access_bytes);
	map->timeline.count = 0;
	if (map->peak_bytes >= map->live_bytes)
		return;
	map->peak_bytes = map->live_bytes;
	map->peak_time_ns = TIME_UNKNOWN;
}

static int finish_mmap(struct accounts *accounts, struct process *process)
{
	struct maps *maps = &accounts->maps;
	struct account *map = &process->mmap;

	count_events(&maps->tally, map);
	map->event_frees = maps->unmaps;
	map->event_freed_bytes = maps->unmapped_bytes;
	map->event_unknown_frees = maps->unknown_unmaps;
	map->live_bytes = difference(map->allocated_bytes, map->freed_bytes);
	if (maps->tally.allocations == 0 && maps->unmaps == 0)
		return 0;
	map->kind = ACCOUNT_EVENTS;
	map->no_access_bytes = maps->no_access;
	map->no_access_peak_bytes = maps->no_access_peak;
	exact_peak(&maps->tally, map);
	map->requested_peak_bytes = map->peak_bytes;
	map->requested_peak_time_ns = map->peak_time_ns;
	if (accounts_take_curve(&maps->tally.curve, &map->timeline) != 0)
		return -1;
	tally_finish(&maps->tally, map);
	bound_maps(process, map);
	return 0;
}

int accounts_take_pairs(struct pairs *pairs, struct account *account)
{
	struct tally *tally = &pairs->tally;

	pairs_end(pairs);
	account->kind = ACCOUNT_EVENTS;
	count_events(tally, account);
	account->event_frees += pairs->unknown_frees;
	account->event_unknown_frees = account->unknown_frees = pairs->unknown_frees;
	account->event_reordered = pairs->reordered;
	account->event_replaced = pairs->replaced;
	account->allocations = tally->allocations;
	account->frees = tally->frees;
	account->requested_bytes = tally->requested_bytes;
	account->allocated_bytes = tally->allocated_bytes;
	account->freed_bytes = tally->freed_bytes;
	account->requested_peak_bytes = tally->requested_peak;
	account->requested_peak_time_ns =
		tally->requested_peak == 0 ? TIME_UNKNOWN : (int64_t)(tally->requested_peak_time & INT64_MAX);
	exact_peak(tally, account);
	if (accounts_take_curve(&tally->curve, &account->timeline) != 0)
		return -1;
	tally_finish(tally, account);
	account->has_gaps = account->is_leak_unknown = tally->forgotten_time != 0;
	account->histogram = pairs->histogram;
	pairs->histogram = NULL;
	return tally->is_out_of_memory ? -1 : 0;
}

struct account *process_add_account(struct process *process, const char *allocator)
{
	struct account *accounts = model_room(process->accounts, process->account_count, sizeof *accounts);

	if (accounts == NULL)
		return NULL;
	process->accounts = accounts;
	accounts += process->account_count++;
	*accounts = (struct account){.allocator = allocator, .peak_time_ns = TIME_UNKNOWN, .requested_peak_time_ns = TIME_UNKNOWN};
	return accounts;
}

int accounts_finish(struct accounts *accounts, struct process *process)
{
	const struct log *log = process->log;

	if (accounts->pairs.tally.is_out_of_memory || accounts->samples.tally.is_out_of_memory ||
	    accounts->maps.tally.is_out_of_memory)
		diag_no_room(log->diags, log->path, "live blocks or sites");
	if (finish_heap(accounts, process) != 0)
		return -1;
	return finish_mmap(accounts, process);
}

int process_counters_agree(const struct process *process, const struct account *account)
{
	int is_cut = process->end == END_UNKNOWN || process->end == END_SIGNAL || process->thread_count > 1;
	uint64_t allowed = is_cut ? 2 * (uint64_t)process->thread_count : 0;
	uint64_t allocations = account->allocations - account->event_allocations;
	uint64_t frees = account->frees - account->event_frees;

	if (allocations > allowed || frees > allowed)
		return 0;
	/* In which order a call's counters are stored is the compiler's choice: bytes may be there before their allocation. */
	if (is_cut)
		return allocations != 0 || (account->requested_bytes >= account->event_requested_bytes &&
					    account->allocated_bytes >= account->event_allocated_bytes);
	return account->requested_bytes == account->event_requested_bytes && account->allocated_bytes == account->event_allocated_bytes;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations and releases, paired by address. See pairs.h. */
#include "reducer/model/pairs.h"

#include <stdlib.h>

#define AHEAD 12 /* events between bringing a block's place into the cache and needing it: 12 x 40 ns covers a miss */
#define GRAIN_NS 2500.0 /* drained times are cut to at most 1024 ns; two such, and some room */

/* How many limits of classes a life of so many ticks has reached. */
static unsigned limits_reached(const struct pairs *pairs, uint64_t ticks)
{
	unsigned count = 0;

	for (unsigned i = 0; i < HEAP_LIFE_CLASSES - 2; i++)
		count += ticks >= pairs->life_limits[i];
	return count;
}

static void find_life_limits(struct pairs *pairs, double ticks_per_ns)
{
	for (unsigned i = 0; i < HEAP_LIFE_CLASSES; i++) {
		double ticks = (double)heap_life_limit(i) * ticks_per_ns;

		pairs->life_limits[i] = ticks < 9e18 && i < HEAP_LIFE_CLASSES - 2 ? (uint64_t)ticks : UINT64_MAX;
	}
	for (unsigned digits = 1; digits <= 64; digits++)
		pairs->life_floors[digits] = (uint8_t)limits_reached(pairs, digits == 1 ? 0 : UINT64_C(1) << (digits - 1));
}

int pairs_begin(struct pairs *pairs, size_t stream_count, double ticks_per_ns, unsigned temporary)
{
	*pairs = (struct pairs){.stream_count = stream_count, .temporary = temporary == 0 ? 1 : temporary};
	if (pairs->temporary > PAIRS_TEMPORARY_MAX)
		pairs->temporary = PAIRS_TEMPORARY_MAX;
	pairs->grain = pairs->stamps = (uint64_t)(GRAIN_NS * ticks_per_ns);
	find_life_limits(pairs, ticks_per_ns);
	tally_begin(&pairs->tally, 1);
	pairs->streams = calloc(stream_count + 1, sizeof *pairs->streams);
	pairs->histogram = calloc(1, sizeof *pairs->histogram);
	return pairs->streams == NULL || pairs->histogram == NULL ? -1 : 0;
}

void pairs_free(struct pairs *pairs)
{
	live_free(&pairs->live);
	tally_free(&pairs->tally);
	free(pairs->streams);
	free(pairs->histogram);
}

/* Number of the class of sizes in (2^(k-1), 2^k]. */
static unsigned size_class(uint64_t bytes)
{
	unsigned class = bytes <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(bytes - 1);

	return class < HEAP_SIZE_CLASSES ? class : HEAP_SIZE_CLASSES - 1;
}

/* Class of a life from `from` to `to`; stamps of two threads may cross a little. */
static unsigned life_class(const struct pairs *pairs, uint64_t from, uint64_t to)
{
	uint64_t ticks = to < from ? 0 : to - from;
	unsigned floor = pairs->life_floors[64 - __builtin_clzll(ticks | 1)];

	/* Each limit is ten times the one before: numbers of as many digits have one at most between them. */
	return floor + (ticks >= pairs->life_limits[floor]);
}

/* Some allocators answer a usable size below the request (tcmalloc: 0 for its first block), so slack has a sign. */
static uint64_t requested_of(const struct live_block *block)
{
	return block->usable - (uint64_t)(int64_t)(int32_t)block->slack;
}

static struct amount amount_of(const struct live_block *block)
{
	return (struct amount){.blocks = 1, .bytes = block->usable, .requested = requested_of(block)};
}

static void count_life(struct pairs *pairs, const struct live_block *block, unsigned class, int times)
{
	unsigned size = size_class(requested_of(block));

	pairs->histogram->blocks[size][class] += (uint64_t)(int64_t)times;
	pairs->histogram->bytes[size][class] += (uint64_t)(int64_t)times * requested_of(block);
}

static void remember(struct pairs_unsettled *ring, unsigned *next, uint64_t *newest, uint64_t time, struct pairs_unsettled entry)
{
	ring[(*next)++ % PAIRS_UNSETTLED] = entry;
	*newest = time + 1;
}

static int find_unsettled(struct pairs_unsettled *ring, size_t stream, uint64_t address, uint64_t time)
{
	for (unsigned i = 0; i < PAIRS_UNSETTLED; i++) {
		if (ring[i].address != address || ring[i].stream == stream || time > ring[i].until)
			continue;
		ring[i].address = 0;
		return 1;
	}
	return 0;
}

/* Whether an event at `address` within the grain before `time`, of another stream, waits in the ring. Takes it out. */
static inline int settle(const struct pairs *pairs, struct pairs_unsettled *ring, uint64_t newest, size_t stream,
			 uint64_t address, uint64_t time)
{
	if (newest == 0 || time > newest + pairs->grain || pairs->stream_count < 2)
		return 0;
	return find_unsettled(ring, stream, address, time);
}

int pairs_is_late(const struct pairs *pairs, uint64_t address)
{
	for (unsigned i = 0; i < PAIRS_UNSETTLED && pairs->replaced > 0; i++)
		if (pairs->late[i].address == address)
			return 1;
	return 0;
}

/*
 * The block that lives at the address of a new one: its release is stamped a little later, or is not in the log. That of a block from
 * before a time in which nothing was recorded is most likely there: a release that is stamped later is the new one's.
 */
static void replace(struct pairs *pairs, size_t stream, struct live_entry *entry, uint64_t time)
{
	struct live_block old = live_get_by(&pairs->live, entry, time);
	struct amount amount = amount_of(&old);
	int is_forgotten = tally_has_forgotten(&pairs->tally, old.time);

	if (is_forgotten) {
		tally_take_forgotten(&pairs->tally, time, &amount, 1);
	} else {
		tally_take(&pairs->tally, old.stack, time, &amount);
		count_life(pairs, &old, life_class(pairs, old.time, time), 1);
	}
	remember(pairs->late, &pairs->late_next, &pairs->late_time, time,
		 (struct pairs_unsettled){.address = old.address, .until = time + (is_forgotten ? pairs->stamps : pairs->grain),
					  .stream = stream});
	live_remove(&pairs->live, entry);
	pairs->replaced++;
}

static inline __attribute__((always_inline)) void add_block(struct pairs *pairs, size_t stream, const struct live_block *block)
{
	struct live_entry *hole, *old = live_seek(&pairs->live, block->address, &hole);
	struct pairs_stream *from = &pairs->streams[stream];
	struct amount amount = amount_of(block);

	if (old != NULL) {
		replace(pairs, stream, old, block->time);
		hole = NULL; /* as it may be empty now, or a grave */
	}
	from->recent[from->next_recent] = block->address;
	from->next_recent = from->next_recent + 1 == pairs->temporary ? 0 : from->next_recent + 1;
	pairs->last = block->time;
	tally_add(&pairs->tally, block->stack, block->time, &amount);
	if (old == NULL && settle(pairs, pairs->early, pairs->early_time, stream, block->address, block->time)) {
		/* It was released by another thread within the grain of the stamps. */
		tally_take(&pairs->tally, block->stack, block->time, &amount);
		count_life(pairs, block, 0, 1);
		pairs->tally.frees++;
		pairs->unknown_frees--;
		pairs->reordered++;
	} else if (block->address == 0 || live_put_at(&pairs->live, hole, block) != 0) {
		pairs->tally.is_out_of_memory |= block->address != 0;
	}
}

void pairs_alloc(struct pairs *pairs, size_t stream, const struct live_block *block)
{
	add_block(pairs, stream, block);
}

static void settle_waiting(struct pairs *pairs, size_t stream)
{
	struct live_block block = pairs->streams[stream].waiting;

	pairs->streams[stream].waiting.address = 0;
	if (block.address != 0)
		pairs_alloc(pairs, stream, &block);
}

void pairs_alloc_waiting(struct pairs *pairs, size_t stream, const struct live_block *block)
{
	settle_waiting(pairs, stream);
	pairs->streams[stream].waiting = *block;
}

void pairs_usable(struct pairs *pairs, size_t stream, uint64_t address, uint64_t usable)
{
	struct live_block *waiting = &pairs->streams[stream].waiting;
	int64_t slack = (int64_t)(usable - requested_of(waiting));

	if (waiting->address == address && slack >= INT32_MIN && slack <= INT32_MAX) {
		waiting->usable = usable;
		waiting->slack = (uint32_t)slack;
	}
	settle_waiting(pairs, stream);
}

static int is_recent(const struct pairs *pairs, const struct pairs_stream *stream, uint64_t address)
{
	for (unsigned i = 0; i < pairs->temporary; i++)
		if (stream->recent[i] == address)
			return 1;
	return 0;
}

static inline __attribute__((always_inline)) void take_block(struct pairs *pairs, size_t stream, uint64_t address, uint64_t time)
{
	struct pairs_stream *from = &pairs->streams[stream];
	struct live_entry *entry;
	struct live_block block;
	struct heap_site *site;
	struct amount amount;

	if (from->waiting.address != 0)
		settle_waiting(pairs, stream);
	from->is_released_known = 0;
	from->released.address = address;
	if (settle(pairs, pairs->late, pairs->late_time, stream, address, time)) {
		pairs->replaced--;
		pairs->reordered++;
		pairs->tally.frees++;
		return;
	}
	entry = live_find(&pairs->live, address);
	if (entry == NULL) {
		pairs->unknown_frees++;
		remember(pairs->early, &pairs->early_next, &pairs->early_time, time,
			 (struct pairs_unsettled){.address = address, .until = time + pairs->stamps, .stream = stream});
		return;
	}
	block = live_get_by(&pairs->live, entry, time);
	amount = amount_of(&block);
	if (tally_has_forgotten(&pairs->tally, block.time)) {
		tally_take_forgotten(&pairs->tally, time, &amount, 0);
		site = tally_site(&pairs->tally, block.stack);
	} else {
		site = tally_take(&pairs->tally, block.stack, time, &amount);
	}
	pairs->tally.frees++;
	from->life_class = life_class(pairs, block.time, time);
	count_life(pairs, &block, from->life_class, 1);
	if (is_recent(pairs, from, address))
		site->temporary++;
	from->released = block;
	from->is_released_known = 1;
	live_remove(&pairs->live, entry);
}

void pairs_release(struct pairs *pairs, size_t stream, uint64_t address, uint64_t time)
{
	take_block(pairs, stream, address, time);
}

/* Always inline: gcc takes a function that only prefetches for one without effect and drops its calls. */
static inline __attribute__((always_inline)) void fetch(const struct pairs *pairs, const struct pairs_run *run, const struct batch *batch,
							 size_t i)
{
	uint8_t tag = batch->tags[i];

	if (tag == run->alloc || tag == run->release)
		live_prefetch(&pairs->live, (tag == run->alloc ? run->address : run->released)[batch->rows[i]]);
}

size_t pairs_take_run(struct pairs *pairs, size_t stream, const struct pairs_run *run, const struct batch *batch, size_t from, size_t to)
{
	size_t fetched = live_is_far(&pairs->live) ? batch->count : 0, i;

	for (i = from; i < to; i++) {
		uint8_t tag = batch->tags[i];
		uint64_t time = batch->times[i];
		uint16_t row = batch->rows[i];

		if ((tag != run->alloc && tag != run->release) || time + 1 == run->explained)
			break;
		if (i + AHEAD < fetched)
			fetch(pairs, run, batch, i + AHEAD);
		if (tag == run->release) {
			take_block(pairs, stream, run->released[row], time);
		} else if (run->slack[row] != UINT16_MAX) {
			struct live_block block = {.address = run->address[row], .time = time, .stack = (uint32_t)run->stack[row],
						   .usable = run->requested[row] + run->slack[row], .slack = (uint32_t)run->slack[row]};

			add_block(pairs, stream, &block);
		} else {
			break;
		}
	}
	return i;
}

void pairs_undo(struct pairs *pairs, size_t stream, uint64_t address, uint64_t time)
{
	struct pairs_stream *from = &pairs->streams[stream];
	struct live_block *block = &from->released;
	struct amount amount = amount_of(block);

	if (block->address != address || address == 0)
		return;
	if (!from->is_released_known) {
		pairs->unknown_frees--;
		settle(pairs, pairs->early, pairs->early_time, pairs->stream_count, address, time);
		block->address = 0;
		return;
	}
	if (tally_has_forgotten(&pairs->tally, block->time)) {
		pairs->tally.freed_bytes -= amount.bytes;
		pairs->tally.base += (int64_t)amount.bytes;
	} else {
		tally_put_back(&pairs->tally, block->stack, time, &amount);
	}
	pairs->tally.frees--;
	count_life(pairs, block, from->life_class, -1);
	if (is_recent(pairs, from, address))
		tally_site(&pairs->tally, block->stack)->temporary--;
	if (live_put(&pairs->live, block) != 0)
		pairs->tally.is_out_of_memory = 1;
	block->address = 0;
}

void pairs_end(struct pairs *pairs)
{
	for (size_t i = 0; i < pairs->stream_count; i++)
		settle_waiting(pairs, i);
	for (size_t i = 0; i < pairs->live.capacity; i++) {
		struct live_block block;

		if (!live_is_block(&pairs->live.entries[i]))
			continue;
		block = live_get_by(&pairs->live, &pairs->live.entries[i], pairs->last);
		if (!tally_has_forgotten(&pairs->tally, block.time))
			count_life(pairs, &block, HEAP_LIFE_CLASSES - 1, 1);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks: getting one, filling it again after it was drained, growing it. See writer/stream.h.
 *
 * Rule: a chunk is used again only after its events block was written in full; where that fails, new records are counted
 * as lost and what the chunk holds stays readable in the log.
 */
#include "writer/stream.h"

#include "writer/drain.h"
#include "writer/encode.h"
#include "writer/file.h"
#include "writer/pack.h"
#include "writer/signals.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define CHUNK_MOST (256u << 10)  /* the knee of size against latency (measured: 1 MiB saves 9 %, 64 KiB costs 10 %) */
#define CHUNK_FIRST (16u << 10)  /* 300 idle threads stay below 5 MiB */
#define GROW_BELOW_NS 20000000u  /* a chunk that fills faster than in 20 ms is worth doubling */
#define LANE_CHUNKS 3            /* chunks a lane may add while the draining thread is behind; then it drains itself */
#define RETRY_NS 100000000u      /* after a failure, ask again every 100 ms */

/* Where hz is not known yet a tick is taken as half a nanosecond: only intervals of patience depend on it. */
static uint64_t ticks_of(uint64_t ns)
{
	uint64_t hz = tfp_state->clock_hz;

	return hz ? (uint64_t)((unsigned __int128)ns * hz / 1000000000u) : ns * 2;
}

static uint64_t chunk_state(enum tfp_chunk_state state, uint32_t owner)
{
	return (uint64_t)state | (uint64_t)owner << 8;
}

static int take_chunk(struct tfp_chunk *chunk, uint32_t owner)
{
	uint64_t state = __atomic_load_n(&chunk->state, __ATOMIC_RELAXED);

	return (state & 0xff) == TFP_CHUNK_FREE &&
	       __atomic_compare_exchange_n(&chunk->state, &state, chunk_state(TFP_CHUNK_FILLING, owner), 0, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* A chunk that another lane gave up, of just this size or up to twice as large. */
static struct tfp_chunk *find_free(uint32_t owner, size_t bytes)
{
	uint32_t count = tfp_state->chunk_count;

	for (uint32_t i = 0; i < count && i < TFP_KNOWN_CHUNKS; i++) {
		struct tfp_chunk *chunk = tfp_state->chunks[i];
		if (chunk && chunk->size_bytes + 160 >= bytes && chunk->size_bytes < 2 * bytes && take_chunk(chunk, owner))
			return chunk;
	}
	return NULL;
}

static struct tfp_chunk *get_chunk(struct tfp_thread *thread, uint16_t lane, size_t bytes, enum tfp_loss *why)
{
	struct tfp_chunk *chunk = find_free(thread->serial, bytes);

	if (chunk)
		return chunk;
	struct tfp_block_header header = {.type = TFP_BLOCK_CHUNK, .thread = thread->serial, .lane = lane};
	struct tfp_live_place place;
	chunk = tfp_file_live_block(&header, bytes - sizeof header, &place, why);
	if (!chunk)
		return NULL;
	chunk->size_bytes = place.room - sizeof *chunk;
	chunk->state = chunk_state(TFP_CHUNK_FILLING, thread->serial);
	uint32_t index = tfp_state->chunk_count++;
	if (index < TFP_KNOWN_CHUNKS)
		tfp_state->chunks[index] = chunk;
	return chunk;
}

/* The chunk is empty and ours: the next records of this lane go there. */
static void begin_chunk(struct tfp_thread *thread, struct tfp_lane *lane, struct tfp_chunk *chunk, uint64_t now)
{
	__atomic_store_n(&chunk->used, 0, __ATOMIC_RELEASE); /* before the sequence: a reader must not take old records as new */
	chunk->thread = thread->serial;
	chunk->lane = (uint16_t)(lane - thread->lanes);
	__atomic_store_n(&chunk->sequence, ++lane->sequence, __ATOMIC_RELEASE);
	lane->chunk = chunk;
	lane->cursor = (uint8_t *)(chunk + 1);
	lane->end = lane->cursor + chunk->size_bytes;
	lane->started = now;
}

/* Scratch memory large enough for the lane's chunk. 0, or a loss kind. */
static enum tfp_loss need_scratch(struct tfp_lane *lane, size_t chunk_bytes)
{
	size_t bytes = tfp_scratch_bytes(chunk_bytes);

	if (lane->scratch && lane->scratch_bytes >= bytes)
		return TFP_LOSS_NONE;
	struct tfp_scratch *old = lane->scratch;
	lane->scratch = NULL;
	if (old)
		tfp_pages_put(old, lane->scratch_bytes);
	lane->scratch = tfp_pages_get(bytes, 1);
	lane->scratch_bytes = lane->scratch ? bytes : 0;
	return lane->scratch ? TFP_LOSS_NONE : TFP_LOSS_memory;
}

/* Writes the chunk's records as an events block. The chunk stays as it is. Its stack is free again before nodes are packed. */
static __attribute__((noinline)) enum tfp_loss write_events(struct tfp_chunk *chunk, struct tfp_lane *scratch_of)
{
	uint64_t from = tfp_ticks();
	uint64_t used = chunk->used < chunk->size_bytes ? chunk->used : chunk->size_bytes;

	if (!used)
		return TFP_LOSS_NONE;
	enum tfp_loss why = need_scratch(scratch_of, chunk->size_bytes);
	if (why)
		return why;
	struct tfp_block_header header = {
		.type = TFP_BLOCK_EVENTS,
		.thread = chunk->thread,
		.lane = chunk->lane,
		.sequence = chunk->sequence,
	};
	void *space = tfp_encode(scratch_of->scratch, scratch_of->scratch_bytes, (uint8_t *)(chunk + 1), used,
				 tfp_state->time_shift, &header);
	why = tfp_file_seal(&header, space);
	__atomic_fetch_add(&tfp_state->live->drain_ticks, tfp_ticks() - from, __ATOMIC_RELAXED);
	return why;
}

/* The same, and what else is due when somebody drains. */
static enum tfp_loss seal(struct tfp_chunk *chunk, struct tfp_lane *scratch_of)
{
	enum tfp_loss why = write_events(chunk, scratch_of);

	if (!why && scratch_of->scratch)
		tfp_pack_nodes(scratch_of->scratch, scratch_of->scratch_bytes);
	return why;
}

static void free_chunk(struct tfp_chunk *chunk)
{
	__atomic_store_n(&chunk->used, 0, __ATOMIC_RELEASE); /* a reader must not take these records for the next ones */
	__atomic_store_n(&chunk->state, chunk_state(TFP_CHUNK_FREE, 0), __ATOMIC_RELEASE);
}

enum tfp_loss tfp_chunk_drain(struct tfp_chunk *chunk, struct tfp_lane *scratch_of)
{
	uint64_t full = TFP_CHUNK_FULL;

	/* Pairs with the release store in tfp_drain_hand_over: the records are seen whole. */
	if (!__atomic_compare_exchange_n(&chunk->state, &full, TFP_CHUNK_DRAINING, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return TFP_LOSS_NONE;
	enum tfp_loss why = seal(chunk, scratch_of);
	if (why)
		__atomic_store_n(&chunk->state, TFP_CHUNK_FULL, __ATOMIC_RELEASE);
	else
		free_chunk(chunk);
	return why;
}

static size_t whole_bytes(const struct tfp_chunk *chunk)
{
	return chunk->size_bytes + sizeof *chunk + sizeof(struct tfp_block_header);
}

/* The size the lane's next chunk should have: double where this one filled quickly. */
static size_t next_bytes(const struct tfp_lane *lane, uint64_t now)
{
	size_t bytes = whole_bytes(lane->chunk);

	int is_small = bytes < CHUNK_MOST && now - lane->started < ticks_of(GROW_BELOW_NS);

	return is_small && tfp_file_may_grow(bytes * 2) ? bytes * 2 : bytes;
}

static void leave_chunk(struct tfp_lane *lane)
{
	lane->cursor = lane->end = NULL;
	lane->chunk = NULL;
}

/* The full chunk goes to the draining thread and the lane to another one. -1: there is no such thread, or no other chunk. */
static int hand_over(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now)
{
	enum tfp_loss why;

	if (!tfp_drain_is_running() || tfp_state->chunk_count > TFP_KNOWN_CHUNKS) /* our thread may not know of this one */
		return -1;
	size_t bytes = next_bytes(lane, now);
	if (bytes > whole_bytes(lane->chunk)) /* of each size anew: those of the last one are too small to be found again */
		lane->chunks = 0;
	struct tfp_chunk *full = lane->chunk, *next = find_free(thread->serial, bytes);
	if (!next && lane->chunks < LANE_CHUNKS && tfp_file_may_grow(bytes)) {
		next = get_chunk(thread, (uint16_t)(lane - thread->lanes), bytes, &why);
		lane->chunks += next != NULL;
	}
	if (!next)
		return -1;
	begin_chunk(thread, lane, next, now);
	/* The helper of `tfprof run` cannot change our mappings: who hands over to it packs. */
	if (!tfp_drain_has_thread() && tfp_pack_is_due() && !need_scratch(lane, CHUNK_FIRST))
		tfp_pack_nodes(lane->scratch, lane->scratch_bytes);
	if (tfp_drain_hand_over(full)) /* it stopped just now: the next to come by drains it */
		tfp_chunk_drain(full, lane);
	return 0;
}

/* Drains the full chunk here and now; the lane goes on in it, or in a larger one. */
static enum tfp_loss drain_here(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now)
{
	struct tfp_chunk *chunk = lane->chunk;
	size_t bytes = next_bytes(lane, now);
	enum tfp_loss why = seal(chunk, lane);

	if (why)
		return why;
	if (bytes > whole_bytes(chunk)) {
		struct tfp_chunk *larger = get_chunk(thread, (uint16_t)(lane - thread->lanes), bytes, &why);
		if (larger) {
			free_chunk(chunk);
			chunk = larger;
		}
	}
	begin_chunk(thread, lane, chunk, now);
	return TFP_LOSS_NONE;
}

void tfp_lane_hand_over(struct tfp_thread *thread, struct tfp_lane *lane, uint32_t serial, uint64_t now)
{
	struct tfp_chunk *chunk = lane->chunk;
	uint32_t old_serial = thread->serial;

	lane->losing = 0;
	lane->retry_time = 0;
	__atomic_fetch_add(&tfp_state->live->live_bytes, (uint64_t)lane->pending, __ATOMIC_RELAXED);
	lane->pending = 0;
	if (!chunk) {
		lane->sequence = 0;
		return;
	}
	int is_sealed = !seal(chunk, lane);
	lane->sequence = 0;
	leave_chunk(lane);
	if (!is_sealed)
		return; /* the chunk stays as it is, in use by nobody, for the reader */
	thread->serial = serial;
	begin_chunk(thread, lane, chunk, now);
	thread->serial = old_serial;
}

static void *count_loss(struct tfp_thread *thread, struct tfp_lane *lane, enum tfp_loss why, uint64_t now)
{
	tfp_loss_add(thread, why, 1, now);
	lane->losing = why;
	/* No descriptor to be had passes sooner than a full disk. */
	if (now >= lane->retry_time)
		lane->retry_time = now + ticks_of(why == TFP_LOSS_output_gone ? RETRY_NS / 10 : RETRY_NS);
	return NULL;
}

static void *refill(struct tfp_thread *thread, struct tfp_lane *lane, size_t bytes, uint64_t now)
{
	enum tfp_loss why = TFP_LOSS_NONE;

	if (!lane->chunk) {
		struct tfp_chunk *chunk = get_chunk(thread, (uint16_t)(lane - thread->lanes), CHUNK_FIRST, &why);
		if (!chunk)
			return count_loss(thread, lane, why, now);
		begin_chunk(thread, lane, chunk, now);
	} else if (hand_over(thread, lane, now)) {
		why = drain_here(thread, lane, now);
		if (why)
			return count_loss(thread, lane, why, now);
	}
	lane->losing = 0;
	return (size_t)(lane->end - lane->cursor) >= bytes ? lane->cursor : count_loss(thread, lane, TFP_LOSS_memory, now);
}

/* A handler that leaves in here by longjmp would leave a chunk that nobody fills, and room of the log that nobody writes. */
void *tfp_lane_refill(struct tfp_thread *thread, struct tfp_lane *lane, size_t bytes, uint64_t now)
{
	struct tfp_signals signals;

	if (lane->losing && now < lane->retry_time)
		return count_loss(thread, lane, (enum tfp_loss)lane->losing, now);
	if (tfp_file_is_remote())
		return refill(thread, lane, bytes, now);
	tfp_signals_block(&signals);
	void *room = refill(thread, lane, bytes, now);
	tfp_signals_restore(&signals);
	return room;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream-ordered memory: pools with what they hold (reserved) and what of it is handed out (used).
 *
 * A pool grows by units of 32 MiB and keeps what it holds until a synchronisation, when it gives back what lies above
 * its release threshold; trimming gives back at once. A free takes effect in stream order: the block can be used again
 * when the work before it has retired.
 * Rule: reserved >= used; machine->pool_spare is the sum of reserved - used over the device's pools, in segments.
 */
#include <stdlib.h>
#include <string.h>

#include "inner.h"

#define UNIT ((size_t)32 << 20)
#define SEGMENT ((size_t)2 << 20)

static struct sim_pool *pools[1024];	/* live ones, for settling; under the lock */

bool sim_pool_is_live(const struct sim_pool *pool)
{
	return sim_is_object(pool, SIM_MAGIC_POOL);
}

/* Sets what the pool holds: at least what is used and at least keep, in units. Lock held. */
static void set_reserved(struct sim_pool *pool, size_t keep)
{
	size_t wanted = pool->used > keep ? pool->used : keep, waste = (size_t)SIM_NUMBER("pool_waste_percent", 0);

	wanted = waste > 0 && waste < 100 ? wanted / (100 - waste) * 100 : wanted;
	wanted = (wanted + UNIT - 1) / UNIT * UNIT;
	pool->reserved = wanted;
	if (wanted > pool->reserved_high)
		pool->reserved_high = wanted;
}

/* What pools hold beyond blocks handed out, counted so that a device's free memory is exact. Lock held. */
static void count_spare(struct sim_machine *machine)
{
	size_t spare = 0;

	for (int i = 0; i < 1024; i++)
		if (pools[i] && pools[i]->machine == machine)
			spare += (pools[i]->reserved - pools[i]->used) / SEGMENT * SEGMENT;
	machine->pool_spare = spare;
}

static void tell_pool(uint8_t operation, struct sim_pool *pool)
{
	const struct sim_subscriber *subscriber = sim_subscriber();
	struct sim_pool_event event = {.operation = operation, .correlation = sim_correlation(),
		.device = pool->machine->facts.ordinal,
				       .pool = pool, .bytes = pool->reserved, .threshold = pool->threshold, .used = pool->used,
				       .timestamp = sim_clock_now()};

	if (subscriber && subscriber->pool)
		subscriber->pool(&event);
}

int sim_pool_new(struct sim_machine *machine, size_t max_bytes, struct sim_pool **made)
{
	struct sim_pool *pool = sim_object_new(sizeof *pool);
	bool is_placed = false;

	*pool = (struct sim_pool){.magic = SIM_MAGIC_POOL, .machine = machine, .max_bytes = max_bytes, .reuse = {1, 1, 1, 0}};
	sim_lock();
	for (int i = 0; i < 1024 && !is_placed; i++)
		if (!pools[i]) {
			pools[i] = pool;
			is_placed = true;
		}
	sim_unlock();
	if (!is_placed)
		return SIM_OUT_OF_MEMORY;
	*made = pool;
	tell_pool(1, pool);
	return SIM_OK;
}

int sim_pool_destroy(struct sim_pool *pool)
{
	if (!sim_pool_is_live(pool) || pool->is_default)
		return SIM_INVALID_VALUE;
	tell_pool(2, pool);
	sim_lock();
	pool->magic = SIM_MAGIC_DEAD;
	for (int i = 0; i < 1024; i++)
		if (pools[i] == pool && !pool->used)
			pools[i] = NULL;
	pool->threshold = 0;
	set_reserved(pool, 0);
	count_spare(pool->machine);
	if (pool->machine->current_pool == pool)
		pool->machine->current_pool = pool->machine->default_pool;
	sim_unlock();
	return SIM_OK;
}

int sim_pool_trim(struct sim_pool *pool, size_t keep)
{
	if (!sim_pool_is_live(pool))
		return SIM_INVALID_VALUE;
	sim_lock();
	if (pool->reserved > keep)
		set_reserved(pool, keep);
	count_spare(pool->machine);
	sim_unlock();
	tell_pool(3, pool);
	return SIM_OK;
}

void sim_pool_settle(struct sim_machine *machine)
{
	sim_lock();
	for (int i = 0; i < 1024; i++)
		if (pools[i] && pools[i]->machine == machine && pools[i]->reserved > pools[i]->threshold)
			set_reserved(pools[i], pools[i]->threshold < pools[i]->reserved ? (size_t)pools[i]->threshold : 0);
	count_spare(machine);
	sim_unlock();
}

struct sim_pool *sim_pool_default(struct sim_machine *machine)
{
	struct sim_pool *made = NULL;

	if (!machine->default_pool && !sim_pool_new(machine, 0, &made)) {
		made->is_default = true;
		sim_lock();
		if (!machine->default_pool)
			machine->default_pool = machine->current_pool = made;
		sim_unlock();
	}
	return machine->default_pool;
}

static void tell(uint8_t operation, const struct sim_block *block, const struct sim_pool *pool, const struct sim_stream *stream)
{
	struct sim_memory event = {.operation = operation, .kind = 3, .is_async = true, .is_pooled = true, .device = block->device,
				   .stream_id = stream ? stream->id : SIM_NONE,
				   .context_id = stream ? stream->context->id : 0,
				   .address = block->address, .bytes = block->asked, .pool = block->pool,
					.pool_bytes = pool->reserved,
				   .pool_used = pool->used, .pool_threshold = pool->threshold, .pool_type = 1};

	event.is_async = stream != NULL;
	if (!block->is_of_graph)
		sim_tell_memory(&event);
}

/* Counts bytes as handed out; takes it back and returns false when the device has not enough. Lock held. */
static bool hand_out(struct sim_pool *pool, size_t bytes)
{
	struct sim_pool before = *pool;

	pool->used += bytes;
	pool->used_high = pool->used > pool->used_high ? pool->used : pool->used_high;
	if (pool->used > pool->reserved)
		set_reserved(pool, pool->used);
	count_spare(pool->machine);
	if (!sim_machine_is_over(pool->machine))
		return true;
	*pool = before;
	count_spare(pool->machine);
	return false;
}

int sim_pool_alloc(struct sim_pool *pool, struct sim_stream *stream, size_t bytes, uint64_t *address)
{
	struct sim_machine *machine = pool->machine;
	struct sim_block *block = NULL, copy;
	struct sim_pool after;

	if (!address)
		return SIM_INVALID_VALUE;
	if (!bytes) {
		*address = 0;
		return SIM_OK;
	}
	sim_lock();
	if (!pool->max_bytes || pool->used + bytes <= pool->max_bytes)
		block = sim_arena_take(machine->arena, bytes, 0);
	if (block && !hand_out(pool, block->bytes)) {
		sim_arena_give(machine->arena, block);
		block = NULL;
	}
	if (!block) {
		sim_unlock();
		return SIM_OUT_OF_MEMORY;
	}
	block->asked = bytes;
	block->kind = 3;
	block->origin = SIM_FROM_POOL;
	block->device = machine->facts.ordinal;
	block->context = NULL;
	block->pool = pool;
	block->is_of_graph = !stream;
	*address = block->address;
	copy = *block;
	after = *pool;
	sim_unlock();
	tell(1, &copy, &after, stream);
	return SIM_OK;
}

/* The free has come to its turn in the stream. */
static void release(struct sim_piece *piece)
{
	struct sim_block *block = piece->target;
	struct sim_machine *machine = piece->source;

	sim_lock();
	sim_arena_give(machine->arena, block);
	sim_unlock();
}

int sim_pool_free(struct sim_stream *stream, uint64_t address)
{
	struct sim_place place;
	struct sim_block copy;
	struct sim_pool after;
	struct sim_piece *piece;
	struct sim_machine *machine;

	sim_place_of(address, &place);
	if (!place.block || place.base != address || place.kind != 3 || place.block->is_dying)
		return SIM_INVALID_VALUE;
	if (place.block->origin == SIM_FROM_ALLOC)
		return sim_memory_free(NULL, address);
	if (place.block->origin != SIM_FROM_POOL)
		return SIM_INVALID_VALUE;
	machine = place.block->pool->machine;
	sim_lock();
	place.block->is_dying = true;
	place.block->pool->used -= place.block->bytes;
	copy = *place.block;
	after = *place.block->pool;
	count_spare(machine);
	sim_unlock();
	tell(2, &copy, &after, stream);
	piece = sim_piece_new(SIM_ACTION);
	piece->target = place.block;
	piece->source = machine;
	piece->act = release;
	if (stream) {
		sim_submit(stream, piece, SIM_NO_ENGINE, 0);
		return SIM_OK;
	}
	release(piece);
	sim_piece_free(piece);
	return SIM_OK;
}

static void find_pooled(struct sim_block *block, void *user)
{
	uint64_t *found = user;

	if (block->origin == SIM_FROM_POOL && !block->is_dying)
		*found = block->address;
}

void sim_pool_drop(struct sim_machine *machine)
{
	uint64_t found;

	do {
		found = 0;
		sim_lock();
		sim_arena_each(machine->arena, find_pooled, &found);
		sim_unlock();
	} while (found && !sim_pool_free(NULL, found));
}

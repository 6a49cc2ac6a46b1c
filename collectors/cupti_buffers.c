/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of CUPTI's buffers; see collectors/cupti_buffers.h. */
#include "collectors/cupti_buffers.h"

#include "writer/drain.h"
#include "writer/sys.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "writer/poison.h"

#define BUFFERS_MOST 64u
#define POOL_BYTES (64u << 20) /* of all buffers; at 4 MiB each that is 16, and 300,000 kernels */
#define BUFFERS_LEAST 4u       /* however large one is */
#define BUFFERS_FIRST 2u       /* CUPTI fills one and asks for the next */
#define FEW 2u                 /* free ones: our thread adds more, and is woken for those that are full */
#define DISCARDS 4u
#define DISCARD_BYTES 65536u   /* 300 kernels */
#define POPULATE_WRITE 23      /* MADV_POPULATE_WRITE, Linux 5.14 */

enum { FREE = 0, HELD = 1, FULL = 2 };

struct slot {
	_Atomic uint32_t state;
	uint64_t valid_bytes;
	uint64_t order; /* of completion */
};

/* In pages that a fork child finds empty: there `bytes` is 0, and there is nothing to give. */
struct pool {
	size_t bytes; /* of a buffer, whole pages */
	uint32_t most;
	_Atomic uint32_t count; /* of buffers with pages behind them; the others get theirs as they are filled */
	_Atomic uint64_t orders;
	_Atomic uint64_t wasted_bytes;
	uint8_t *memory, *discards;
	struct slot slots[BUFFERS_MOST + DISCARDS]; /* those for discarding last */
};

static struct pool *pool; /* written once; kept across fork, what it points to is not */

/* Of last resort: several may be writing to it at once, and nobody reads it. Kept across fork. */
static uint64_t waste[DISCARD_BYTES / 8];

static void populate(uint8_t *start, size_t bytes)
{
	if (tfp_sys(SYS_madvise, (long)start, (long)bytes, POPULATE_WRITE, 0, 0, 0) == 0)
		return;
	for (size_t at = 0; at < bytes; at += 4096)
		__atomic_fetch_or(start + at, 0, __ATOMIC_RELAXED); /* CUPTI may be filling it */
}

int tfp_cupti_buffers_make(size_t bytes)
{
	struct pool *made = pool ? pool : tfp_pages_get(sizeof *made, 1);

	if (!made || made->bytes)
		return made ? 0 : -1;
	bytes = (bytes + 4095) & ~(size_t)4095;
	made->most = bytes && POOL_BYTES / bytes > BUFFERS_LEAST ? (uint32_t)(POOL_BYTES / bytes) : BUFFERS_LEAST;
	if (made->most > BUFFERS_MOST)
		made->most = BUFFERS_MOST;
	made->memory = tfp_pages_get(made->most * bytes + DISCARDS * DISCARD_BYTES, 1);
	if (!made->memory)
		return -1;
	made->discards = made->memory + made->most * bytes;
	populate(made->memory, BUFFERS_FIRST * bytes);
	populate(made->discards, DISCARDS * DISCARD_BYTES);
	made->count = BUFFERS_FIRST;
	made->bytes = bytes;
	pool = made;
	return 0;
}

static uint8_t *start_of(uint32_t index)
{
	return index < BUFFERS_MOST ? pool->memory + index * pool->bytes : pool->discards + (index - BUFFERS_MOST) * DISCARD_BYTES;
}

static uint8_t *hold(uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		uint32_t free_state = FREE;
		/* Pairs with tfp_cupti_buffers_give: the zeros are seen. */
		if (__atomic_compare_exchange_n((uint32_t *)&pool->slots[i].state, &free_state, HELD, 0, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return start_of(i);
	}
	return NULL;
}

static uint32_t count_free(void)
{
	uint32_t count = pool->count, result = 0;

	for (uint32_t i = 0; i < count; i++)
		result += pool->slots[i].state == FREE;
	return result;
}

void tfp_cupti_buffers_request(uint8_t **buffer, size_t *bytes, size_t *most_records)
{
	int is_there = pool && pool->bytes;
	uint8_t *start = is_there ? hold(0, pool->count) : NULL;

	if (!start && is_there) /* our thread is behind: slow pages are better than none */
		start = hold(pool->count, pool->most);
	*most_records = 0; /* as many as fit */
	*bytes = start ? pool->bytes : DISCARD_BYTES;
	if (!start && is_there)
		start = hold(BUFFERS_MOST, BUFFERS_MOST + DISCARDS);
	*buffer = start ? start : (uint8_t *)waste;
	if (start && count_free() < FEW)
		tfp_drain_wake();
}

/* The buffer's index; UINT32_MAX = none of the pool's. */
static uint32_t index_of(const uint8_t *buffer)
{
	size_t from_memory = (size_t)(buffer - pool->memory), from_discards = (size_t)(buffer - pool->discards);

	if (from_memory < pool->most * pool->bytes)
		return (uint32_t)(from_memory / pool->bytes);
	return from_discards < DISCARDS * DISCARD_BYTES ? BUFFERS_MOST + (uint32_t)(from_discards / DISCARD_BYTES) : UINT32_MAX;
}

void tfp_cupti_buffers_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
	(void)context;
	(void)stream;
	(void)bytes;
	if (!pool || !pool->bytes)
		return;
	uint32_t index = index_of(buffer);
	if (index == UINT32_MAX || pool->slots[index].state != HELD) {
		pool->wasted_bytes += valid_bytes;
		return;
	}
	struct slot *slot = &pool->slots[index];
	size_t most = index < BUFFERS_MOST ? pool->bytes : DISCARD_BYTES;
	slot->valid_bytes = valid_bytes < most ? valid_bytes : most;
	slot->order = ++pool->orders;
	if (!valid_bytes && !*(const uint64_t *)(const void *)buffer) { /* asked for, and not needed */
		__atomic_store_n((uint32_t *)&slot->state, FREE, __ATOMIC_RELEASE);
		return;
	}
	__atomic_store_n((uint32_t *)&slot->state, FULL, __ATOMIC_RELEASE); /* pairs with tfp_cupti_buffers_take */
	if (!tfp_self || !tfp_self->is_own)
		tfp_drain_wake();
}

int tfp_cupti_buffers_take(struct tfp_cupti_full *full)
{
	uint64_t oldest = UINT64_MAX;
	uint32_t found = 0;

	if (!pool || !pool->bytes)
		return 0;
	for (uint32_t i = 0; i < BUFFERS_MOST + DISCARDS; i++) {
		if (__atomic_load_n((uint32_t *)&pool->slots[i].state, __ATOMIC_ACQUIRE) == FULL && pool->slots[i].order < oldest) {
			oldest = pool->slots[i].order;
			found = i;
		}
	}
	if (oldest == UINT64_MAX)
		return 0;
	full->index = found;
	full->is_discarded = found >= BUFFERS_MOST;
	full->start = start_of(found);
	full->valid_bytes = pool->slots[found].valid_bytes;
	return 1;
}

/* All of it is zeroed: CUPTI may have written behind what it calls valid. */
void tfp_cupti_buffers_give(const struct tfp_cupti_full *full)
{
	tfp_fill(start_of(full->index), 0, full->is_discarded ? DISCARD_BYTES : pool->bytes);
	__atomic_store_n((uint32_t *)&pool->slots[full->index].state, FREE, __ATOMIC_RELEASE);
}

uint32_t tfp_cupti_buffers_grow(void)
{
	if (!pool || !pool->bytes)
		return 0;
	uint32_t free_count = count_free();
	while (free_count < FEW && pool->count < pool->most) {
		populate(pool->memory + pool->count * pool->bytes, pool->bytes);
		pool->count++;
		free_count++;
	}
	return free_count;
}

uint64_t tfp_cupti_buffers_wasted(void)
{
	return pool && pool->bytes ? __atomic_exchange_n((uint64_t *)&pool->wasted_bytes, 0, __ATOMIC_RELAXED) : 0;
}

uint32_t tfp_cupti_buffers_count(void)
{
	return pool && pool->bytes ? pool->count : 0;
}

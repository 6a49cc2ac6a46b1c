/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arenas: ranges of addresses with an allocator. Two mappings of one size: the addresses that programs get (no access for
 * the host, unless the memory is visible to it) and the bytes behind them.
 *
 *	address = base + offset  ---->  bytes = backing + offset		host-visible: backing == base
 *
 * Small blocks share 2 MiB segments, as a real driver's do; the memory in use is counted in segments.
 * Rule: the caller holds the core's lock.
 */
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inner.h"

#define SEGMENT ((size_t)2 << 20)
#define SMALL ((size_t)1 << 20)		/* from here on a block has segments of its own */
#define GRAIN 512			/* bytes; alignment of device memory */

struct sim_arena {
	char *base, *backing;
	size_t bytes;
	struct sim_block *first;
	struct sim_block **segment_first;	/* the block that covers the first byte of each segment */
	uint32_t *segment_users;
	bool *segment_is_shared;		/* lies in the memory file */
	int file;				/* that of memory that other processes may open; 0 = none yet */
	size_t used_segments;
	uint64_t last_id;
};

static char *reserve(size_t bytes)
{
	char *memory = sim_map_memory(NULL, bytes + SEGMENT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		abort();
	return (char *)(((uintptr_t)memory + SEGMENT - 1) / SEGMENT * SEGMENT);
}

/* Zeroed memory that is never given back; not from malloc, which a recorder of the program's memory counts. */
static void *table(size_t bytes)
{
	void *memory = sim_map_memory(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		abort();
	return memory;
}

struct sim_arena *sim_arena_new(size_t bytes, bool is_host_visible)
{
	struct sim_arena *arena = sim_allocate(sizeof *arena);
	size_t segments;

	arena->bytes = (bytes + SEGMENT - 1) / SEGMENT * SEGMENT;
	segments = arena->bytes / SEGMENT;
	arena->base = reserve(arena->bytes);
	arena->backing = is_host_visible ? arena->base : reserve(arena->bytes);
	arena->segment_first = table(segments * sizeof *arena->segment_first);
	arena->segment_users = table(segments * sizeof *arena->segment_users);
	arena->segment_is_shared = table(segments * sizeof *arena->segment_is_shared);
	arena->first = sim_allocate(sizeof *arena->first);
	arena->first->address = (uintptr_t)arena->base;
	arena->first->bytes = arena->bytes;
	for (size_t i = 0; i < segments; i++)
		arena->segment_first[i] = arena->first;
	return arena;
}

uint64_t sim_arena_base(const struct sim_arena *arena)
{
	return (uintptr_t)arena->base;
}

static size_t segment_of(const struct sim_arena *arena, uint64_t address)
{
	return (address - (uintptr_t)arena->base) / SEGMENT;
}

/* Enters the block where it covers the first byte of a segment. */
static void enter_block(struct sim_arena *arena, struct sim_block *block)
{
	size_t from = (block->address - (uintptr_t)arena->base + SEGMENT - 1) / SEGMENT;
	size_t to = (block->address + block->bytes - 1 - (uintptr_t)arena->base) / SEGMENT;

	for (size_t i = from; i <= to && i < arena->bytes / SEGMENT; i++)
		arena->segment_first[i] = block;
}

/* Parts the block; what lies from size on becomes a free block behind it. */
static void split(struct sim_arena *arena, struct sim_block *block, size_t size)
{
	struct sim_block *rest;

	if (block->bytes == size)
		return;
	rest = sim_allocate(sizeof *rest);
	rest->address = block->address + size;
	rest->bytes = block->bytes - size;
	rest->previous = block;
	rest->next = block->next;
	if (rest->next)
		rest->next->previous = rest;
	block->next = rest;
	block->bytes = size;
	enter_block(arena, rest);
}

static void count_users(struct sim_arena *arena, const struct sim_block *block, int by)
{
	size_t from = segment_of(arena, block->address), to = segment_of(arena, block->address + block->bytes - 1);

	for (size_t i = from; i <= to; i++) {
		if (by > 0 && !arena->segment_users[i]++) {
			arena->used_segments++;
			mprotect(arena->backing + i * SEGMENT, SEGMENT, PROT_READ | PROT_WRITE);
		}
		if (by < 0 && !--arena->segment_users[i]) {
			arena->used_segments--;
			if (arena->segment_is_shared[i]) {
				arena->segment_is_shared[i] = false;
				fallocate(arena->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(i * SEGMENT), SEGMENT);
				sim_map_memory(arena->backing + i * SEGMENT, SEGMENT, PROT_NONE,
					       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
				continue;
			}
			madvise(arena->backing + i * SEGMENT, SEGMENT, MADV_DONTNEED);
			mprotect(arena->backing + i * SEGMENT, SEGMENT, PROT_NONE);
		}
	}
}

size_t sim_arena_offset(const struct sim_arena *arena, uint64_t address)
{
	return address - (uintptr_t)arena->base;
}

int sim_arena_share(struct sim_arena *arena, const struct sim_block *block)
{
	size_t from = segment_of(arena, block->address), to = segment_of(arena, block->address + block->bytes - 1);

	if (!arena->file && ((arena->file = memfd_create(SIM_SHARED_NAME "arena", MFD_CLOEXEC)) < 0 ||
			     ftruncate(arena->file, (off_t)arena->bytes)))
		return -1;
	for (size_t i = from; i <= to; i++) {
		if (arena->segment_is_shared[i])
			continue;
		if (pwrite(arena->file, arena->backing + i * SEGMENT, SEGMENT, (off_t)(i * SEGMENT)) != (ssize_t)SEGMENT ||
		    sim_map_memory(arena->backing + i * SEGMENT, SEGMENT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, arena->file,
				   (long)(i * SEGMENT)) == MAP_FAILED)
			return -1;
		arena->segment_is_shared[i] = true;
	}
	return arena->file;
}

/* Where in a free block a request would start; 0 when it does not fit. Small ones stay within one segment. */
static uint64_t place_in(const struct sim_block *block, size_t bytes, size_t alignment)
{
	uint64_t start = (block->address + alignment - 1) / alignment * alignment;

	if (bytes < SMALL && start / SEGMENT != (start + bytes - 1) / SEGMENT)
		start = (start + SEGMENT - 1) / SEGMENT * SEGMENT;
	return start + bytes <= block->address + block->bytes ? start : 0;
}

struct sim_block *sim_arena_take(struct sim_arena *arena, size_t bytes, size_t alignment)
{
	size_t grain = bytes >= SMALL ? SEGMENT : GRAIN;
	struct sim_block *block;
	uint64_t start = 0;

	alignment = alignment > grain ? alignment : grain;
	if (bytes > arena->bytes)
		return NULL;
	bytes = (bytes + grain - 1) / grain * grain;
	for (block = arena->first; block; block = block->next)
		if (!block->asked && (start = place_in(block, bytes, alignment)))
			break;
	if (!block)
		return NULL;
	if (start > block->address) {
		split(arena, block, start - block->address);
		block = block->next;
	}
	split(arena, block, bytes);
	block->asked = bytes;
	block->id = ++arena->last_id;
	count_users(arena, block, 1);
	return block;
}

/* Joins a free block with a free one behind it. */
static void join(struct sim_arena *arena, struct sim_block *block)
{
	struct sim_block *next = block->next;

	if (!next || next->asked || block->asked)
		return;
	block->bytes += next->bytes;
	block->next = next->next;
	if (block->next)
		block->next->previous = block;
	enter_block(arena, block);
	free(next);
}

void sim_arena_give(struct sim_arena *arena, struct sim_block *block)
{
	struct sim_block clean = {.previous = block->previous, .next = block->next, .address = block->address, .bytes = block->bytes};

	count_users(arena, block, -1);
	*block = clean;
	join(arena, block);
	if (block->previous && !block->previous->asked)
		join(arena, block->previous);
}

struct sim_block *sim_arena_find(struct sim_arena *arena, uint64_t address)
{
	struct sim_block *block;

	if (!arena || address < (uintptr_t)arena->base || address >= (uintptr_t)arena->base + arena->bytes)
		return NULL;
	block = arena->segment_first[segment_of(arena, address)];
	while (block && address >= block->address + block->bytes)
		block = block->next;
	return block && block->asked ? block : NULL;
}

size_t sim_arena_used(const struct sim_arena *arena)
{
	return arena ? arena->used_segments * SEGMENT : 0;
}

char *sim_arena_host(struct sim_arena *arena, uint64_t address)
{
	return arena->backing + (address - (uintptr_t)arena->base);
}

void sim_arena_each(struct sim_arena *arena, void (*each)(struct sim_block *, void *), void *user)
{
	struct sim_block *next;

	for (struct sim_block *block = arena ? arena->first : NULL; block; block = next) {
		next = block->next;
		if (block->asked)
			each(block, user);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle's table of live blocks, in pages of its own, and the system calls it makes.
 *
 * Rule: nothing here allocates from the host or can be seen by another preload. Its caller holds the oracle's lock.
 */
#ifndef TEST_ORACLE_BLOCKS_H
#define TEST_ORACLE_BLOCKS_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct block {
	uintptr_t address;
	uint64_t usable, requested;
};

struct blocks {
	struct block *table; /* open addressing, at most half full; address 0 = empty */
	size_t slots, used;
};

/* A system call that nobody else's preload can see. A negative result is -errno. */
static long raw(long number, long a, long b, long c, long d, long e)
{
#ifdef __x86_64__
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = 0;
	__asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return number;
#else
	int saved = errno;
	long result = syscall(number, a, b, c, d, e, 0);
	result = result == -1 ? -errno : result;
	errno = saved;
	return result;
#endif
}

static void *pages(size_t bytes)
{
	long start = raw(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	return start < 0 ? NULL : (void *)start;
}

static void blocks_begin(struct blocks *blocks)
{
	blocks->slots = 1 << 14;
	blocks->used = 0;
	blocks->table = pages(blocks->slots * sizeof *blocks->table);
}

static size_t home(const struct blocks *blocks, uintptr_t address)
{
	return (size_t)((address >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (blocks->slots - 1);
}

static void blocks_put(struct blocks *blocks, struct block block);

static void blocks_grow(struct blocks *blocks)
{
	struct block *old = blocks->table;
	size_t slots = blocks->slots;
	blocks->table = pages(2 * slots * sizeof *old);
	blocks->slots = 2 * slots;
	blocks->used = 0;
	for (size_t i = 0; i < slots; i++)
		if (old[i].address)
			blocks_put(blocks, old[i]);
	raw(SYS_munmap, (long)old, (long)(slots * sizeof *old), 0, 0, 0);
}

static void blocks_put(struct blocks *blocks, struct block block)
{
	if (2 * (blocks->used + 1) > blocks->slots)
		blocks_grow(blocks);
	size_t at = home(blocks, block.address);
	while (blocks->table[at].address)
		at = (at + 1) & (blocks->slots - 1);
	blocks->table[at] = block;
	blocks->used++;
}

/* Takes the block out; .address is 0 where it was never put in. */
static struct block blocks_take(struct blocks *blocks, uintptr_t address)
{
	size_t mask = blocks->slots - 1, at = home(blocks, address);
	while (blocks->table[at].address && blocks->table[at].address != address)
		at = (at + 1) & mask;
	struct block found = blocks->table[at];
	if (!found.address)
		return found;
	blocks->used--;
	for (size_t hole = at, i = (at + 1) & mask;; i = (i + 1) & mask) {
		struct block *block = &blocks->table[i];
		if (!block->address) {
			blocks->table[hole].address = 0;
			return found;
		}
		if (((i - home(blocks, block->address)) & mask) < ((i - hole) & mask))
			continue;
		blocks->table[hole] = *block;
		hole = i;
	}
}

#endif

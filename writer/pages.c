/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of ours, outside every allocator, and what becomes of them in a fork child: it finds private ones empty and shared
 * ones gone, so that it can never write into its parent's log.
 *
 * Rule: all of them are listed, because of the one child that must find them: a fork made inside a signal handler that
 * interrupted a hook of ours. There the hook goes on in the child with what it has in its registers, so private pages are
 * kept for that fork and private zeros put where the shared ones were; nothing is recorded there. That hook may have been
 * making shared pages just then: the child finishes them, and must not find its parent's log in them either.
 */
#include "writer/sys.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "writer/poison.h"

#define LISTED 255 /* of a list: 4 KiB, about 60 threads */

/* Pages have at least 4096 bytes, so the low bits of the length say which kind it is. */
#define SHARED 1u
#define IN_MAKING 2u /* mapped, whether the shared pages are there yet or not, and a child may find them */
#define KINDS ((uintptr_t)3)

struct region {
	_Atomic uintptr_t start; /* 0 = free */
	uintptr_t bytes;
};

struct list {
	_Atomic(struct list *) next;
	uintptr_t padding;
	struct region regions[LISTED];
};

/* Kept across fork, as what it lists is mapped there, too, or is gone for good; then it is listed in vain. */
static struct list first;

static struct list *after(struct list *list)
{
	struct list *none = NULL, *next = list->next;

	if (next)
		return next;
	next = tfp_pages_get(sizeof *next, 0);
	if (next && !__atomic_compare_exchange_n((struct list **)&list->next, &none, next, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		tfp_pages_put(next, sizeof *next);
		next = none;
	}
	return next;
}

/* No kernel empties pages here: tfp_pages_wipe does. Kept across fork, as those pages are. */
static int is_by_hand;
static _Atomic int is_refused; /* the kernel said that it cannot */
static _Atomic int are_kept;   /* around a fork inside a handler */

static _Atomic uint32_t detached; /* how often tfp_pages_detach ran in this process and those it was forked from */

/* Where no more can be listed (NULL), a fork out of a handler may end its child: no worse than without the list. */
static struct region *enter(uintptr_t start, uintptr_t bytes)
{
	for (struct list *list = &first; list; list = after(list)) {
		for (int i = 0; i < LISTED; i++) {
			uintptr_t none = 0;
			if (list->regions[i].start ||
			    !__atomic_compare_exchange_n((uintptr_t *)&list->regions[i].start, &none, 1, 0, __ATOMIC_ACQ_REL,
							 __ATOMIC_RELAXED))
				continue;
			list->regions[i].bytes = bytes;
			__atomic_store_n((uintptr_t *)&list->regions[i].start, start, __ATOMIC_RELEASE);
			return &list->regions[i];
		}
	}
	return NULL;
}

static void strike(uintptr_t start)
{
	for (struct list *list = &first; list; list = list->next)
		for (int i = 0; i < LISTED; i++)
			if (list->regions[i].start == start)
				__atomic_store_n((uintptr_t *)&list->regions[i].start, 0, __ATOMIC_RELEASE);
}

static long zeros_at(uintptr_t start, uintptr_t bytes, int flags)
{
	return tfp_sys(SYS_mmap, (long)start, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

/*
 * Far from where the kernel puts what names no address: there we would get the hole that the host has just made, and a host may map its
 * own addresses again (MAP_FIXED), over us. Between 0x5400'0000'0000 and 0x5500'0000'0000 lies nothing by default (x86-64, aarch64 with 48
 * bits): below are Go's heap and the shadow of its race detector, the views of Java's ZGC (to 0x5000'...), what sanitizers keep and
 * allocate (to 0x5400'...); above 0x5555'... programs with their heaps, libraries and stacks. Within it moved by the stack's random bits.
 * It is a wish: where something is there, or the machine has fewer bits, the kernel chooses.
 */
#define FAR_FROM ((uintptr_t)0x5400 << 32)
#define FAR_BYTES ((uintptr_t)1 << 40)
static _Atomic uintptr_t far_next; /* from FAR_FROM on, in turns of FAR_BYTES; 0 = not chosen yet; who maps takes the next pages */

static long zeros_far(uintptr_t bytes)
{
	uintptr_t none = 0, whole = (bytes + 4095) & ~(uintptr_t)4095;

	if (!far_next)
		__atomic_compare_exchange_n((uintptr_t *)&far_next, &none, (uintptr_t)&none & ~(uintptr_t)4095, 0, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	uintptr_t next = __atomic_fetch_add((uintptr_t *)&far_next, whole + 4096, __ATOMIC_RELAXED);
	return zeros_at(FAR_FROM + next % FAR_BYTES, bytes, 0);
}

void *tfp_pages_get(size_t bytes, int wipe)
{
	long start = zeros_far(bytes);

	if (tfp_is_error(start))
		return NULL;
	if (!wipe)
		return (void *)start;
	/* A child that finds them as they are would go on in its parent's state: have none instead. */
	long refused = is_by_hand ? 0 : tfp_sys(SYS_madvise, start, (long)bytes, MADV_WIPEONFORK, 0, 0, 0);
	if (refused == -EINVAL)
		is_refused = 1;
	struct region *region = refused ? NULL : enter((uintptr_t)start, (bytes + 4095) & ~(uintptr_t)4095);
	if (refused || (is_by_hand && !region)) {
		tfp_sys(SYS_munmap, start, (long)bytes, 0, 0, 0, 0);
		return NULL;
	}
	return (void *)start;
}

int tfp_pages_need_hand(void)
{
	return is_refused && !is_by_hand;
}

void tfp_pages_by_hand(void)
{
	is_by_hand = 1;
}

int tfp_pages_are_by_hand(void)
{
	return is_by_hand;
}

void tfp_pages_wipe(void)
{
	if (!is_by_hand || are_kept)
		return;
	for (struct list *list = &first; list; list = list->next)
		for (int i = 0; i < LISTED; i++)
			if (list->regions[i].start > 1 && !(list->regions[i].bytes & SHARED))
				tfp_sys(SYS_madvise, (long)list->regions[i].start, (long)list->regions[i].bytes, MADV_DONTNEED, 0, 0,
					0);
}

void tfp_pages_put(void *start, size_t bytes)
{
	strike((uintptr_t)start);
	tfp_sys(SYS_munmap, (long)start, (long)bytes, 0, 0, 0, 0);
}

/*
 * The address is taken and listed first, then the file put there: a fork at any instant between finds the region listed.
 * In the child tfp_pages_detach has run inside one of these calls, which then goes on; the last question is for it.
 */
void *tfp_pages_share(long file, uint64_t offset, size_t bytes)
{
	uint32_t before = detached;
	uintptr_t whole = (bytes + 4095) & ~(uintptr_t)4095;
	long start = zeros_far(whole);

	if (tfp_is_error(start))
		return NULL;
	struct region *region = enter((uintptr_t)start, whole | SHARED | IN_MAKING);
	long shared = tfp_sys(SYS_mmap, start, (long)bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, (long)offset);
	if (tfp_is_error(shared)) {
		strike((uintptr_t)start);
		/* Without memory the kernel may have taken the address from us already, and somebody else have it now. */
		if (shared != -ENOMEM)
			tfp_sys(SYS_munmap, start, (long)whole, 0, 0, 0, 0);
		return NULL;
	}
	tfp_sys(SYS_madvise, start, (long)whole, MADV_DONTFORK, 0, 0, 0);
	if (region)
		__atomic_store_n(&region->bytes, whole | SHARED, __ATOMIC_RELEASE);
	if (detached != before)
		zeros_at((uintptr_t)start, whole, MAP_FIXED);
	return (void *)start;
}

void tfp_pages_keep(int is_kept)
{
	are_kept = is_kept;
	if (is_by_hand)
		return;
	for (struct list *list = &first; list; list = list->next)
		for (int i = 0; i < LISTED; i++)
			if (list->regions[i].start > 1 && !(list->regions[i].bytes & SHARED))
				tfp_sys(SYS_madvise, (long)list->regions[i].start, (long)list->regions[i].bytes,
					is_kept ? MADV_KEEPONFORK : MADV_WIPEONFORK, 0, 0, 0);
}

void tfp_pages_blank(uintptr_t address, size_t bytes)
{
	uintptr_t start = address & ~(uintptr_t)4095;

	/* Where there is something already (private memory of a log that is not mapped) that stays. */
	zeros_at(start, (address + bytes - start + 4095) & ~(uintptr_t)4095, MAP_FIXED_NOREPLACE);
}

void tfp_pages_detach(void)
{
	detached++;
	for (struct list *list = &first; list; list = list->next) {
		for (int i = 0; i < LISTED; i++) {
			uintptr_t bytes = list->regions[i].bytes;
			if (list->regions[i].start > 1 && (bytes & SHARED))
				zeros_at(list->regions[i].start, bytes & ~KINDS,
					 bytes & IN_MAKING ? MAP_FIXED : MAP_FIXED_NOREPLACE);
		}
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process-wide part of stacks: rules and modules, one compiler at a time.
 *
 * Rule: as in stacks.h. Who reads the stack is stacks_fast.c, stacks_recent.c and stacks_walk.c, and only where a frame
 * that was just verified says that its caller's return address lies.
 */
#include "collectors/stacks_state.h"

#include "writer/format.h"
#include "writer/signals.h"
#include "writer/store.h"
#include "writer/sys.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>

#include "writer/poison.h"

#define SCRATCH_STACK 65536 /* bytes for libunwind, which needs 6 KiB, and for our file names */
#define LOCK_YIELDS 200     /* the processor is yielded this often to whoever compiles (2 us), then slept for */
#define LOCK_SLEEPS 400     /* naps of LOCK_NAP_NS: 20 ms in all, longer than a processor is mostly taken from a thread */
#define LOCK_SLEEPS_MOST 20000 /* 1 s: as long as whoever holds it is there, on a machine that has no processor for it */
#define LOCK_NAP_NS 50000
#define LOCK_NOBODY UINT32_MAX /* held by a thread whose number the kernel may not be asked for */

/*
 * Where the process-wide part lies: written by tfp_stacks_make alone. A fork child makes its own in the same pages, which
 * it finds empty.
 */
static struct tfp_stacks *all_stacks;

static size_t whole_pages(size_t bytes)
{
	return (bytes + 4095) & ~(size_t)4095;
}

struct tfp_stacks *tfp_stacks_make(uint32_t frames)
{
	struct tfp_stacks *stacks = all_stacks;
	size_t bytes = whole_pages(sizeof(*stacks)) + whole_pages(tfp_modules_bytes) + TFP_MODULES_SCRATCH + SCRATCH_STACK;

	if (!stacks)
		stacks = tfp_pages_get(bytes, 1);
	if (!stacks)
		return NULL;
	all_stacks = stacks;
	stacks->frames = frames < TFP_STACK_FRAMES ? frames : TFP_STACK_FRAMES;
	stacks->modules = (void *)((char *)stacks + whole_pages(sizeof(*stacks)));
	stacks->scratch = (char *)stacks->modules + whole_pages(tfp_modules_bytes);
	stacks->stack_top = (char *)stacks + bytes;
	if (!tfp_sites_make(&stacks->sites) || !tfp_nodes_make(&stacks->nodes))
		return NULL;
	stacks->epoch = 1;
	return stacks;
}

struct tfp_stack_cache *tfp_stack_cache_make(struct tfp_stacks *stacks)
{
	(void)stacks;
	return tfp_pages_get(whole_pages(sizeof(struct tfp_stack_cache)), 1);
}

void tfp_stack_cache_drop(struct tfp_stack_cache *cache)
{
	tfp_pages_put(cache, whole_pages(sizeof(*cache)));
}

static int try_lock(struct tfp_stacks *stacks, uint32_t self)
{
	uint32_t none = 0;

	return atomic_compare_exchange_strong_explicit(&stacks->lock, &none, self, memory_order_acquire, memory_order_relaxed);
}

/* Whether the thread that holds the lock is there; who let go of it meanwhile counts as there. */
static int is_held_by_the_living(struct tfp_stacks *stacks)
{
	uint32_t holder = stacks->lock;

	return !holder || (holder != LOCK_NOBODY && tfp_sys(SYS_tkill, holder, 0, 0, 0, 0, 0) != -ESRCH);
}

/* For another thread to go on: yields at first, then naps. */
static void pause_for(int times)
{
	static const struct timespec nap = { 0, LOCK_NAP_NS };

	if (times < LOCK_YIELDS)
		tfp_sys(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	else
		tfp_sys(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&nap, 0, 0, 0);
}

/*
 * Blocks all signals, so that no handler of this thread waits for what this thread holds. Whoever holds
 * the lock may be gone (a vfork child that was killed): nobody waits a second time then, and stacks do without new rules. Who is
 * there and gets no processor is waited for.
 */
static int lock(struct tfp_stacks *stacks, struct tfp_signals *signals)
{
	long tid = tfp_sys(SYS_gettid, 0, 0, 0, 0, 0, 0);

	tfp_signals_block(signals);
	for (int i = 0; i < LOCK_YIELDS + LOCK_SLEEPS_MOST; i++) {
		if (try_lock(stacks, tid > 0 ? (uint32_t)tid : LOCK_NOBODY)) {
			stacks->is_stuck = 0;
			return 1;
		}
		if (stacks->is_stuck || (i >= LOCK_YIELDS + LOCK_SLEEPS && !is_held_by_the_living(stacks)))
			break;
		pause_for(i);
	}
	stacks->is_stuck = 1;
	tfp_signals_restore(signals);
	return 0;
}

static void unlock(struct tfp_stacks *stacks, const struct tfp_signals *signals)
{
	atomic_store_explicit(&stacks->lock, 0, memory_order_release);
	tfp_signals_restore(signals);
}

struct lookup {
	struct tfp_stacks *stacks;
	uint64_t key;
	uint32_t epoch;
	struct tfp_site *site;
	struct tfp_far *far; /* NULL: a live stack holds the object */
	int is_known; /* site is what was true in an earlier epoch */
};

/* Code that belongs to no object, which may still be a signal's return: some kernels and emulators keep that apart. */
static void bare_image(struct tfp_image *image, uintptr_t pc)
{
	tfp_fill(image, 0, sizeof(*image));
	if (!tfp_stack_memory_can_read(pc) || !tfp_stack_memory_can_read(pc + 8))
		return;
	image->readable[0].start = pc;
	image->readable[0].end = pc + 16;
}

/* What was read of the object may be another one's. */
static int is_gone(const struct lookup *lookup, uint32_t module, uintptr_t pc)
{
	return lookup->far && (lookup->far->is_failed || !tfp_modules_is_there(lookup->stacks->modules, module, pc));
}

/* On the scratch stack, under the lock. */
static void find_site(void *argument)
{
	struct lookup *lookup = argument;
	struct tfp_stacks *stacks = lookup->stacks;
	struct tfp_site *site = lookup->site;
	uintptr_t pc = (uintptr_t)(lookup->key & ~TFP_SITE_EXACT);
	int is_exact = (lookup->key & TFP_SITE_EXACT) != 0;
	uint32_t module =
		tfp_modules_find(stacks->modules, pc - !is_exact, lookup->epoch, stacks->scratch, lookup->far, &stacks->image);

	if (lookup->far && !module) {
		site->pc = 0;
		return;
	}

	if (!lookup->is_known || site->module != module || !site->pc) {
		tfp_fill(site, 0, sizeof(*site));
		site->module = module;
		if (!module)
			bare_image(&stacks->image, pc);
		tfp_unwind_compile(&stacks->image, pc, is_exact, &site->rule);
		if (is_gone(lookup, module, pc - !is_exact))
			return;
		site->pc = tfp_store_pc(pc, module, is_exact ? TFP_PC_EXACT : 0);
	}
	/* What belongs to no object is asked for each time, whatever the epoch; 0 would say that nothing is known. */
	site->epoch = module ? lookup->epoch : 1;
	if (site->pc)
		tfp_sites_put(&stacks->sites, lookup->key, site);
}

/* Whether what is known of a site is true now, without taking the lock. */
static int is_current(struct tfp_stacks *stacks, uint64_t key, uint32_t epoch, const struct tfp_site *site)
{
	/* Where no object was known there may be one by now. */
	if (!site->module)
		return !tfp_modules_is_mapped((uintptr_t)(key & ~TFP_SITE_EXACT));
	if (atomic_load(&stacks->unloading))
		return tfp_modules_is_same(stacks->modules, site->module, (uintptr_t)(key & ~TFP_SITE_EXACT) - !(key & TFP_SITE_EXACT));
	if (site->epoch == epoch)
		return 1;
	if (!tfp_modules_is_current(stacks->modules, site->module, epoch))
		return 0;
	tfp_sites_renew(&stacks->sites, key, site, epoch);
	return 1;
}

/* Compiles it. */
static int look_up(struct lookup *lookup)
{
	struct tfp_stacks *stacks = lookup->stacks;
	struct tfp_signals signals;

	if (!lock(stacks, &signals))
		return 0;
	if (stacks->unloading)
		lookup->epoch = 0;
	lookup->is_known = tfp_sites_get(&stacks->sites, lookup->key, lookup->site);
	tfp_unwind_on_stack(stacks->stack_top, find_site, lookup);
	unlock(stacks, &signals);
	return lookup->site->pc != 0;
}

int tfp_stacks_site(struct tfp_stacks *stacks, uint64_t key, uint32_t epoch, struct tfp_site *site)
{
	struct lookup lookup = { .stacks = stacks, .key = key, .epoch = epoch, .site = site };

	return (tfp_sites_get(&stacks->sites, key, site) && is_current(stacks, key, epoch, site)) || look_up(&lookup);
}

int tfp_stacks_site_outside(struct tfp_stacks *stacks, uint64_t key, uint32_t epoch, struct tfp_site *site)
{
	uintptr_t pc = (uintptr_t)(key & ~TFP_SITE_EXACT) - !(key & TFP_SITE_EXACT);
	struct lookup lookup = { .stacks = stacks, .key = key, .epoch = epoch, .site = site, .far = &stacks->far };

	if (tfp_sites_get(&stacks->sites, key, site) && site->module) {
		if (!tfp_modules_is_there(stacks->modules, site->module, pc))
			lookup.epoch = 0; /* libc has closed it by itself: the epoch does not say so */
		else if (!atomic_load(&stacks->unloading) && is_current(stacks, key, epoch, site))
			return 1;
	}
	return look_up(&lookup);
}

struct beginning {
	struct tfp_stacks *stacks;
	uint64_t key;
	uintptr_t function, end;
};

/* On the scratch stack, under the lock. */
static void find_beginning(void *argument)
{
	struct beginning *beginning = argument;
	struct tfp_image *image = &beginning->stacks->image;
	uintptr_t pc = (uintptr_t)(beginning->key & ~TFP_SITE_EXACT) - !(beginning->key & TFP_SITE_EXACT);

	if (tfp_modules_find(beginning->stacks->modules, pc, beginning->stacks->epoch, beginning->stacks->scratch, &beginning->stacks->far,
			     image))
		beginning->function = tfp_unwind_function(image, pc, &beginning->end);
}

uintptr_t tfp_stacks_function(struct tfp_stacks *stacks, uint64_t key, uintptr_t *end)
{
	struct beginning beginning = {.stacks = stacks, .key = key};
	struct tfp_signals signals;

	if (!lock(stacks, &signals))
		return 0;
	tfp_unwind_on_stack(stacks->stack_top, find_beginning, &beginning);
	unlock(stacks, &signals);
	*end = beginning.end;
	return beginning.function;
}

uint32_t tfp_stacks_marker(struct tfp_stacks *stacks, uint32_t flag)
{
	_Atomic uint32_t *known = &stacks->markers[__builtin_ctz(flag) % TFP_STACK_MARKERS];
	uint32_t pc = *known;

	if (!pc) {
		pc = tfp_store_pc(0, 0, flag);
		*known = pc; /* two threads may store two of them: harmless */
	}
	return pc ? tfp_nodes_get(&stacks->nodes, 0, pc) : 0;
}

uint32_t tfp_stack_node(struct tfp_stacks *stacks, uint32_t parent, uint32_t pc)
{
	return tfp_nodes_get(&stacks->nodes, parent, pc);
}

uint32_t tfp_stack_cut_node(struct tfp_stacks *stacks, uint32_t flag)
{
	return tfp_stacks_marker(stacks, flag);
}

uint32_t tfp_stacks_outside_begin(struct tfp_stacks *stacks, long memory)
{
	tfp_far_begin(&stacks->far, memory);
	atomic_store(&stacks->outside, 1); /* before it is asked whether something goes: who unmaps says so, then asks */
	if (!atomic_load(&stacks->unloading))
		return atomic_load(&stacks->epoch);
	tfp_stacks_outside_end(stacks);
	return 0;
}

void tfp_stacks_outside_end(struct tfp_stacks *stacks)
{
	atomic_store_explicit(&stacks->outside, 0, memory_order_release);
}

void tfp_stacks_unload_begin(struct tfp_stacks *stacks)
{
	atomic_fetch_add(&stacks->unloading, 1);
	atomic_fetch_add(&stacks->epoch, 1);
	for (int i = 0; atomic_load(&stacks->outside) && i < LOCK_YIELDS + LOCK_SLEEPS_MOST; i++)
		pause_for(i);
}

void tfp_stacks_unload_end(struct tfp_stacks *stacks)
{
	struct tfp_signals signals;

	/* A child forked meanwhile has nothing to forget, and has begun nothing. */
	if (!stacks->unloading)
		return;
	if (stacks->modules && lock(stacks, &signals)) {
		tfp_modules_sweep(stacks->modules);
		unlock(stacks, &signals);
	}
	atomic_fetch_add(&stacks->epoch, 1);
	atomic_fetch_sub(&stacks->unloading, 1);
}

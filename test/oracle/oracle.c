/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle: a preload that counts what a program allocates, to be compared with what tfprof says of the same run.
 *
 * Rule: it shares no code, header or method of counting with the product: one lock, one table of live blocks, plain sums
 * at the event. It is built twice, `outer` to stand before libtfprof.so in LD_PRELOAD and `inner` to stand behind it:
 *
 *   program -> outer -> libtfprof.so -> inner -> allocator
 *
 * Both take a release off before they pass the call on and add an allocation after it came back. What libtfprof.so
 * counts therefore lies between the two in time: at every instant outer.live <= its live <= inner.live, and when both
 * oracles name one peak there is one right answer. Results stand in a shared mapping of a file of their own for each
 * process image, $ORACLE_DIR/ROLE.PID.START.TSC, so that no kind of death loses them. test/lib/house.py reads it.
 */
#include "test/oracle/blocks.h"
#include "test/oracle/newborn.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef ORACLE_ROLE
#error "define ORACLE_ROLE as inner or outer"
#endif
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

#define HIGH_COUNT 65536         /* rows of the history of new peaks */
#define HIGH_STEP (16 * 1024)    /* bytes a peak must grow before it gets a row */
#define NEAR_BYTES (256 * 1024)  /* "near the peak": within this many bytes of it */
#define EARLY_BYTES (64 * 1024)  /* served before the real functions are known */
#define PENDING_COUNT 64         /* events of signal handlers that interrupted the accounting */

#define SHOWN __attribute__((visibility("default")))

struct high {
	int64_t live;
	uint64_t mono_ns;
};

/* One way of counting live bytes. */
struct curve {
	int64_t live, peak;
	uint64_t peak_mono_ns;  /* when the peak was first reached */
	uint64_t peak_tsc;
	uint64_t near_mono_ns;  /* when live was last within NEAR_BYTES of the peak */
	uint64_t high_count;
};

/* The file. Every word is 64 bits; house.py names them in this order. */
struct result {
	char magic[8];
	uint64_t pid, start_ticks, begin_mono_ns, begin_tsc, threads;
	uint64_t allocations, frees, requested, allocated, freed;
	uint64_t unknown_frees, unknown_freed; /* of blocks this image never allocated (inherited by fork); also in frees */
	uint64_t null_frees, failures;
	uint64_t maps, unmaps, mapped, unmapped;
	uint64_t dropped;       /* events lost to PENDING_COUNT: the comparison is void unless 0 */
	int64_t inherited;      /* live in the parent when it forked this process, where known; `all` begins with it */
	struct curve all;       /* allocated - freed, whoever allocated */
	struct curve known;     /* the same without the unknown releases */
	struct curve asked;     /* requested bytes of known blocks */
	struct curve map;
	struct high highs[HIGH_COUNT]; /* of `all` */
};

/* Emptied by the kernel in a fork child, which thereby starts anew. */
struct state {
	atomic_int lock;
	atomic_int is_open;
	struct result *result;
	struct blocks blocks;
};

enum kind { KIND_ALLOC, KIND_FREE, KIND_FREE_UNDO, KIND_MAP, KIND_UNMAP, KIND_FAILURE, KIND_NULL_FREE };

struct event {
	enum kind kind;
	uintptr_t address;
	uint64_t usable, requested;
};

/* The thread's own: is it inside the accounting, and what its signal handlers did meanwhile. */
struct local {
	volatile int is_busy;
	volatile int pending_count;
	uint64_t epoch; /* begin_tsc of the result it was counted in as a thread */
	struct event pending[PENDING_COUNT];
};

static __thread struct local local __attribute__((tls_model("initial-exec")));
static struct state *state;
static int64_t forked_live; /* what was live when this process was forked; a raw clone runs no handler: 0, unknown */
static struct result nowhere; /* where the file cannot be made */
static char directory[512];
static char early[EARLY_BYTES] __attribute__((aligned(64)));
static atomic_size_t early_used;

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	void (*free)(void *);
	void (*cfree)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*usable)(void *);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	int (*brk)(void *);
	void *(*sbrk)(intptr_t);
} next;
static atomic_int next_state; /* 0 unknown, 1 being looked up, 2 known */

static uint64_t tsc(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

static uint64_t mono_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

#define LOOK(name) *(void **)&next.name = dlsym(RTLD_NEXT, #name)

/* dlsym allocates only when it fails; those calls are served from `early`. */
static void look_up(void)
{
	int unknown = 0;
	if (!atomic_compare_exchange_strong(&next_state, &unknown, 1))
		return;
	LOOK(calloc), LOOK(realloc), LOOK(reallocarray), LOOK(free), LOOK(posix_memalign), LOOK(aligned_alloc);
	LOOK(memalign), LOOK(valloc), LOOK(pvalloc), LOOK(mmap), LOOK(munmap), LOOK(mremap), LOOK(brk), LOOK(sbrk), LOOK(malloc);
	*(void **)&next.usable = dlsym(RTLD_NEXT, "malloc_usable_size");
	*(void **)&next.cfree = dlvsym(RTLD_NEXT, "cfree", "GLIBC_2.2.5");
	if (!next.cfree)
		next.cfree = next.free;
	atomic_store(&next_state, 2);
}

static int is_ready(void)
{
	if (atomic_load_explicit(&next_state, memory_order_acquire) != 2)
		look_up();
	return atomic_load_explicit(&next_state, memory_order_acquire) == 2;
}

static void *early_get(size_t size)
{
	size_t at = atomic_fetch_add(&early_used, (size + 63) & ~(size_t)63);
	return at + size <= EARLY_BYTES ? early + at : NULL;
}

static int is_early(const void *block)
{
	return (const char *)block >= early && (const char *)block < early + EARLY_BYTES;
}

/* Field 22 of /proc/self/stat; 0 where it cannot be read. */
static uint64_t start_ticks(void)
{
	char text[1024];
	long fd = raw(SYS_openat, AT_FDCWD, (long)"/proc/self/stat", O_RDONLY | O_CLOEXEC, 0, 0);
	long got = fd < 0 ? 0 : raw(SYS_read, fd, (long)text, sizeof text - 1, 0, 0);
	if (fd >= 0)
		raw(SYS_close, fd, 0, 0, 0, 0);
	if (got <= 0)
		return 0;
	text[got] = 0;
	char *at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

static struct result *open_result(void)
{
	uint64_t pid = (uint64_t)raw(SYS_getpid, 0, 0, 0, 0, 0), start = start_ticks(), now = tsc();
	char path[640];
	if (!directory[0] && getenv("ORACLE_DIR"))
		snprintf(directory, sizeof directory, "%s", getenv("ORACLE_DIR"));
	snprintf(path, sizeof path, "%s/" TEXT(ORACLE_ROLE) ".%llu.%llu.%llu", directory, (unsigned long long)pid,
		 (unsigned long long)start, (unsigned long long)now);
	long fd = raw(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666, 0);
	if (fd < 0)
		return &nowhere;
	long at = raw(SYS_ftruncate, fd, sizeof(struct result), 0, 0, 0);
	if (!at)
		at = raw(SYS_mmap, 0, sizeof(struct result), PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	raw(SYS_close, fd, 0, 0, 0, 0);
	if (at < 0)
		return &nowhere;
	struct result *result = (struct result *)at;
	memcpy(result->magic, "ORACLE1", 8);
	result->pid = pid;
	result->start_ticks = start;
	result->begin_mono_ns = mono_ns();
	result->begin_tsc = now;
	result->inherited = forked_live;
	result->all = (struct curve){.live = result->inherited, .peak = result->inherited, .peak_mono_ns = result->begin_mono_ns,
				     .peak_tsc = now, .near_mono_ns = result->begin_mono_ns};
	return result;
}

/* Under the lock. */
static void open_state(void)
{
	state->result = open_result();
	forked_live = 0;
	blocks_begin(&state->blocks);
	atomic_store(&state->is_open, 1);
}

static void curve_add(struct curve *curve, int64_t bytes, struct high *highs)
{
	curve->live += bytes;
	if (curve->live + NEAR_BYTES < curve->peak)
		return;
	uint64_t now = mono_ns();
	curve->near_mono_ns = now;
	if (curve->live <= curve->peak)
		return;
	curve->peak = curve->live;
	curve->peak_mono_ns = now;
	curve->peak_tsc = tsc();
	uint64_t count = curve->high_count;
	if (!highs || count == HIGH_COUNT || (count && highs[count - 1].live + HIGH_STEP > curve->live))
		return;
	highs[count] = (struct high){curve->live, now};
	curve->high_count = count + 1;
}

static void count_alloc(struct result *r, const struct event *event)
{
	r->allocations++;
	r->requested += event->requested;
	r->allocated += event->usable;
	blocks_put(&state->blocks, (struct block){event->address, event->usable, event->requested});
	curve_add(&r->all, (int64_t)event->usable, r->highs);
	curve_add(&r->known, (int64_t)event->usable, NULL);
	curve_add(&r->asked, (int64_t)event->requested, NULL);
}

static void count_free(struct result *r, struct event *event)
{
	struct block block = blocks_take(&state->blocks, event->address);
	r->frees++;
	r->freed += event->usable;
	curve_add(&r->all, -(int64_t)event->usable, r->highs);
	event->requested = block.requested;
	if (!block.address) {
		r->unknown_frees++;
		r->unknown_freed += event->usable;
		return;
	}
	curve_add(&r->known, -(int64_t)block.usable, NULL);
	curve_add(&r->asked, -(int64_t)block.requested, NULL);
}

/* A realloc failed after its old block was counted as freed. */
static void count_free_undo(struct result *r, const struct event *event)
{
	r->frees--;
	r->freed -= event->usable;
	blocks_put(&state->blocks, (struct block){event->address, event->usable, event->requested});
	r->all.live += (int64_t)event->usable;
	r->known.live += (int64_t)event->usable;
	r->asked.live += (int64_t)event->requested;
}

static void count(struct event *event)
{
	struct result *r = state->result;
	switch (event->kind) {
	case KIND_ALLOC: count_alloc(r, event); break;
	case KIND_FREE: count_free(r, event); break;
	case KIND_FREE_UNDO: count_free_undo(r, event); break;
	case KIND_MAP: r->maps++, r->mapped += event->usable, curve_add(&r->map, (int64_t)event->usable, NULL); break;
	case KIND_UNMAP: r->unmaps++, r->unmapped += event->usable, curve_add(&r->map, -(int64_t)event->usable, NULL); break;
	case KIND_FAILURE: r->failures++; break;
	case KIND_NULL_FREE: r->null_frees++; break;
	}
}

static void before_fork(void)
{
	if (state && state->result)
		forked_live = state->result->all.live;
}

static void after_fork(void)
{
	forked_live = 0;
}

static void make_state(void)
{
	static atomic_int lock;
	while (atomic_exchange(&lock, 1))
		raw(SYS_sched_yield, 0, 0, 0, 0, 0);
	if (!state) {
		struct state *fresh = pages(4096);
		if (raw(SYS_madvise, (long)fresh, 4096, MADV_WIPEONFORK, 0, 0))
			mark_process();
		__atomic_store_n(&state, fresh, __ATOMIC_RELEASE);
	}
	atomic_store(&lock, 0);
}

/* Counts the event, if any, and what handlers left; takes `pending` back only if none was added meanwhile. */
static void account(struct event *event)
{
	int done = 0, all;
	if (!__atomic_load_n(&state, __ATOMIC_ACQUIRE))
		make_state();
	empty_in_child(state, sizeof *state);
	while (atomic_exchange_explicit(&state->lock, 1, memory_order_acquire))
		raw(SYS_sched_yield, 0, 0, 0, 0, 0);
	if (!atomic_load(&state->is_open))
		open_state();
	if (local.epoch != state->result->begin_tsc) {
		local.epoch = state->result->begin_tsc;
		state->result->threads++;
	}
	if (event)
		count(event);
	do {
		while (done < local.pending_count)
			count(&local.pending[done++]);
		all = done;
	} while (!__atomic_compare_exchange_n(&local.pending_count, &all, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	atomic_store_explicit(&state->lock, 0, memory_order_release);
}

/* The file is made before main: a program may forbid itself to make any (xz does, with Landlock) before it allocates. */
__attribute__((constructor)) static void begin(void)
{
	pthread_atfork(before_fork, after_fork, NULL);
	account(NULL);
}

/* errno is the host's. A handler that interrupts this very function leaves its events in `pending`. */
static void note(struct event *event)
{
	int saved = errno;
	if (local.is_busy) {
		int at = local.pending_count;
		if (at == PENDING_COUNT)
			__atomic_fetch_add(&state->result->dropped, 1, __ATOMIC_RELAXED);
		else
			local.pending[at] = *event, local.pending_count = at + 1;
		return;
	}
	do {
		local.is_busy = 1;
		account(event);
		local.is_busy = 0;
		event = NULL;
	} while (local.pending_count);
	errno = saved;
}

static void *allocated(void *block, size_t requested)
{
	struct event event = {KIND_FAILURE, (uintptr_t)block, block ? next.usable(block) : 0, requested};
	if (block)
		event.kind = KIND_ALLOC;
	note(&event);
	return block;
}

static struct event released(void *block)
{
	struct event event = {block ? KIND_FREE : KIND_NULL_FREE, (uintptr_t)block, block ? next.usable(block) : 0, 0};
	note(&event);
	return event;
}

SHOWN void *malloc(size_t size)
{
	return is_ready() ? allocated(next.malloc(size), size) : early_get(size);
}

SHOWN void *calloc(size_t count_, size_t size)
{
	return is_ready() ? allocated(next.calloc(count_, size), count_ * size) : early_get(count_ * size);
}

static void *move(void *block, size_t size, void *(*real)(void *, size_t, size_t), size_t count_, size_t each)
{
	if (is_early(block)) {
		void *fresh = malloc(size);
		size_t room = (size_t)(early + EARLY_BYTES - (char *)block);
		return fresh ? memcpy(fresh, block, size < room ? size : room) : NULL;
	}
	struct event old = {KIND_NULL_FREE, 0, 0, 0};
	if (block)
		old = released(block);
	void *fresh = real(block, count_, each);
	if (fresh)
		return allocated(fresh, size);
	if (block && size)
		old.kind = KIND_FREE_UNDO, note(&old);
	if (size)
		allocated(NULL, size);
	return NULL;
}

static void *real_realloc(void *block, size_t count_, size_t each)
{
	return next.realloc(block, count_ * each);
}

SHOWN void *realloc(void *block, size_t size)
{
	return is_ready() ? move(block, size, real_realloc, 1, size) : early_get(size);
}

SHOWN void *reallocarray(void *block, size_t count_, size_t size)
{
	size_t bytes;
	if (!is_ready())
		return NULL;
	if (__builtin_mul_overflow(count_, size, &bytes))
		return next.reallocarray(block, count_, size);
	return move(block, bytes, next.reallocarray, count_, size);
}

SHOWN void free(void *block)
{
	if (is_early(block) || !is_ready())
		return;
	released(block);
	next.free(block);
}

SHOWN void cfree(void *block);
SHOWN void cfree(void *block)
{
	if (is_early(block) || !is_ready())
		return;
	released(block);
	next.cfree(block);
}

SHOWN int posix_memalign(void **result, size_t alignment, size_t size)
{
	if (!is_ready())
		return ENOMEM;
	int status = next.posix_memalign(result, alignment, size);
	allocated(status ? NULL : *result, size);
	return status;
}

SHOWN void *aligned_alloc(size_t alignment, size_t size)
{
	return is_ready() ? allocated(next.aligned_alloc(alignment, size), size) : NULL;
}

SHOWN void *memalign(size_t alignment, size_t size)
{
	return is_ready() ? allocated(next.memalign(alignment, size), size) : NULL;
}

SHOWN void *valloc(size_t size)
{
	return is_ready() ? allocated(next.valloc(size), size) : NULL;
}

SHOWN void *pvalloc(size_t size)
{
	return is_ready() ? allocated(next.pvalloc(size), size) : NULL;
}

/* Beside malloc, so that nobody takes this library for an allocator with block sizes of its own. */
SHOWN size_t malloc_usable_size(void *block)
{
	return is_ready() && !is_early(block) ? next.usable(block) : 0;
}

#ifdef ORACLE_C23
/* What libtfprof.so looks up behind itself; where it is missing, ld.so allocates a message, which only outer would see. */
SHOWN void free_sized(void *block, size_t size);
SHOWN void free_sized(void *block, size_t size)
{
	(void)size;
	free(block);
}

SHOWN void free_aligned_sized(void *block, size_t alignment, size_t size);
SHOWN void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	(void)alignment;
	free_sized(block, size);
}
#endif

static void ranged(enum kind kind, void *address, size_t length)
{
	struct event event = {kind, (uintptr_t)address, (length + 4095) & ~(size_t)4095, 0};
	note(&event);
}

SHOWN void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
	if (!is_ready())
		return MAP_FAILED;
	void *start = next.mmap(address, length, protection, flags, fd, offset);
	if (start != MAP_FAILED)
		ranged(KIND_MAP, start, length);
	return start;
}

SHOWN void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset)
{
	return mmap(address, length, protection, flags, fd, offset);
}

SHOWN int munmap(void *address, size_t length)
{
	if (!is_ready())
		return -1;
	int status = next.munmap(address, length);
	if (!status)
		ranged(KIND_UNMAP, address, length);
	return status;
}

SHOWN void *mremap(void *old, size_t old_length, size_t new_length, int flags, ...)
{
	va_list more;
	va_start(more, flags);
	void *wanted = va_arg(more, void *);
	va_end(more);
	if (!is_ready())
		return MAP_FAILED;
	void *start = next.mremap(old, old_length, new_length, flags, wanted);
	if (start == MAP_FAILED)
		return start;
	ranged(KIND_UNMAP, old, old_length);
	ranged(KIND_MAP, start, new_length);
	return start;
}

static void broken(intptr_t growth)
{
	if (growth > 0)
		ranged(KIND_MAP, NULL, (size_t)growth);
	if (growth < 0)
		ranged(KIND_UNMAP, NULL, (size_t)-growth);
}

SHOWN int brk(void *address)
{
	if (!is_ready())
		return -1;
	char *before = next.sbrk(0);
	int status = next.brk(address);
	if (!status)
		broken((char *)address - before);
	return status;
}

SHOWN void *sbrk(intptr_t increment)
{
	if (!is_ready())
		return (void *)-1;
	void *before = next.sbrk(increment);
	if (before != (void *)-1)
		broken(increment);
	return before;
}

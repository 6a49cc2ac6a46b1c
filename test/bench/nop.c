/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two preloads of the bench from one list of entry points: nop.so passes every call on and does nothing else, so that
 * the price of standing in front is measurable; count.so (-DBENCH_COUNT) also counts calls, exactly, and is the oracle
 * of the column "seen". Their one rule: they share nothing with the library under test.
 *
 * count.so: $BENCH_COUNT_FILE is a file of SLOT_COUNT slots of 64 bytes, mapped shared by every process that finds the
 * variable; each thread takes one slot, adds to it without locking, and the file holds the sums after any death:
 *   u64 next free slot (slot 0 only) | u64 allocations | u64 releases | ...
 * An allocation is a call that returned a block (a realloc is one), a release is a free of a non-null address.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define THREAD_LOCAL __attribute__((tls_model("initial-exec"))) static _Thread_local

enum { SLOT_COUNT = 16384, EARLY_BYTES = 65536 };

struct slot {
	_Atomic uint64_t next;
	uint64_t allocations;
	uint64_t releases;
	uint64_t unused[5];
};

#ifdef BENCH_COUNT
static struct slot spare;
static struct slot *slots;
THREAD_LOCAL struct slot *mine;

static void forget_slot(void)
{
	mine = NULL;
}

static void map_slots(void)
{
	const char *path = getenv("BENCH_COUNT_FILE");
	int file = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *map = file < 0 ? MAP_FAILED :
			       mmap(NULL, SLOT_COUNT * sizeof(struct slot), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (file >= 0)
		close(file);
	slots = map == MAP_FAILED ? &spare : map;
	pthread_atfork(NULL, NULL, forget_slot);
}

static struct slot *take_slot(void)
{
	mine = &spare;
	if (slots == NULL)
		map_slots();
	if (slots != &spare) {
		uint64_t number = atomic_fetch_add(&slots->next, 1) + 1;
		mine = &slots[number < SLOT_COUNT ? number : 0];
	}
	return mine;
}

#define COUNT(field) (*(mine != NULL ? &mine->field : &take_slot()->field) += 1)
#else
#define COUNT(field) ((void)0)
#endif

/* What dlsym itself may allocate while the real functions are being looked up; never given back. */
static _Alignas(16) char early[EARLY_BYTES];
static size_t early_used;

static void *early_take(size_t bytes)
{
	size_t at = early_used;

	early_used += (bytes + 15) & ~(size_t)15;
	return early_used <= sizeof(early) ? early + at : NULL;
}

static int is_early(const void *block)
{
	return (const char *)block >= early && (const char *)block < early + sizeof(early);
}

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
} real;

static void find_real(void)
{
	static int busy;

	if (busy)
		return;
	busy = 1;
#define FIND(name) real.name = (__typeof__(real.name))dlsym(RTLD_NEXT, #name)
	FIND(calloc);
	FIND(realloc);
	FIND(reallocarray);
	FIND(free);
	FIND(posix_memalign);
	FIND(aligned_alloc);
	FIND(memalign);
	FIND(valloc);
	FIND(pvalloc);
	FIND(malloc);
	busy = 0;
}

#define READY(name) (__builtin_expect(real.name != NULL, 1) || (find_real(), real.name != NULL))

static inline void *allocated(void *block)
{
	if (block != NULL)
		COUNT(allocations);
	return block;
}

EXPORT void *malloc(size_t size)
{
	return READY(malloc) ? allocated(real.malloc(size)) : early_take(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
	return READY(calloc) ? allocated(real.calloc(count, size)) : early_take(count * size);
}

EXPORT void *realloc(void *block, size_t size)
{
	if (!READY(realloc) || is_early(block)) {
		void *bigger = early_take(size);
		return bigger != NULL && block != NULL ? memcpy(bigger, block, size) : bigger;
	}
	return allocated(real.realloc(block, size));
}

EXPORT void *reallocarray(void *block, size_t count, size_t size)
{
	return READY(reallocarray) ? allocated(real.reallocarray(block, count, size)) : NULL;
}

EXPORT void free(void *block)
{
	if (block == NULL || is_early(block) || !READY(free))
		return;
	COUNT(releases);
	real.free(block);
}

EXPORT int posix_memalign(void **result, size_t alignment, size_t size)
{
	int error = READY(posix_memalign) ? real.posix_memalign(result, alignment, size) : ENOMEM;

	if (error == 0)
		COUNT(allocations);
	return error;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	return READY(aligned_alloc) ? allocated(real.aligned_alloc(alignment, size)) : NULL;
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	return READY(memalign) ? allocated(real.memalign(alignment, size)) : NULL;
}

EXPORT void *valloc(size_t size)
{
	return READY(valloc) ? allocated(real.valloc(size)) : NULL;
}

EXPORT void *pvalloc(size_t size)
{
	return READY(pvalloc) ? allocated(real.pvalloc(size)) : NULL;
}

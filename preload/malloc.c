/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The malloc family as the host calls it: forwards, and tells collectors/heap.h.
 *
 * Rule: results and errno are the real function's. A failed call is no allocation, but told by itself; a null pointer is no
 * event. A realloc is a release before the real call and an allocation after it.
 */
#include "collectors/heap.h"
#include "preload/caller.h"
#include "preload/real.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

/* Not in every libc's headers. */
void cfree(void *block);
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);

/* Real functions are known in all modes but COLD; `early` serves the lookup's own calls. Not in malloc and calloc: tfp_real knows. */
#define TFP_FORWARD_EARLY(early) \
	do { \
		if (TFP_UNLIKELY(tfp_mode_now == TFP_MODE_COLD) && tfp_resolve()) \
			return early; \
	} while (0)

/*
 * All but the usual road, out of line: the hooks that most calls take (malloc, calloc, free) hold that road alone, ask for no mode
 * and, where they can, make no frame. Before start-up no thread is on it, and tfp_real's first entries look the others up.
 */
static __attribute__((noinline)) void *allocated_any(void *block, size_t size, unsigned function, uintptr_t pc, uintptr_t sp,
						     uintptr_t fp)
{
	const struct tfp_caller caller = {pc, sp, fp};

	if (TFP_UNLIKELY(tfp_mode_now == TFP_MODE_COLD) && (tfp_early_owns(block) || tfp_resolve()))
		return block;
	if (block && !tfp_heap_allocated_asking(block, size, tfp_heap.usable_size))
		tfp_heap_allocated(block, size, function, &caller);
	else if (!block && errno == ENOMEM)
		tfp_heap_refused(size, function, &caller);
	return block;
}

static __attribute__((noinline)) void *allocated_other(void *block, size_t size, unsigned function, uintptr_t pc, uintptr_t sp,
						       uintptr_t fp)
{
	uint32_t mode = tfp_mode_now;

	if (mode == TFP_MODE_PASS)
		return block;
	if (__builtin_expect(block != NULL, 1) && mode == TFP_MODE_FULL)
		return tfp_heap_allocated_full(block, size, function, pc, sp, fp);
	return allocated_any(block, size, function, pc, sp, fp);
}

static __attribute__((noinline)) void free_any(void *block)
{
	if (TFP_UNLIKELY(tfp_mode_now == TFP_MODE_COLD) && tfp_resolve())
		return;
	if (block && !tfp_heap_freed_asking(block, tfp_heap.usable_size))
		tfp_heap_freed(block);
	tfp_real.free(block);
}

static __attribute__((noinline)) void free_full(void *block)
{
	if (__builtin_expect(block && tfp_heap_freed_full(block), 1))
		tfp_real.free(block);
	else
		free_any(block);
}

static __attribute__((noinline)) void free_other(void *block)
{
	if (TFP_UNLIKELY(tfp_early_owns(block)))
		return;
	if (tfp_mode_now == TFP_MODE_FULL)
		free_full(block);
	else if (tfp_mode_now == TFP_MODE_PASS)
		tfp_real.free(block);
	else
		free_any(block);
}

void *tfp_first_malloc(size_t size)
{
	return tfp_resolve() ? tfp_early_get(size, 16) : tfp_real.malloc(size);
}

void *tfp_first_calloc(size_t count, size_t size)
{
	size_t bytes;

	if (!tfp_resolve())
		return tfp_real.calloc(count, size);
	return __builtin_mul_overflow(count, size, &bytes) ? NULL : tfp_early_get(bytes, 16);
}

TFP_EXPORT void *malloc(size_t size)
{
	void *block = tfp_real.malloc(size);

	if (__builtin_expect(block != NULL, 1) && __builtin_expect(tfp_heap_allocated_usual(block, size), 1))
		return block;
	return allocated_other(block, size, TFP_HOOK_malloc, TFP_CALLER_IS);
}

TFP_EXPORT void *calloc(size_t count, size_t size)
{
	void *block = tfp_real.calloc(count, size);
	size_t bytes = count * size;

	if (__builtin_expect(block != NULL, 1) && __builtin_expect(tfp_heap_allocated_usual(block, bytes), 1))
		return block;
	if (TFP_UNLIKELY(!block) && __builtin_mul_overflow(count, size, &bytes))
		bytes = SIZE_MAX; /* more than can be said */
	return allocated_other(block, bytes, TFP_HOOK_calloc, TFP_CALLER_IS);
}

TFP_EXPORT void free(void *block)
{
	if (__builtin_expect(block && tfp_heap_freed_usual(block), 1))
		tfp_real.free(block);
	else
		free_other(block);
}

/* What three names of release share: `real` is the libc's own function of that name, or NULL. */
static inline __attribute__((always_inline)) int may_release(void *block)
{
	if (TFP_UNLIKELY(tfp_mode_now == TFP_MODE_COLD) && tfp_resolve())
		return 0;
	if (!block || tfp_early_owns(block))
		return 0;
	tfp_heap_freed(block);
	return 1;
}

TFP_EXPORT void cfree(void *block)
{
	if (may_release(block))
		tfp_real.free(block);
}

TFP_EXPORT void free_sized(void *block, size_t size)
{
	if (!may_release(block))
		return;
	if (tfp_real.free_sized)
		tfp_real.free_sized(block, size);
	else
		tfp_real.free(block);
}

TFP_EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	if (!may_release(block))
		return;
	if (tfp_real.free_aligned_sized)
		tfp_real.free_aligned_sized(block, alignment, size);
	else
		tfp_real.free(block);
}

/* A block of the early memory grows out of it. */
static void *realloc_early(void *block, size_t size)
{
	size_t old = *(size_t *)(void *)((char *)block - 16);
	void *fresh = tfp_resolve() ? tfp_early_get(size, 16) : tfp_real.malloc(size);

	if (fresh)
		for (size_t i = 0; i < old && i < size; i++)
			((char *)fresh)[i] = ((char *)block)[i];
	return fresh;
}

/* While the real functions are looked up. Another thread may have seen malloc, the last of them, a moment before its end. */
static __attribute__((noinline)) void *realloc_cold(void *block, size_t size)
{
	if (!block)
		return tfp_early_get(size, 16);
	if (tfp_early_owns(block))
		return realloc_early(block, size);
	return tfp_real.realloc ? tfp_real.realloc(block, size) : NULL;
}

/* `caller` is that of the exported function; tfp_real.realloc is glibc's or that of an allocator below us. */
static inline __attribute__((always_inline)) void *realloc_as(void *block, size_t size, unsigned function,
							      const struct tfp_caller *caller)
{
	if (TFP_UNLIKELY(tfp_early_owns(block)))
		return realloc_early(block, size);
	if (block && !tfp_heap_freed_usual(block))
		tfp_heap_freed(block);
	void *fresh = tfp_real.realloc(block, size);
	if (fresh && TFP_UNLIKELY(!tfp_heap_allocated_usual(fresh, size)))
		tfp_heap_allocated(fresh, size, function, caller);
	else if (!fresh && block && size)
		tfp_heap_free_undone(block);
	if (TFP_UNLIKELY(!fresh) && size && errno == ENOMEM)
		tfp_heap_refused(size, function, caller);
	return fresh; /* NULL for size 0: glibc has released the block */
}

TFP_EXPORT void *realloc(void *block, size_t size)
{
	TFP_FORWARD_EARLY(realloc_cold(block, size));
	return realloc_as(block, size, TFP_HOOK_realloc, TFP_CALLER);
}

TFP_EXPORT void *reallocarray(void *block, size_t count, size_t size)
{
	size_t bytes;

	TFP_FORWARD_EARLY(NULL);
	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM; /* the function's own result, as its manual says */
		return NULL;
	}
	/* glibc's reallocarray calls realloc through its PLT, so it would come back to us: go there at once. */
	return realloc_as(block, bytes, TFP_HOOK_reallocarray, TFP_CALLER);
}

TFP_EXPORT int posix_memalign(void **result, size_t alignment, size_t size)
{
	TFP_FORWARD_EARLY(ENOMEM);
	int error = tfp_real.posix_memalign(result, alignment, size);

	if (!error && *result)
		tfp_heap_allocated(*result, size, TFP_HOOK_posix_memalign, TFP_CALLER);
	else if (error == ENOMEM)
		tfp_heap_refused(size, TFP_HOOK_posix_memalign, TFP_CALLER);
	return error;
}

/* Two functions of one shape. */
#define ALIGNED(name) \
	TFP_EXPORT void *name(size_t alignment, size_t size) \
	{ \
		TFP_FORWARD_EARLY(NULL); \
		void *block = tfp_real.name(alignment, size); \
\
		if (block) \
			tfp_heap_allocated(block, size, TFP_HOOK_##name, TFP_CALLER); \
		else if (errno == ENOMEM) \
			tfp_heap_refused(size, TFP_HOOK_##name, TFP_CALLER); \
		return block; \
	}
ALIGNED(aligned_alloc)
ALIGNED(memalign)

#define PAGED(name) \
	TFP_EXPORT void *name(size_t size) \
	{ \
		TFP_FORWARD_EARLY(NULL); \
		void *block = tfp_real.name(size); \
\
		if (block) \
			tfp_heap_allocated(block, size, TFP_HOOK_##name, TFP_CALLER); \
		else if (errno == ENOMEM) \
			tfp_heap_refused(size, TFP_HOOK_##name, TFP_CALLER); \
		return block; \
	}
PAGED(valloc)
PAGED(pvalloc)

/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up the real functions; see preload/real.h. Rule: once, by the loader's own search behind us. */
#include "preload/real.h"

#include "collectors/heap_usual.h"
#include "collectors/loader.h"
#include "collectors/modules.h"
#include "preload/dynamic.h"
#include "preload/objects.h"
#include "writer/sys.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>

#pragma weak gnu_get_libc_version /* guard.h says why */
#pragma weak dladdr

/* The two that look the others up, themselves included, when they are first called. */
struct tfp_real tfp_real = {.malloc = tfp_first_malloc, .calloc = tfp_first_calloc};

/* 0 not looked up, 1 being looked up, 2 done. Written by tfp_resolve alone. */
static _Atomic int phase;
_Alignas(16) unsigned char tfp_early[TFP_EARLY_BYTES];
static _Atomic size_t early_used;

void *tfp_early_get(size_t bytes, size_t alignment)
{
	size_t old = early_used, start;

	if (bytes > TFP_EARLY_BYTES || alignment > 16)
		return NULL;
	do {
		/* 16 bytes before the block hold its size, for realloc, and a chunk's size and flag as glibc has them */
		start = (old + 16 + 15) & ~(size_t)15;
		if (start + bytes > TFP_EARLY_BYTES)
			return NULL;
	} while (!__atomic_compare_exchange_n((size_t *)&early_used, &old, start + bytes, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	*(size_t *)(void *)(tfp_early + start - 16) = bytes;
	*(size_t *)(void *)(tfp_early + start - 8) = ((bytes + 16 + 7) & ~(size_t)7) | TFP_HEADER_MAPPED;
	return tfp_early + start;
}

/*
 * Names that a current libc lacks. A lookup that fails makes the loader allocate its message, from the executable's own
 * allocator where it has one, which may be inside its start-up, under its lock, and calling us: a deadlock. free does
 * what these do.
 */
static inline int is_left_to_free(const char *name)
{
	return tfp_same(name, "cfree", sizeof "cfree") || tfp_same(name, "free_sized", sizeof "free_sized") ||
	       tfp_same(name, "free_aligned_sized", sizeof "free_aligned_sized");
}

/* Found last: until then all blocks are early memory, and realloc, which may not be known yet, is given none of the allocator's. */
static inline int is_last(const char *name)
{
	return tfp_same(name, "malloc", sizeof "malloc") || tfp_same(name, "calloc", sizeof "calloc");
}

/* The function of that name that some other object than ours exports; NULL = none. Takes the loader's lock. */
static void *exported(const char *name)
{
	unsigned long long changes = 0;
	struct tfp_object object;

	return tfp_object_exporting(name, &object, 1, &changes) == 1 ? tfp_object_exports(&object, name) : NULL;
}

/*
 * Without a lookup, which would take the host's message away before it can be kept. A library behind us that stands before dlsym (HAMi-core
 * does) would look for what comes behind itself: what it has, and what lies between, would be passed over.
 */
static void begin_loader(void)
{
	struct tfp_dynamic unused;
	void *error = tfp_dynamic_behind(&unused, "dlerror"), *symbol = tfp_dynamic_next_of_glibc("dlsym");

	if (!symbol)
		symbol = tfp_dynamic_next("dlsym");
	if (!symbol) /* opened late, by CUDA: nothing lies behind us; or another libc, which shows no list */
		symbol = exported("dlsym");
	if (!error)
		error = exported("dlerror");
	tfp_loader_begin((char *(*)(void))error, (void *(*)(void *, const char *))symbol);
}

static void *next(const char *name)
{
	return tfp_loader_is_there() ? tfp_loader_symbol(RTLD_NEXT, name) : tfp_dynamic_next(name);
}

__attribute__((noinline)) static int is_of_libc(const void *function)
{
	Dl_info one, libc;

	return gnu_get_libc_version && dladdr && dladdr(function, &one) && dladdr((const void *)&gnu_get_libc_version, &libc) &&
	       one.dli_fbase == libc.dli_fbase;
}

/*
 * glibc's own checking allocator (libc_malloc_debug.so) exports its functions under libc's version as no default: what the host calls
 * binds to them, dlsym passes them over and finds libc's behind. first, second: malloc and calloc, as dlsym has them.
 */
static void prefer_what_calls_bind_to(void **first, void **second)
{
	static struct tfp_dynamic object; /* there is little stack, and this runs once */
	void *bound = tfp_dynamic_behind(&object, "malloc"), *found;

	if (!bound || bound == *first || !is_of_libc(*first) || is_of_libc(bound))
		return;
#define TFP_HOOK(number, type, name, parameters, arguments, kind, help) \
	found = tfp_dynamic_symbol(&object, #name); \
	if (found && !is_left_to_free(#name) && !is_last(#name)) \
		*(void **)(void *)&tfp_real.name = found;
#include "collectors/tables/malloc.def"
#undef TFP_HOOK
	*(void **)(void *)&tfp_real.malloc_usable_size = tfp_dynamic_symbol(&object, "malloc_usable_size");
	*first = bound;
	found = tfp_dynamic_symbol(&object, "calloc");
	*second = found ? found : *second;
}

int tfp_resolve(void)
{
	int expected = 0;

	if (phase == 2)
		return 0;
	if (!__atomic_compare_exchange_n((int *)&phase, &expected, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		return phase == 2 ? 0 : -1;
	begin_loader();
#define TFP_HOOK(number, type, name, parameters, arguments, kind, help) \
	if (!is_left_to_free(#name) && !is_last(#name)) \
		*(void **)(void *)&tfp_real.name = next(#name);
#include "collectors/tables/malloc.def"
#include "collectors/tables/process.def"
#include "collectors/tables/io.def"
#undef TFP_HOOK
	*(void **)(void *)&tfp_real.malloc_usable_size = next("malloc_usable_size");
	void *first = next("malloc"), *second = next("calloc");
	prefer_what_calls_bind_to(&first, &second);
	tfp_loader_can_close(tfp_real.dlclose);
	*(void **)(void *)&tfp_real.malloc = first;
	*(void **)(void *)&tfp_real.calloc = second;
	__atomic_store_n((int *)&phase, 2, __ATOMIC_RELEASE);
	return 0;
}

const char *tfp_real_allocator(void)
{
	static const char *name; /* kept across fork: in a child the loader's lock may be held by nobody */
	void *function = *(void **)(void *)&tfp_real.malloc;
	Dl_info info;

	/* The program's own name the loader has as "". */
	if (!name && (!tfp_modules_object(function, &name) || !*name))
		name = dladdr(function, &info) ? info.dli_fname : "";
	return *name ? name : NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Finding real GPU functions by caller; see preload/cuda_real.h. */
#include "preload/cuda_real.h"

#include "collectors/loader.h"
#include "collectors/modules.h"
#include "preload/cupti.h"
#include "preload/dynamic.h"
#include "preload/objects.h"
#include "preload/real.h"
#include "writer/state.h"
#include "writer/sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#pragma weak dladdr1 /* guard.h says why */

#define KNOWN 4096u /* pairs of function and further calling object: 400 functions that a framework uses from 10 libraries */
#define SLOTS 2048u /* functions: all tables together */
#define DRIVER "libcuda.so.1"

/* A function as one calling object means it. Written once, then published by its slot's list; only `size` becomes 0 later. */
struct tfp_cuda_known {
	struct tfp_cuda_known *next;
	uintptr_t from;
	_Atomic uintptr_t size; /* 0 = no longer true */
	void *real;
};

/* Of the process image; kept across fork. Written under `is_busy`; only the lists of the slots are read without. */
static struct tfp_cuda_known *known;
static uint32_t known_count;
static struct tfp_cuda_slot *filled[SLOTS];
static uint32_t filled_count;
static _Atomic int is_busy;

/* An object's code addresses. */
struct span {
	uintptr_t from, size;
};

int tfp_cuda_asking(void)
{
	int error = errno;

	tfp_count_own(1);
	return error;
}

void tfp_cuda_asked(int error)
{
	tfp_count_own(-1);
	errno = error;
}

/* From the first to the last loaded byte, by the object's own program headers. */
static struct span span_of(const struct link_map *map, uintptr_t base)
{
	const ElfW(Ehdr) *header = (const void *)base;
	const ElfW(Phdr) *part = (const void *)(base + header->e_phoff);
	uintptr_t end = base, bias = map->l_addr;

	if (!tfp_same(header->e_ident, ELFMAG, SELFMAG))
		return (struct span){base, 0};
	for (unsigned i = 0; i < header->e_phnum; i++)
		if (part[i].p_type == PT_LOAD && bias + part[i].p_vaddr + part[i].p_memsz > end)
			end = bias + part[i].p_vaddr + part[i].p_memsz;
	return (struct span){base, end - base};
}

/* Goes through all symbols of the object, under the loader's lock: before glibc 2.35 alone, and of what is no object's. */
static __attribute__((noinline)) const struct link_map *ask_for_object(const void *address, struct span *span)
{
	struct link_map *map = NULL;
	Dl_info info;

	if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return NULL;
	*span = span_of(map, (uintptr_t)info.dli_fbase);
	return map;
}

/* *span: what the object has mapped there; untouched where no object is. */
static const struct link_map *object_at(const void *address, struct span *span)
{
	const struct link_map *map = tfp_modules_object_around(address, &span->from, &span->size);

	return map || tfp_modules_are_told() ? map : ask_for_object(address, span);
}

static const struct link_map *object_of(const void *address)
{
	struct span unused;

	return object_at(address, &unused);
}

static int is_ourselves(const void *function)
{
	return object_of(function) == object_of((const void *)&tfp_cuda_find);
}

/* In the object of that name and in those it needs, also where a signpost there leads through us; NULL = none but us. */
static __attribute__((noinline)) void *find_in(const char *path, const char *name, const char *version)
{
	void *function = tfp_loader_symbol_in(path, name, version);

	return function && (tfp_cupti_unsigned(function) != function || !is_ourselves(function)) ? function : NULL;
}

/* Whether the object that defines it gives `function` no version (TensorFlow has such functions, which load CUDA when they are called). */
static __attribute__((noinline)) int is_unversioned(const void *function, const char *name)
{
	const struct link_map *map = object_of(tfp_cupti_unsigned((void *)(uintptr_t)function));
	struct tfp_dynamic object;
	const ElfW(Sym) *entry;

	if (!map || !tfp_dynamic_read(&object, map->l_addr, map->l_ld))
		return 0;
	entry = tfp_dynamic_entry(&object, name);
	return entry && (!object.versions || object.versions[entry - (const ElfW(Sym) *)object.symbols] <= VER_NDX_GLOBAL);
}

/* Behind us in the global search order, or, with a path, in that object and those it needs. */
static void *look_in(const char *path, const char *name, const char *version)
{
	return path ? find_in(path, name, version) : tfp_loader_version(RTLD_NEXT, name, version);
}

/* As the loader binds a call that was linked with that version: to the first function that has it, or none. NULL: to the first. */
static void *bound(const char *path, const char *name, const char *version)
{
	void *first = look_in(path, name, NULL);

	return version && (!first || !is_unversioned(first, name)) ? look_in(path, name, version) : first;
}

/* Who does not call it by name, or not itself (its own calls end in others', behind which nothing of those stays on the stack). */
static void *guess(const char *path, const char *name)
{
	void *function = path ? find_in(path, name, NULL) : NULL, *first = NULL;

	if (!function || is_unversioned(function, name))
		first = look_in(NULL, name, NULL);
	return first ? first : function;
}

/* Whether the object calls it by name, or exports it; *version as tfp_dynamic_names. */
static __attribute__((noinline)) int names(uintptr_t bias, const void *section, const char *name, const char **version)
{
	struct tfp_dynamic object;

	return tfp_dynamic_read(&object, bias, section) && tfp_dynamic_names(&object, name, version);
}

/*
 * The one that is meant where that is plain: there is no other, or each has a version and it alone the caller's. The loader is not
 * asked, whose lock somebody may hold who waits for this very call: a constructor, in a dlopen, for a thread.
 */
static void *plain(const struct tfp_object_choice *all)
{
	if (all->count == 1)
		return all->is_doubtful ? NULL : all->first;
	return !all->is_doubtful && all->with_version == all->count && all->of_version == 1 ? all->fit : NULL;
}

static __attribute__((noinline)) void *ask_loader(const char *path, int is_named, const char *name, const char *version)
{
	void *function = NULL;

	if (is_named)
		function = bound(NULL, name, version);
	if (!function && is_named && path)
		function = bound(path, name, version);
	return function || is_named ? function : guess(path, name);
}

/*
 * *span: the calling object; of code that is no object's (made at run time) the page. Where nobody that the caller is known to reach has
 * it, it was called all the same: by a library that whoever loaded it has linked for it, by one whose last act the call was, by code made
 * at run time. So some loaded object has it: of the wanted version, or the first.
 */
static void *look_for(const char *name, uintptr_t caller, struct span *span)
{
	struct tfp_object_choice all = {.name = name, .is_behind_us = 1}; /* who calls us has been led past those before us */
	const char *path = NULL;
	int is_named = 0;

	*span = (struct span){caller & ~(uintptr_t)4095, 4096};
	const struct link_map *map = object_at((const void *)caller, span);
	if (map) {
		/* The program has none: its scope is the global one. A library before us asks for what lies behind us, not for its own. */
		path = map->l_name && map->l_name[0] && !tfp_dynamic_is_before_us(map->l_ld) ? map->l_name : NULL;
		is_named = names(map->l_addr, map->l_ld, name, &all.version);
	}
	tfp_object_choose(&all);
	void *function = plain(&all);
	if (!function)
		function = ask_loader(path, is_named, name, all.version);
	return function ? function : all.fit ? all.fit : all.first;
}

static void *find_known(struct tfp_cuda_slot *slot, uintptr_t caller)
{
	struct tfp_cuda_known *one = __atomic_load_n((struct tfp_cuda_known **)&slot->others, __ATOMIC_ACQUIRE);

	while (one && caller - one->from >= one->size)
		one = one->next;
	return one ? one->real : NULL;
}

/* One thread at a time; nobody waits: who does not get in asks the loader again with the next call. */
static int begin_writing(void)
{
	int free_now = 0;

	return __atomic_compare_exchange_n((int *)&is_busy, &free_now, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void end_writing(void)
{
	__atomic_store_n((int *)&is_busy, 0, __ATOMIC_RELEASE);
}

/* The first object that calls a function gets the slot itself. */
static void keep(struct tfp_cuda_slot *slot, struct span span, void *function)
{
	if (!span.size || !begin_writing())
		return;
	if (!slot->real && filled_count < SLOTS) {
		slot->real = function;
		slot->from = span.from;
		filled[filled_count++] = slot;
		__atomic_store_n(&slot->size, span.size, __ATOMIC_RELEASE); /* read by tfp_cuda_real: last */
		end_writing();
		return;
	}
	if (!known)
		known = tfp_pages_get(KNOWN * sizeof *known, 0);
	if (known && known_count < KNOWN) {
		struct tfp_cuda_known *one = &known[known_count++];
		*one = (struct tfp_cuda_known){.next = slot->others, .from = span.from, .size = span.size, .real = function};
		__atomic_store_n((struct tfp_cuda_known **)&slot->others, one, __ATOMIC_RELEASE); /* pairs with find_known */
	}
	end_writing();
}

void *tfp_cuda_find(struct tfp_cuda_slot *slot, const char *name, uintptr_t caller)
{
	void *function = find_known(slot, caller);
	int error = errno;
	struct span span;

	if (function || tfp_resolve())
		return function;
	function = look_for(name, caller, &span);
	if (function)
		keep(slot, span, function);
	errno = error;
	return function;
}

static __attribute__((noinline)) void *only_in(const struct link_map *map, const char *name)
{
	struct tfp_dynamic object;

	return tfp_dynamic_read(&object, map->l_addr, map->l_ld) ? tfp_dynamic_only(&object, name) : NULL;
}

void *tfp_cuda_sibling(const void *real, const char *name)
{
	int error = errno;
	const struct link_map *map = object_of(real);
	void *function = map ? only_in(map, name) : NULL;

	if (!function && map && map->l_name)
		function = find_in(map->l_name, name, NULL);
	errno = error;
	return function;
}

/* As keep, in the slot alone: whoever asks means the same function. */
static void keep_driver(struct tfp_cuda_slot *slot, struct span span, void *function)
{
	if (!span.size || !begin_writing())
		return;
	if (slot->real || filled_count < SLOTS) {
		if (!slot->real)
			filled[filled_count++] = slot;
		slot->real = function;
		slot->from = span.from;
		__atomic_store_n(&slot->size, span.size, __ATOMIC_RELEASE); /* read by tfp_cuda_driver: last */
	}
	end_writing();
}

/* A runtime that works without the driver, a driver without that function: not looked for at each call. */
static void keep_missing(struct tfp_cuda_slot *slot)
{
	if (!begin_writing())
		return;
	if (!slot->real)
		__atomic_store_n(&slot->size, 1, __ATOMIC_RELEASE); /* as keep_driver's; no dlclose changes it */
	end_writing();
}

/* As the loader finds it, who is not asked where nobody has it, or the driver alone. */
static void *find_in_driver(const char *name)
{
	struct tfp_object_choice all = {.name = name, .soname = DRIVER};

	tfp_object_choose(&all);
	if (all.count == 0)
		return NULL;
	void *function = all.count == 1 && all.of_soname ? plain(&all) : NULL;
	return function ? function : find_in(DRIVER, name, NULL);
}

void *tfp_cuda_driver(struct tfp_cuda_slot *slot, const char *name)
{
	int error = errno;
	struct span span;

	if (__builtin_expect(__atomic_load_n(&slot->size, __ATOMIC_ACQUIRE) != 0, 1)) /* pairs with keep_driver */
		return slot->real;
	if (tfp_resolve())
		return NULL;
	void *function = find_in_driver(name);
	if (!function)
		keep_missing(slot);
	else if (object_at(function, &span))
		keep_driver(slot, span, function);
	errno = error;
	return function;
}

static int is_mapped(uintptr_t address, uintptr_t base)
{
	struct span span;

	return object_at((const void *)address, &span) && (!base || span.from == base);
}

/* Callers and functions still at their places stay; what is gone is never believed again. */
void tfp_cuda_unloaded(void)
{
	int error = errno;

	if (!filled_count || !begin_writing())
		return;
	for (uint32_t i = 0; i < known_count; i++)
		if (known[i].size && (!is_mapped(known[i].from, known[i].from) || !is_mapped((uintptr_t)known[i].real, 0)))
			known[i].size = 0;
	for (uint32_t i = 0; i < filled_count; i++)
		if (filled[i]->size && (!is_mapped(filled[i]->from, filled[i]->from) || !is_mapped((uintptr_t)filled[i]->real, 0)))
			__atomic_store_n(&filled[i]->size, 0, __ATOMIC_RELEASE);
	end_writing();
	errno = error;
}

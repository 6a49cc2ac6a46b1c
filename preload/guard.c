/* SPDX-License-Identifier: Apache-2.0 */
/* Standing aside; see preload/guard.h. Rule: where in doubt, forward and record nothing. */
#include "preload/guard.h"

#include "collectors/heap.h"
#include "collectors/loader.h"
#include "collectors/modules.h"
#include "collectors/window.h"
#include "preload/dynamic.h"
#include "preload/environment.h"
#include "preload/path.h"
#include "preload/real.h"
#include "preload/settings.h"
#include "preload/tfprof.h"
#include "writer/sys.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#pragma weak dladdr1 /* guard.h says why */
#pragma weak dladdr
#pragma weak gnu_get_libc_version

/* Present when a sanitizer's runtime shares the process; they replace malloc themselves and count on being first. */
extern char __asan_init __attribute__((weak)), __tsan_init __attribute__((weak)), __msan_init __attribute__((weak)),
	__lsan_init __attribute__((weak)), __hwasan_init __attribute__((weak));

/* The same of Valgrind: there where its tool replaces malloc (memcheck, helgrind, drd, massif, dhat), ours with the others. */
extern char _vgr10010ZU_libcZdsoZa_malloc __attribute__((weak));

static int has_sanitizer(void)
{
	return &__asan_init || &__tsan_init || &__msan_init || &__lsan_init || &__hwasan_init || &_vgr10010ZU_libcZdsoZa_malloc;
}

/* Whether two addresses lie in the same object. */
static int are_together(const void *one, const void *other)
{
	const char *name;
	const void *first = tfp_modules_object(one, &name), *second = tfp_modules_object(other, &name);
	Dl_info a, b;

	if (first && second)
		return first == second;
	return dladdr(one, &a) && dladdr(other, &b) && a.dli_fbase == b.dli_fbase;
}

/* Another copy of this library before us in the search order: it records, we forward. */
static int is_second_instance(void)
{
	void *symbol = tfp_loader_symbol(RTLD_DEFAULT, "tfprof_api_start");

	return symbol && !are_together(symbol, &tfp_real);
}

static int is_called(const char *list)
{
	char name[1024];
	size_t unused;
	const char *words = tfp_environment_words(&unused);

	if (words)
		return tfp_settings_names_program(list, tfp_base_name(words));
	long file = tfp_sys(SYS_openat, AT_FDCWD, (long)"/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0, 0, 0);
	long length = file < 0 ? 0 : tfp_sys(SYS_read, file, (long)name, sizeof name - 1, 0, 0, 0);
	if (file >= 0)
		tfp_sys(SYS_close, file, 0, 0, 0, 0, 0);
	name[length > 0 ? length : 0] = 0;
	return tfp_settings_names_program(list, tfp_base_name(name));
}

/* Under both its names: what it was called as, which costs nothing to ask, and the file's. */
static int is_named(const char *list)
{
	char name[1024];

	if (!list[0])
		return 0;
	if (is_called(list))
		return 1;
	long length = tfp_sys(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)name, sizeof name - 1, 0, 0);
	name[length > 0 ? length : 0] = 0;
	return tfp_settings_names_program(list, tfp_base_name(name));
}

int tfp_guard_stands_aside(void)
{
	if (!gnu_get_libc_version || !tfp_loader_is_there() || getauxval(AT_SECURE) || has_sanitizer() || is_second_instance())
		return 1;
	if (tfp_settings.only[0] && !is_named(tfp_settings.only))
		return 1;
	return is_named(tfp_settings.skip);
}

int tfp_guard_leaves(const char *path)
{
	return tfp_settings_skips_tool(tfp_settings.skip, tfp_base_name(tfp_path_readable(path)));
}

/* glibc's usable size of a block of `size`, or 16 more where the rest of a free block was too small to split off. */
static int looks_like_glibc(void *block, size_t size)
{
	size_t expected = size < 25 ? 24 : ((size + 8 + 15) & ~(size_t)15) - 8;

	/* On the first bytes of a page another allocator's block may have nothing before it that could be read. */
	size_t usable = block && ((uintptr_t)block & 4095) >= 16 ? tfp_real.malloc_usable_size(block) : 0;
	return usable == expected || usable == expected + 16;
}

size_t (*tfp_guard_usable_size(void))(void *)
{
	if (!tfp_real.malloc_usable_size)
		return NULL;
	if (are_together(*(void **)(void *)&tfp_real.malloc, *(void **)(void *)&tfp_real.malloc_usable_size))
		return tfp_real.malloc_usable_size;
	/* Two objects: an interposer in front of libc (fine), or an allocator that has no such function (ask and it crashes). */
	return looks_like_glibc(tfp_heap.first_block, tfp_heap.first_size) ? tfp_real.malloc_usable_size : NULL;
}

int tfp_guard_allocator_is_glibc(void)
{
#if defined __x86_64__ && defined __LP64__
	const char *object = tfp_real_allocator();
	const char *name = object ? tfp_base_name(object) : "";

	return tfp_same(name, "libc.so.6", 10) || tfp_same(name, "libc-2.", 7);
#else
	return 0; /* aarch64: blocks may be tagged */
#endif
}

/* What malloc means to the host: asked once and kept across fork, for in a child the loader's lock may be held by nobody. */
static struct {
	int is_known, is_own;
	const char *before;
} host_malloc;

static void find_host_malloc(void)
{
	Dl_info first;
	ElfW(Sym) *entry = NULL;
	struct tfp_dynamic object;
	void *symbol = tfp_loader_symbol(RTLD_DEFAULT, "malloc");

	host_malloc.is_known = 1;
	if (symbol && are_together(symbol, &tfp_real)) /* or passed one over that calls bind to: preload/real.c */
		symbol = tfp_dynamic_find(&object, "malloc") ? tfp_dynamic_symbol(&object, "malloc") : NULL;
	if (!symbol || are_together(symbol, &tfp_real))
		return;
	if (!are_together(symbol, (const void *)getauxval(AT_PHDR)))
		host_malloc.before = dladdr(symbol, &first) ? first.dli_fname : NULL;
	else if (dladdr1(symbol, &first, (void **)&entry, RTLD_DL_SYMENT))
		/* A position-dependent program that takes malloc's address has a stub there, and the symbol stays undefined. */
		host_malloc.is_own = entry && entry->st_shndx != SHN_UNDEF;
}

int tfp_guard_has_own_allocator(void)
{
	if (!host_malloc.is_known)
		find_host_malloc();
	return host_malloc.is_own;
}

const char *tfp_guard_allocator_before(void)
{
	if (!host_malloc.is_known)
		find_host_malloc();
	return host_malloc.before;
}

static void toggle(int number)
{
	int error = errno;

	(void)number;
	tfp_window_toggle(TFP_CAUSE_SIGNAL);
	errno = error;
}

void tfp_guard_signal(void)
{
	/* SA_ONSTACK: where it comes while a coroutine runs on a few KiB, the language has given the thread a stack for signals. */
	struct sigaction action = {.sa_handler = toggle, .sa_flags = SA_RESTART | SA_ONSTACK};

	if (tfp_settings.window_signal > 0 && sigaction(tfp_settings.window_signal, &action, NULL) == 0)
		tfp_window_signal(tfp_settings.window_signal, toggle);
}

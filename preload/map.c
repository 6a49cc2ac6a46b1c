/* SPDX-License-Identifier: Apache-2.0 */
/* Address space functions as the host calls them; see collectors/maps.h. Rule: results and errno are the real ones. */
#include "collectors/maps.h"

#include "collectors/io.h"
#include "preload/caller.h"
#include "preload/real.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAP_KEEPS_OLD 4 /* MREMAP_DONTUNMAP, Linux 5.7 */
#define ADDRESSES_END (UINT64_C(1) << 56) /* no process has addresses from there on: five levels of pages on x86-64; aarch64 has fewer */

/* During the lookup itself (dlsym) no real function is known: the kernel's is the same but for errno. */
static void *map_by_kernel(void *address, size_t length, int protection, int flags, int descriptor, off64_t offset)
{
	return (void *)syscall(SYS_mmap, address, length, protection, flags, descriptor, offset);
}

static void note_map(void *start, size_t length, int protection, int flags, unsigned function,
		     const struct tfp_caller *caller)
{
	if (start != MAP_FAILED)
		tfp_map_added(&(struct tfp_map_change){(uintptr_t)start, length, (uint32_t)protection, (uint32_t)flags, function},
			      caller);
	else if (errno == ENOMEM && !(flags & MAP_HUGETLB)) /* no huge pages are set aside: programs try, and go on with usual ones */
		tfp_heap_refused(length, function, caller);
}

#define MMAP(name, offset_type) \
	TFP_EXPORT void *name(void *address, size_t length, int protection, int flags, int descriptor, offset_type offset) \
	{ \
		if (TFP_UNLIKELY(tfp_mode_now == TFP_MODE_COLD) && tfp_resolve()) \
			return map_by_kernel(address, length, protection, flags, descriptor, offset); \
		void *start = tfp_real.name(address, length, protection, flags, descriptor, offset); \
\
		note_map(start, length, protection, flags, TFP_HOOK_##name, TFP_CALLER); \
		if (descriptor >= 0 && start != MAP_FAILED && !(flags & MAP_ANONYMOUS) && tfp_io_is_on()) \
			tfp_io_mapped(TFP_HOOK_##name, descriptor, length); \
		return start; \
	}
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

/* An unaligned address, a length of 0 and one that was a difference below zero are refused: not an event. */
static int can_unmap(uintptr_t address, size_t length)
{
	return length && !(address & 4095) && length <= ADDRESSES_END && address <= ADDRESSES_END - length;
}

TFP_EXPORT int munmap(void *address, size_t length)
{
	if (TFP_UNLIKELY(tfp_mode_now == TFP_MODE_COLD) && tfp_resolve())
		return (int)syscall(SYS_munmap, address, length);
	struct tfp_map_change change = {(uintptr_t)address, length, 0, 0, TFP_HOOK_munmap};

	if (can_unmap((uintptr_t)address, length))
		tfp_map_removed(&change);
	return tfp_real.munmap(address, length);
}

TFP_EXPORT void *mremap(void *address, size_t old_length, size_t new_length, int flags, ...)
{
	va_list rest;

	va_start(rest, flags);
	void *new_address = flags & MREMAP_FIXED ? va_arg(rest, void *) : NULL;
	va_end(rest);
	if (TFP_UNLIKELY(tfp_mode_now == TFP_MODE_COLD) && tfp_resolve())
		return (void *)syscall(SYS_mremap, address, old_length, new_length, flags, new_address);
	void *start = tfp_real.mremap(address, old_length, new_length, flags, new_address);

	/* Noted after the call: a failed mremap leaves the old range, and nobody else can be given it before us when it moved
	 * in place. Where it moved away another thread's map of the old range can stand before this record: same tick order. */
	if (start != MAP_FAILED) {
		if (old_length && !(flags & MAP_KEEPS_OLD))
			tfp_map_removed(&(struct tfp_map_change){(uintptr_t)address, old_length, 0, 0, TFP_HOOK_mremap});
		note_map(start, new_length, 0, 0, TFP_HOOK_mremap, TFP_CALLER);
	} else if (flags & MREMAP_MAYMOVE) { /* without it there may be no room at this place alone */
		note_map(start, new_length, 0, 0, TFP_HOOK_mremap, TFP_CALLER);
	}
	return start;
}

/* The break moved from `before` to `after`: one range more, or less. */
static void note_break(uintptr_t before, uintptr_t after, unsigned function, const struct tfp_caller *caller)
{
	if (after > before)
		tfp_map_added(&(struct tfp_map_change){before, after - before, 0, 0, function}, caller);
	else if (after < before)
		tfp_map_removed(&(struct tfp_map_change){after, before - after, 0, 0, function});
}

TFP_EXPORT int brk(void *address)
{
	if (TFP_UNLIKELY(tfp_mode_now == TFP_MODE_COLD) && tfp_resolve())
		return -1;
	uintptr_t before = (uintptr_t)tfp_real.sbrk(0);
	int result = tfp_real.brk(address);

	if (result == 0 && before != (uintptr_t)-1)
		note_break(before, (uintptr_t)address, TFP_HOOK_brk, TFP_CALLER);
	return result;
}

TFP_EXPORT void *sbrk(intptr_t increment)
{
	if (TFP_UNLIKELY(tfp_mode_now == TFP_MODE_COLD) && tfp_resolve())
		return (void *)-1;
	void *before = tfp_real.sbrk(increment);

	if (before != (void *)-1)
		note_break((uintptr_t)before, (uintptr_t)before + (uintptr_t)increment, TFP_HOOK_sbrk, TFP_CALLER);
	return before;
}

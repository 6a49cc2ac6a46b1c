/* SPDX-License-Identifier: Apache-2.0 */
/* When the library must do nothing but forward, and other questions of safety asked once at start-up. */
#ifndef TFP_PRELOAD_GUARD_H
#define TFP_PRELOAD_GUARD_H

#include <stddef.h>

/*
 * What other C libraries lack of what we take from glibc is a weak reference in each file that takes it: the loader of musl
 * binds us all the same, instead of ending the program, and there we stand aside. So is what glibc had in libdl and libpthread
 * before 2.34, which a program need not have; and no reference names a version (Makefile), or each program of an older glibc
 * than the one we were built with would end before it begins, in a container or chroot that sees the library.
 */

/*
 * 1: another libc, or one without its loader's functions, a set-user-id program, a sanitizer or a Valgrind that owns malloc, a second of
 * us, or ruled out by ONLY or SKIP.
 */
int tfp_guard_stands_aside(void);

/* Whether nothing is missing where the program `path` is started without us: a tool that stands aside anyway, and starts no others. */
int tfp_guard_leaves(const char *path);

/* The usable-size function that belongs to the allocator we forward to, or NULL where none does. */
size_t (*tfp_guard_usable_size(void))(void *);

/* Whether the allocator we forward to is glibc's own on x86-64, whose block headers are known. */
int tfp_guard_allocator_is_glibc(void);

/* Whether the executable defines malloc itself: its own calls pass us by. */
int tfp_guard_has_own_allocator(void);

/*
 * The object whose malloc the host calls instead of ours because it came first in LD_PRELOAD; only what it passes on is seen.
 * NULL: ours is first, or the executable's own.
 */
const char *tfp_guard_allocator_before(void);

/* Installs the handler of setting SIGNAL. Constructor only. */
void tfp_guard_signal(void);

#endif

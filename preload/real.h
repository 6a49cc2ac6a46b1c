/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real functions behind our hooks, and the macros that wrappers are made of.
 *
 * Rule: looked up once, in the slow path of the first hooked call; a function that the host's libc lacks stays NULL.
 */
#ifndef TFP_PRELOAD_REAL_H
#define TFP_PRELOAD_REAL_H

#include <pthread.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define TFP_EXPORT __attribute__((visibility("default")))

enum tfp_hook {
#define TFP_HOOK(number, type, name, parameters, arguments, kind, help) TFP_HOOK_##name = number,
#include "collectors/tables/malloc.def"
#include "collectors/tables/process.def"
#include "collectors/tables/io.def"
#undef TFP_HOOK
};

struct tfp_real {
#define TFP_HOOK(number, type, name, parameters, arguments, kind, help) type(*name) parameters;
#include "collectors/tables/malloc.def"
#include "collectors/tables/process.def"
#include "collectors/tables/io.def"
#undef TFP_HOOK
	size_t (*malloc_usable_size)(void *);
};

extern struct tfp_real tfp_real __attribute__((visibility("hidden")));

/*
 * Looks all of them up. Returns 0 when they can be called, -1 while this very thread is still looking (the lookup itself
 * allocated): the caller then serves itself from tfp_early_get. Never blocks.
 */
int tfp_resolve(void);

/* What stands in tfp_real for these two until then (preload/malloc.c): so the hooks need not ask whether it is known. */
void *tfp_first_malloc(size_t size);
void *tfp_first_calloc(size_t count, size_t size);

/* Memory for calls that come before the real functions are known; never given back. NULL when it is used up. */
void *tfp_early_get(size_t bytes, size_t alignment);

#define TFP_EARLY_BYTES 65536 /* dlerror's buffers before glibc 2.34 need some 100 bytes */
extern unsigned char tfp_early[TFP_EARLY_BYTES] __attribute__((visibility("hidden")));

static inline int tfp_early_owns(const void *block)
{
	return (uintptr_t)block - (uintptr_t)tfp_early < TFP_EARLY_BYTES;
}

/* The object the heap functions come from: its path, for the log. NULL = unknown. */
const char *tfp_real_allocator(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls made without libc, for code that runs inside the host.
 *
 * Rule: nothing here touches errno, is a cancellation point, or can be interposed. A negative result is -errno.
 * After tfp_sys_seal(1) every call answers -ENOSYS without entering the kernel (the host has forbidden system calls).
 */
#ifndef TFP_WRITER_SYS_H
#define TFP_WRITER_SYS_H

#include <stddef.h>
#include <stdint.h>

long tfp_sys(long number, long a, long b, long c, long d, long e, long f);
long tfp_sys_past_seal(long number, long a, long b, long c, long d, long e, long f); /* made all the same: writer/signals.c alone */
void tfp_sys_seal(int is_on);
int tfp_sys_is_sealed(void);

/* Whether a system call that returns an address or a count has failed: then it is a negative error. */
static inline int tfp_is_error(long result)
{
	return result < 0 && result > -4096;
}

/* Waits while *word is `value`, `ms` milliseconds at most (UINT32_MAX: for ever); may return early. Wakes all who wait. */
void tfp_futex_wait(uint32_t *word, uint32_t value, uint32_t ms);
void tfp_futex_wake(uint32_t *word);

/* Private zeroed pages, outside every allocator. NULL when there are none. `wipe`: a fork child sees zeros. */
void *tfp_pages_get(size_t bytes, int wipe);
void tfp_pages_put(void *start, size_t bytes);

/* [offset, offset + bytes) of a file, shared; a fork child finds nothing there. NULL when it cannot be mapped. */
void *tfp_pages_share(long file, uint64_t offset, size_t bytes);

/*
 * Around a fork inside a signal handler that interrupted a hook: with 1 the child finds private pages as they are, with 0
 * empty again. In that child: zeros of its own stand where shared pages were. See writer/pages.c.
 */
void tfp_pages_keep(int is_kept);
void tfp_pages_detach(void);

/* In a fork child: zeros where shared pages of its parent's were, for what is still stored there from a register. */
void tfp_pages_blank(uintptr_t address, size_t bytes);

/*
 * Kernels that cannot empty pages at a fork (gVisor, Linux before 4.14): whether one has said so; from now on tfp_pages_wipe
 * is called in each child before anything else of ours; whether that is so; that call, which does nothing elsewhere.
 */
int tfp_pages_need_hand(void);
void tfp_pages_by_hand(void);
int tfp_pages_are_by_hand(void);
void tfp_pages_wipe(void);

/* memcpy, memset, memcmp, strlen without libc's (interposable, ifunc'ed) ones. */
void *tfp_copy(void *to, const void *from, size_t bytes);
void *tfp_fill(void *to, int byte, size_t bytes);
int tfp_same(const void *a, const void *b, size_t bytes);
size_t tfp_length(const char *text);
int tfp_same_text(const char *a, const char *b); /* both end with a zero */
int tfp_begins_with(const char *text, const char *start);
const char *tfp_base_name(const char *path); /* its last part */

#define TFP_NUMBER_ROOM 20 /* digits of any number, base 10 or 16 */
char *tfp_write_number(char *at, uint64_t number, unsigned base); /* returns what is behind it; no zero is put there */

/* FNV-1a, 64 bits, continued from `hash`; the first time from TFP_HASH. */
#define TFP_HASH UINT64_C(0xcbf29ce484222325)
uint64_t tfp_hash(uint64_t hash, const void *bytes, size_t length);

#endif

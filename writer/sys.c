/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raw system calls and the few memory functions that guest code may use. Rule: no libc, no errno, no state but the seal.
 */
#include "writer/sys.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include "writer/poison.h"

/* Written by tfp_sys_seal, when the host installs a seccomp filter; read by everybody. Pairs with nothing. */
static _Atomic int is_sealed;

void tfp_sys_seal(int is_on)
{
	is_sealed = is_on;
}

int tfp_sys_is_sealed(void)
{
	return is_sealed;
}

static inline long call(long number, long a, long b, long c, long d, long e, long f)
{
#if defined __x86_64__
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined __aarch64__
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
#else
#error "tfprof runs on x86-64 and aarch64"
#endif
}

long tfp_sys(long number, long a, long b, long c, long d, long e, long f)
{
	return __builtin_expect(is_sealed, 0) ? -ENOSYS : call(number, a, b, c, d, e, f);
}

long tfp_sys_past_seal(long number, long a, long b, long c, long d, long e, long f)
{
	return call(number, a, b, c, d, e, f);
}

void tfp_futex_wait(uint32_t *word, uint32_t value, uint32_t ms)
{
	struct timespec limit = {ms / 1000, (long)(ms % 1000) * 1000000};

	tfp_sys(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, value, ms == UINT32_MAX ? 0 : (long)&limit, 0, 0);
}

void tfp_futex_wake(uint32_t *word)
{
	tfp_sys(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, INT32_MAX, 0, 0, 0);
}

void *tfp_copy(void *to, const void *from, size_t bytes)
{
#if defined __x86_64__
	void *out = to;

	size_t words = bytes / 8;

	bytes %= 8;
	__asm__ volatile("rep movsq" : "+D"(out), "+S"(from), "+c"(words) : : "memory");
	__asm__ volatile("rep movsb" : "+D"(out), "+S"(from), "+c"(bytes) : : "memory");
#else
	unsigned char *out = to;
	const unsigned char *in = from;

	for (; bytes >= 8; bytes -= 8, out += 8, in += 8)
		__builtin_memcpy(out, in, 8);
	while (bytes--)
		*out++ = *in++;
#endif
	return to;
}

void *tfp_fill(void *to, int byte, size_t bytes)
{
	uint64_t word = (unsigned char)byte * UINT64_C(0x0101010101010101);
#if defined __x86_64__
	void *out = to;
	size_t words = bytes / 8;

	bytes %= 8;
	__asm__ volatile("rep stosq" : "+D"(out), "+c"(words) : "a"(word) : "memory");
	__asm__ volatile("rep stosb" : "+D"(out), "+c"(bytes) : "a"(word) : "memory");
#else
	unsigned char *out = to;

	for (; bytes >= 8; bytes -= 8, out += 8) {
		__builtin_memcpy(out, &word, 8);
		__asm__ volatile("" : : : "memory"); /* else the loop becomes a call of memset */
	}
	while (bytes--)
		*(volatile unsigned char *)out++ = (unsigned char)byte;
#endif
	return to;
}

int tfp_same(const void *a, const void *b, size_t bytes)
{
	const unsigned char *x = a;
	const unsigned char *y = b;

	while (bytes && *x == *y) {
		x++;
		y++;
		bytes--;
	}
	return bytes == 0;
}

int tfp_begins_with(const char *text, const char *start)
{
	while (*start && *text == *start) {
		text++;
		start++;
	}
	return !*start;
}

const char *tfp_base_name(const char *path)
{
	const char *base = path;

	for (; *path; path++)
		if (*path == '/')
			base = path + 1;
	return base;
}

char *tfp_write_number(char *at, uint64_t number, unsigned base)
{
	char digits[TFP_NUMBER_ROOM];
	unsigned count = 0;

	do
		digits[count++] = "0123456789abcdef"[number % base];
	while (number /= base);
	while (count)
		*at++ = digits[--count];
	return at;
}

size_t tfp_length(const char *text)
{
	size_t length = 0;

	while (text[length])
		length++;
	return length;
}

int tfp_same_text(const char *a, const char *b)
{
	size_t length = tfp_length(a);

	return tfp_length(b) == length && tfp_same(a, b, length);
}

uint64_t tfp_hash(uint64_t hash, const void *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
	return hash;
}

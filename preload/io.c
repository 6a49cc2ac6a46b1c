/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that read, as the host calls them; see collectors/tables/io.def and collectors/io.h.
 *
 * Rule: the real call stands between two readings of the clock and nothing else; results, errno and cancellation are its.
 */
#include "collectors/io.h"
#include "preload/real.h"
#include "writer/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The headers declare the open functions variadic; the ABI is the same. */
TFP_EXPORT int tfp_hook_open(const char *path, int flags, unsigned mode) __asm__("open");
TFP_EXPORT int tfp_hook_open64(const char *path, int flags, unsigned mode) __asm__("open64");
TFP_EXPORT int tfp_hook_openat(int folder, const char *path, int flags, unsigned mode) __asm__("openat");
TFP_EXPORT int tfp_hook_openat64(int folder, const char *path, int flags, unsigned mode) __asm__("openat64");
TFP_EXPORT int __open_2(const char *path, int flags);
TFP_EXPORT int __open64_2(const char *path, int flags);
TFP_EXPORT ssize_t __read_chk(int descriptor, void *buffer, size_t bytes, size_t room);
TFP_EXPORT ssize_t __pread_chk(int descriptor, void *buffer, size_t bytes, off_t offset, size_t room);
TFP_EXPORT ssize_t __pread64_chk(int descriptor, void *buffer, size_t bytes, off64_t offset, size_t room);
TFP_EXPORT size_t __fread_chk(void *buffer, size_t room, size_t size, size_t count, FILE *file);
TFP_EXPORT ssize_t __recv_chk(int descriptor, void *buffer, size_t bytes, size_t room, int flags);

/* While the real functions are being looked up, or where libc has none: the kernel's, with libc's convention of failure. */
static long by_kernel(long number, long a, long b, long c, long d, long e, long f)
{
	long result = tfp_sys(number, a, b, c, d, e, f);

	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

/* errno is the real call's, whatever the first record of a process does. */
#define NOTE(statement) \
	do { \
		int error = errno; \
		statement; \
		errno = error; \
	} while (0)

/* A function that returns bytes or -1: straight through where nothing is recorded. */
#define READS(name, arguments, descriptor, kernel) \
	if (__builtin_expect(tfp_resolve() || !tfp_real.name, 0)) \
		return by_kernel kernel; \
	if (!tfp_io_is_on()) \
		return tfp_real.name arguments; \
	uint64_t begin = tfp_ticks(); \
	ssize_t result = tfp_real.name arguments; \
	NOTE(tfp_io_done(TFP_HOOK_##name, descriptor, begin, result)); \
	return result

#define OPENS(name, arguments, kernel) \
	if (__builtin_expect(tfp_resolve() || !tfp_real.name, 0)) \
		return (int)by_kernel kernel; \
	if (!tfp_io_is_on()) \
		return tfp_real.name arguments; \
	uint64_t begin = tfp_ticks(); \
	int result = tfp_real.name arguments; \
	NOTE(tfp_io_opened(TFP_HOOK_##name, result, begin)); \
	return result

int tfp_hook_open(const char *path, int flags, unsigned mode)
{
	OPENS(open, (path, flags, mode), (SYS_openat, AT_FDCWD, (long)path, flags, (long)mode, 0, 0));
}

int tfp_hook_open64(const char *path, int flags, unsigned mode)
{
	OPENS(open64, (path, flags, mode), (SYS_openat, AT_FDCWD, (long)path, flags, (long)mode, 0, 0));
}

int tfp_hook_openat(int folder, const char *path, int flags, unsigned mode)
{
	OPENS(openat, (folder, path, flags, mode), (SYS_openat, folder, (long)path, flags, (long)mode, 0, 0));
}

int tfp_hook_openat64(int folder, const char *path, int flags, unsigned mode)
{
	OPENS(openat64, (folder, path, flags, mode), (SYS_openat, folder, (long)path, flags, (long)mode, 0, 0));
}

int __open_2(const char *path, int flags)
{
	OPENS(__open_2, (path, flags), (SYS_openat, AT_FDCWD, (long)path, flags, 0, 0, 0));
}

int __open64_2(const char *path, int flags)
{
	OPENS(__open64_2, (path, flags), (SYS_openat, AT_FDCWD, (long)path, flags, 0, 0, 0));
}

TFP_EXPORT ssize_t read(int descriptor, void *buffer, size_t bytes)
{
	READS(read, (descriptor, buffer, bytes), descriptor, (SYS_read, descriptor, (long)buffer, (long)bytes, 0, 0, 0));
}

ssize_t __read_chk(int descriptor, void *buffer, size_t bytes, size_t room)
{
	READS(__read_chk, (descriptor, buffer, bytes, room), descriptor, (SYS_read, descriptor, (long)buffer, (long)bytes, 0, 0, 0));
}

TFP_EXPORT ssize_t pread(int descriptor, void *buffer, size_t bytes, off_t offset)
{
	READS(pread, (descriptor, buffer, bytes, offset), descriptor,
	      (SYS_pread64, descriptor, (long)buffer, (long)bytes, offset, 0, 0));
}

TFP_EXPORT ssize_t pread64(int descriptor, void *buffer, size_t bytes, off64_t offset)
{
	READS(pread64, (descriptor, buffer, bytes, offset), descriptor,
	      (SYS_pread64, descriptor, (long)buffer, (long)bytes, offset, 0, 0));
}

ssize_t __pread_chk(int descriptor, void *buffer, size_t bytes, off_t offset, size_t room)
{
	READS(__pread_chk, (descriptor, buffer, bytes, offset, room), descriptor,
	      (SYS_pread64, descriptor, (long)buffer, (long)bytes, offset, 0, 0));
}

ssize_t __pread64_chk(int descriptor, void *buffer, size_t bytes, off64_t offset, size_t room)
{
	READS(__pread64_chk, (descriptor, buffer, bytes, offset, room), descriptor,
	      (SYS_pread64, descriptor, (long)buffer, (long)bytes, offset, 0, 0));
}

TFP_EXPORT ssize_t readv(int descriptor, const struct iovec *parts, int count)
{
	READS(readv, (descriptor, parts, count), descriptor, (SYS_readv, descriptor, (long)parts, count, 0, 0, 0));
}

TFP_EXPORT ssize_t preadv(int descriptor, const struct iovec *parts, int count, off_t offset)
{
	READS(preadv, (descriptor, parts, count, offset), descriptor, (SYS_preadv, descriptor, (long)parts, count, offset, 0, 0));
}

TFP_EXPORT ssize_t preadv64(int descriptor, const struct iovec *parts, int count, off64_t offset)
{
	READS(preadv64, (descriptor, parts, count, offset), descriptor, (SYS_preadv, descriptor, (long)parts, count, offset, 0, 0));
}

TFP_EXPORT ssize_t preadv2(int descriptor, const struct iovec *parts, int count, off_t offset, int flags)
{
	READS(preadv2, (descriptor, parts, count, offset, flags), descriptor,
	      (SYS_preadv2, descriptor, (long)parts, count, offset, 0, flags));
}

TFP_EXPORT ssize_t preadv64v2(int descriptor, const struct iovec *parts, int count, off64_t offset, int flags)
{
	READS(preadv64v2, (descriptor, parts, count, offset, flags), descriptor,
	      (SYS_preadv2, descriptor, (long)parts, count, offset, 0, flags));
}

TFP_EXPORT ssize_t recv(int descriptor, void *buffer, size_t bytes, int flags)
{
	READS(recv, (descriptor, buffer, bytes, flags), descriptor, (SYS_recvfrom, descriptor, (long)buffer, (long)bytes, flags, 0, 0));
}

ssize_t __recv_chk(int descriptor, void *buffer, size_t bytes, size_t room, int flags)
{
	READS(__recv_chk, (descriptor, buffer, bytes, room, flags), descriptor,
	      (SYS_recvfrom, descriptor, (long)buffer, (long)bytes, flags, 0, 0));
}

TFP_EXPORT ssize_t recvfrom(int descriptor, void *buffer, size_t bytes, int flags, struct sockaddr *from, socklen_t *length)
{
	READS(recvfrom, (descriptor, buffer, bytes, flags, from, length), descriptor,
	      (SYS_recvfrom, descriptor, (long)buffer, (long)bytes, flags, (long)from, (long)length));
}

TFP_EXPORT ssize_t recvmsg(int descriptor, struct msghdr *message, int flags)
{
	READS(recvmsg, (descriptor, message, flags), descriptor, (SYS_recvmsg, descriptor, (long)message, flags, 0, 0, 0));
}

#define FREAD_LEAST 4096 /* bytes: smaller calls are served from stdio's buffer, and cost less than to note them */

/* 0 where it overflows: then libc does as it does. */
static size_t product(size_t size, size_t count)
{
	size_t bytes;

	return __builtin_mul_overflow(size, count, &bytes) ? 0 : bytes;
}

#define FREADS(name, arguments, file) \
	if (__builtin_expect(tfp_resolve() || !tfp_real.name, 0)) \
		return 0; \
	if (!tfp_io_is_on() || product(size, count) < FREAD_LEAST) \
		return tfp_real.name arguments; \
	uint64_t begin = tfp_ticks(); \
	size_t result = tfp_real.name arguments; \
	NOTE(tfp_io_done(TFP_HOOK_##name, fileno(file), begin, (int64_t)(result * size))); \
	return result

TFP_EXPORT size_t fread(void *buffer, size_t size, size_t count, FILE *file)
{
	FREADS(fread, (buffer, size, count, file), file);
}

size_t __fread_chk(void *buffer, size_t room, size_t size, size_t count, FILE *file)
{
	FREADS(__fread_chk, (buffer, room, size, count, file), file);
}

static void forget(FILE *file)
{
	int descriptor = file ? fileno(file) : -1;

	if (descriptor >= 0)
		tfp_io_forget((unsigned)descriptor, (unsigned)descriptor);
}

TFP_EXPORT int fclose(FILE *file)
{
	if (tfp_resolve() || !tfp_real.fclose)
		return EOF;
	NOTE(forget(file));
	return tfp_real.fclose(file);
}

TFP_EXPORT int pclose(FILE *file)
{
	if (tfp_resolve() || !tfp_real.pclose)
		return -1;
	NOTE(forget(file));
	return tfp_real.pclose(file);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that a glibc before the one we are built with lacks: `tfprof` starts in an older container, as the library does there.
 *
 * Rule: what the headers of a new glibc make of a call that is as old as C itself, and nothing else. Linked into the launcher alone,
 * which names no versions of libc's functions: of one with several it gets the oldest (realpath without a buffer fails so), and
 * test/cases/build-dist tells of those that nobody has looked at.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Functions of their own since glibc 2.33. The kernel's struct is glibc's on x86-64 and aarch64. */
int stat(const char *restrict path, struct stat *restrict facts)
{
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, facts, 0);
}

int fstat(int file, struct stat *facts)
{
	return (int)syscall(SYS_fstat, file, facts);
}

/* What glibc 2.38 makes of the calls without the prefix: they read 0b as well, which no setting has. */
unsigned long __isoc23_strtoul(const char *text, char **end, int base);
unsigned long long __isoc23_strtoull(const char *text, char **end, int base);
int __isoc23_sscanf(const char *text, const char *format, ...);
unsigned long old_strtoul(const char *text, char **end, int base) __asm__("strtoul");
unsigned long long old_strtoull(const char *text, char **end, int base) __asm__("strtoull");
int old_vsscanf(const char *text, const char *format, va_list values) __asm__("__isoc99_vsscanf");

unsigned long __isoc23_strtoul(const char *text, char **end, int base)
{
	return old_strtoul(text, end, base);
}

unsigned long long __isoc23_strtoull(const char *text, char **end, int base)
{
	return old_strtoull(text, end, base);
}

int __isoc23_sscanf(const char *text, const char *format, ...)
{
	va_list values;
	int count;

	va_start(values, format);
	count = old_vsscanf(text, format, values);
	va_end(values);
	return count;
}

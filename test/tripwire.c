/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tripwire: a preload that ends the run, status 99, when libtfprof.so calls something that guest code must never call:
 * stdio, abort and exit, locks, libc's system calls, dl_iterate_phdr. (A malloc of our own shows as a difference between
 * the two oracles.) LD_PRELOAD="libtfprof.so libtripwire.so": the names below then resolve here.
 *
 * Rule: whoever else calls them gets the real function, with all arguments untouched. x86-64 only: each entry keeps the
 * argument registers, asks trip_check where its caller lies, and jumps on.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Not here: functions that the library itself hooks and forwards (open, read, close, fork, exec, the malloc and mmap families). */
#define FORBIDDEN(X) \
	X(printf) X(fprintf) X(vprintf) X(vfprintf) X(dprintf) X(sprintf) X(snprintf) X(vsnprintf) X(puts) X(fputs) X(putchar) \
	X(perror) X(fopen) X(fdopen) X(fwrite) X(fflush) X(fgets) X(sscanf) X(popen) X(syslog) X(system) \
	X(abort) X(raise) X(kill) X(__assert_fail) \
	X(creat) X(write) X(pwrite) X(pwrite64) X(writev) X(lseek) X(fsync) \
	X(fdatasync) X(ftruncate) X(fallocate) X(posix_fallocate) X(unlink) X(rename) X(mkdir) X(readlink) X(mprotect) \
	X(madvise) X(memfd_create) X(shm_open) X(ioctl) X(fcntl) X(getpid) X(sysconf) X(poll) X(nanosleep) X(usleep) X(sleep) \
	X(sigprocmask) X(sigaltstack) X(dl_iterate_phdr) X(dlopen) X(pthread_mutex_lock) X(pthread_once) X(pthread_key_create) \
	X(strdup) X(asprintf) X(qsort) X(strftime) X(localtime)

#define NAME_OF(name) #name,
static const char *const names[] = {FORBIDDEN(NAME_OF)};
static void *real[sizeof names / sizeof *names];

__attribute__((used, visibility("hidden"))) void *trip_check(unsigned number, void *caller);

static void say(const char *text)
{
	syscall(SYS_write, 2, text, strlen(text));
}

/* The real function of row `number`, if the caller may have it. */
void *trip_check(unsigned number, void *caller)
{
	Dl_info place;
	const char *file = dladdr(caller, &place) && place.dli_fname ? strrchr(place.dli_fname, '/') : NULL;
	if (file && !strcmp(file, "/libtfprof.so")) {
		say("tripwire: libtfprof.so called ");
		say(names[number]);
		say("\n");
		syscall(SYS_exit_group, 99);
	}
	if (!real[number])
		real[number] = dlsym(RTLD_NEXT, names[number]);
	return real[number];
}

/* 8 bytes of return address, 7 registers and 128 of vector registers keep the stack aligned to 16 at the call. */
#define ENTRY(name) \
	__asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name ":\n" \
		"push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\npush %rax\nsub $128,%rsp\n" \
		"movaps %xmm0,0(%rsp)\nmovaps %xmm1,16(%rsp)\nmovaps %xmm2,32(%rsp)\nmovaps %xmm3,48(%rsp)\n" \
		"movaps %xmm4,64(%rsp)\nmovaps %xmm5,80(%rsp)\nmovaps %xmm6,96(%rsp)\nmovaps %xmm7,112(%rsp)\n" \
		"mov $trip_row_" #name ",%edi\nmov 184(%rsp),%rsi\ncall trip_check\nmov %rax,%r11\n" \
		"movaps 0(%rsp),%xmm0\nmovaps 16(%rsp),%xmm1\nmovaps 32(%rsp),%xmm2\nmovaps 48(%rsp),%xmm3\n" \
		"movaps 64(%rsp),%xmm4\nmovaps 80(%rsp),%xmm5\nmovaps 96(%rsp),%xmm6\nmovaps 112(%rsp),%xmm7\n" \
		"add $128,%rsp\npop %rax\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\njmp *%r11\n" \
		".size " #name ",.-" #name "\n");
#define ROW(name) __asm__(".set trip_row_" #name ",trip_row\n.set trip_row,trip_row+1");
__asm__(".set trip_row,0");
FORBIDDEN(ROW)
FORBIDDEN(ENTRY)

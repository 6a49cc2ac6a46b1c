/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions about processes, descriptors and objects as the host calls them; see collectors/tables/process.def.
 *
 * Rule: the host meets no descriptor of ours, and a child learns its parent from one variable that is added to its
 * environment (setting ENV=0 forbids it).
 */
#include "collectors/process.h"

#include "collectors/cupti.h"
#include "collectors/heap.h"
#include "collectors/io.h"
#include "collectors/loader.h"
#include "collectors/system.h"
#include "preload/cuda_real.h"
#include "preload/dynamic.h"
#include "preload/environment.h"
#include "preload/guard.h"
#include "preload/linked.h"
#include "preload/path.h"
#include "preload/python.h"
#include "preload/real.h"
#include "preload/stack.h"
#include "writer/drain.h"
#include "writer/file.h"
#include "writer/signals.h"
#include "writer/sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

extern char **environ;

#define DISPATCH 59            /* PR_SET_SYSCALL_USER_DISPATCH, Linux 5.11 */
#define FILTER_WITH_LISTENER 8 /* SECCOMP_FILTER_FLAG_NEW_LISTENER, Linux 5.0 */

/* The real function once known, else the kernel's own. */
#define REAL_OR(name, kernel) (tfp_resolve() == 0 && tfp_real.name ? tfp_real.name : (kernel))

/*
 * A system call with libc's convention of failure: what a hook does while the real function is still being looked up
 * (an interposer in front of us may call us from within that lookup), or where libc has none.
 */
static long by_kernel6(long number, long a, long b, long c, long d, long e, long f)
{
	long result = tfp_sys(number, a, b, c, d, e, f);

	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

static long by_kernel(long number, long a, long b, long c)
{
	return by_kernel6(number, a, b, c, 0, 0, 0);
}

static int close_by_kernel(int descriptor)
{
	return (int)by_kernel(SYS_close, descriptor, 0, 0);
}

TFP_EXPORT int close(int descriptor)
{
	/* The host never opened it. Whoever knows the number has it from /proc/self/fd, and minds an error; loops over all do not. */
	if (TFP_UNLIKELY(tfp_file_is_at(descriptor)))
		return 0;
	tfp_io_forget((unsigned)descriptor, (unsigned)descriptor);
	return REAL_OR(close, close_by_kernel)(descriptor);
}

static int close_range_by_kernel(unsigned first, unsigned last, int flags)
{
	return (int)by_kernel(SYS_close_range, first, last, flags);
}

TFP_EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	int (*real)(unsigned, unsigned, int) = REAL_OR(close_range, close_range_by_kernel);
	int ours = tfp_file_descriptor();

	tfp_io_forget(first, last);
	if (ours < 0 || (unsigned)ours < first || (unsigned)ours > last || !tfp_file_is_at(ours))
		return real(first, last, flags);
	int result = first < (unsigned)ours ? real(first, (unsigned)ours - 1, flags) : 0;
	if (result == 0 && (unsigned)ours < last)
		result = real((unsigned)ours + 1, last, flags);
	return result;
}

/* For a libc without closefrom (before glibc 2.34), or before it is known. */
static void closefrom_by_kernel(int first)
{
	struct rlimit limit = {1024, 1024};

	if (tfp_sys(SYS_close_range, first, ~0u, 0, 0, 0, 0) == 0)
		return;
	tfp_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit, 0, 0);
	for (uint64_t descriptor = (uint64_t)first; descriptor < limit.rlim_cur; descriptor++)
		tfp_sys(SYS_close, (long)descriptor, 0, 0, 0, 0, 0);
}

TFP_EXPORT void closefrom(int first)
{
	void (*real)(int) = REAL_OR(closefrom, closefrom_by_kernel);
	int ours = tfp_file_descriptor();

	tfp_io_forget(first < 0 ? 0 : (unsigned)first, ~0u);
	if (ours >= 0 && ours >= first && tfp_file_is_at(ours)) {
		if (ours > first && close_range((unsigned)(first < 0 ? 0 : first), (unsigned)ours - 1, 0))
			for (int descriptor = first < 0 ? 0 : first; descriptor < ours; descriptor++)
				close_by_kernel(descriptor);
		first = ours + 1;
	}
	real(first);
}

/* Ours steps out of the way of the number that the host asks for, and cannot be duplicated. -1: answer EBADF. */
static int make_way(int from, int to)
{
	if (tfp_file_is_at(from))
		return -1;
	if (tfp_file_is_at(to))
		tfp_file_move();
	return 0;
}

static int dup2_by_kernel(int from, int to)
{
	if (from == to)
		return by_kernel(SYS_fcntl, from, F_GETFD, 0) < 0 ? -1 : to;
	return (int)by_kernel(SYS_dup3, from, to, 0);
}

TFP_EXPORT int dup2(int from, int to)
{
	if (TFP_UNLIKELY(make_way(from, to))) {
		errno = EBADF;
		return -1;
	}
	tfp_io_forget((unsigned)to, (unsigned)to);
	return REAL_OR(dup2, dup2_by_kernel)(from, to);
}

static int dup3_by_kernel(int from, int to, int flags)
{
	return (int)by_kernel(SYS_dup3, from, to, flags);
}

TFP_EXPORT int dup3(int from, int to, int flags)
{
	if (TFP_UNLIKELY(make_way(from, to))) {
		errno = EBADF;
		return -1;
	}
	tfp_io_forget((unsigned)to, (unsigned)to);
	return REAL_OR(dup3, dup3_by_kernel)(from, to, flags);
}

static pid_t fork_as(pid_t (*real)(void))
{
	tfp_drain_halt();
	tfp_process_forking();
	int is_inside = tfp_process_forks_inside();
	uintptr_t counters = tfp_process_counters();
	pid_t child = real();
	int error = errno;
	if (is_inside)
		tfp_process_forked_inside(child);
	if (!child)
		tfp_process_in_child(counters);
	else
		tfp_process_forked(child);
	errno = error;
	return child;
}

static pid_t fork_by_kernel(void)
{
	return (pid_t)by_kernel(SYS_clone, SIGCHLD, 0, 0);
}

TFP_EXPORT pid_t fork(void)
{
	tfp_resolve();
	pid_t child = fork_as(tfp_real.fork ? tfp_real.fork : fork_by_kernel);
	if (child)
		tfp_drain_resume(tfp_real.pthread_create);
	return child;
}

TFP_EXPORT pid_t _Fork(void)
{
	tfp_resolve();
	pid_t child = fork_as(tfp_real._Fork ? tfp_real._Fork : fork_by_kernel); /* glibc before 2.34 has none */

	if (child == 0) /* runs no handlers of fork */
		tfp_pages_wipe();
	return child;
}

struct clone_call {
	int (*function)(void *);
	void *argument;
};

/* The child's memory is a copy of its parent's, the caller's frame with it. */
static int clone_child(void *call)
{
	struct clone_call own = *(const struct clone_call *)call;

	tfp_pages_wipe();
	return own.function(own.argument);
}

/* The header declares it variadic; the ABI is the same. */
TFP_EXPORT int tfp_hook_clone(int (*)(void *), void *, int, void *, void *, void *, void *) __asm__("clone");

int tfp_hook_clone(int (*function)(void *), void *stack, int flags, void *argument, void *parent_id, void *tls, void *child_id)
{
	struct clone_call call = {function, argument};

	tfp_resolve();
	if ((flags & CLONE_VM) || !function || !tfp_pages_are_by_hand())
		return tfp_real.clone(function, stack, flags, argument, parent_id, tls, child_id);
	return tfp_real.clone(clone_child, stack, flags, &call, parent_id, tls, child_id);
}

/* A vfork child forbade itself system calls: they are forbidden while it is in our memory, which ends with its exec or exit. */
static _Atomic int is_lent_sealed;

static int is_lent(void)
{
	return tfp_state && tfp_state->phase == TFP_STATE_READY && tfp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0) != (long)tfp_state->pid;
}

static void seal_lent(int is_on)
{
	is_lent_sealed = is_on;
	tfp_clock_stop(is_on);
	if (is_on)
		tfp_signals_seal();
	else
		tfp_sys_seal(0);
}

/* Last thing before the child is gone. Returns whether there was such a seal, to be put back where it stays after all. */
static int unseal_lent(void)
{
	int was = is_lent_sealed;

	if (TFP_UNLIKELY(was))
		seal_lent(0);
	return was;
}

/*
 * What every exec does: the log says so, the environment names the parent, or is counted as one that does not name us; undone when the
 * exec came back. Where our variable is what made words and environment too long, the child goes without.
 */
#define EXEC(path, environment, call) \
	do { \
		tfp_resolve(); \
		tfp_cupti_fetch(0); \
		int is_noted = tfp_process_execing(tfp_path_readable(path)); \
		struct tfp_environment changed; \
		char *const *with_parent = tfp_environment_make(&changed, environment, 0); \
		int is_counted = changed.is_without && !is_noted && !tfp_guard_leaves(path) && tfp_process_unfollowed(1); \
		int was_sealed = unseal_lent(); \
		int result; \
		while ((result = (call)) && errno == E2BIG && with_parent != (environment)) \
			with_parent = environment; \
		if (was_sealed) \
			seal_lent(1); \
		tfp_environment_drop(&changed); \
		if (is_counted) \
			tfp_process_unfollowed(-1); \
		if (is_noted) \
			tfp_process_exec_failed(); \
		return result; /* nothing of ours has touched errno */ \
	} while (0)

TFP_EXPORT int execve(const char *path, char *const *arguments, char *const *environment)
{
	EXEC(path, environment, tfp_real.execve(path, arguments, with_parent));
}

TFP_EXPORT int execv(const char *path, char *const *arguments)
{
	EXEC(path, environ, tfp_real.execve(path, arguments, with_parent));
}

TFP_EXPORT int execvp(const char *path, char *const *arguments)
{
	EXEC(path, environ, tfp_real.execvpe(path, arguments, with_parent));
}

TFP_EXPORT int execvpe(const char *path, char *const *arguments, char *const *environment)
{
	EXEC(path, environment, tfp_real.execvpe(path, arguments, with_parent));
}

TFP_EXPORT int fexecve(int file, char *const *arguments, char *const *environment)
{
	EXEC("(descriptor)", environment, tfp_real.fexecve(file, arguments, with_parent));
}

/* For a libc without one (before glibc 2.34). */
static int execveat_by_kernel(int folder, const char *path, char *const *arguments, char *const *environment, int flags)
{
	return (int)tfp_real.syscall(SYS_execveat, folder, (long)path, (long)arguments, (long)environment, flags, 0);
}

TFP_EXPORT int execveat(int folder, const char *path, char *const *arguments, char *const *environment, int flags)
{
	tfp_resolve();
	if (!tfp_real.execveat)
		tfp_real.execveat = execveat_by_kernel;
	EXEC(path, environment, tfp_real.execveat(folder, path, arguments, with_parent, flags));
}

TFP_EXPORT __attribute__((noreturn)) void _exit(int status)
{
	tfp_cupti_end();
	if (!unseal_lent())
		tfp_process_ending(TFP_END__EXIT, status);
	if (tfp_resolve() == 0 && tfp_real._exit)
		tfp_real._exit(status);
	for (;;)
		tfp_sys(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

TFP_EXPORT __attribute__((noreturn)) void _Exit(int status)
{
	_exit(status);
}

TFP_EXPORT __attribute__((noreturn)) void quick_exit(int status)
{
	tfp_cupti_end();
	tfp_process_ending(TFP_END__EXIT, status);
	if (tfp_resolve() == 0 && tfp_real.quick_exit) {
		void (*real)(int) = tfp_real.quick_exit;
		/* Before glibc 2.24 it ran the destructors of the thread's objects. */
		*(void **)(void *)&real = tfp_linked((void *)real, "quick_exit", __builtin_return_address(0));
		real(status);
	}
	_exit(status);
}

TFP_EXPORT __attribute__((noreturn)) void abort(void)
{
	if (!tfp_sys_is_sealed())
		tfp_cupti_fetch(1); /* what devices did up to here is what somebody wants to know now */
	tfp_process_ending(TFP_END_ABORT, 0);
	if (tfp_resolve() == 0 && tfp_real.abort)
		tfp_real.abort();
	for (;;)
		tfp_sys(SYS_kill, tfp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0), SIGABRT, 0, 0, 0, 0);
}

TFP_EXPORT int dlclose(void *object)
{
	tfp_resolve();
	struct tfp_stacks *stacks = tfp_state && tfp_state->phase == TFP_STATE_READY ? tfp_state->stacks : NULL;

	if (stacks)
		tfp_stacks_unload_begin(stacks);
	int result = tfp_real.dlclose(object);

	if (stacks)
		tfp_stacks_unload_end(stacks);
	tfp_cuda_unloaded();
	return result;
}

TFP_EXPORT char *dlerror(void)
{
	tfp_resolve();
	return tfp_loader_error();
}

TFP_EXPORT int unshare(int flags)
{
	tfp_resolve();
	tfp_drain_pause();
	int result = tfp_real.unshare(flags);
	tfp_drain_resume(tfp_real.pthread_create);
	return result;
}

TFP_EXPORT int setns(int file, int type)
{
	tfp_resolve();
	tfp_drain_pause();
	int result = tfp_real.setns(file, type);
	tfp_drain_resume(tfp_real.pthread_create);
	return result;
}

/* A process whose first thread is gone ends with its last thread: ours must not be that one. Returns whether it is the first that goes. */
static int thread_ends(void)
{
	if (tfp_sys(SYS_gettid, 0, 0, 0, 0, 0, 0) != tfp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0) || is_lent())
		return 0;
	tfp_drain_end();
	return 1;
}

TFP_EXPORT __attribute__((noreturn)) void pthread_exit(void *result)
{
	tfp_resolve();
	thread_ends();
	tfp_real.pthread_exit(result);
	__builtin_unreachable();
}

TFP_EXPORT __attribute__((noreturn)) void thrd_exit(int result)
{
	tfp_resolve();
	thread_ends();
	if (tfp_real.thrd_exit)
		tfp_real.thrd_exit(result);
	tfp_real.pthread_exit((void *)(intptr_t)result); /* glibc before 2.28 */
	__builtin_unreachable();
}

/*
 * A filter may kill at any later system call of ours, in every thread (TSYNC): none is made after it. Where the host's
 * call failed (a probe), all goes on as before.
 */
static void before_filter(int is_strict)
{
	if (!is_strict && is_lent()) {
		seal_lent(1);
		return;
	}
	if (tfp_mode_now != TFP_MODE_PASS && !(tfp_self && tfp_self->is_ready))
		tfp_thread_start(); /* a new child, or a thread that had not called us: afterwards there is no room to be had */
	tfp_cupti_fetch(0);
	tfp_drain_pause();
	if (tfp_state && tfp_state->phase == TFP_STATE_READY)
		tfp_file_sync();
	tfp_process_forbidding(is_strict);
	tfp_signals_seal();
}

static void after_filter(int is_installed)
{
	if (is_installed)
		return;
	unseal_lent();
	tfp_sys_seal(0);
	tfp_process_allowed();
}

/*
 * A filter by prctl, or that the kernel asks the program (SIGSYS) about calls made outside a range, or since Linux 6.16 inside one: ours
 * come from tfp_sys.
 */
static inline int forbids_calls(int operation, unsigned long how, unsigned long start, unsigned long bytes)
{
	int is_within = (uintptr_t)&tfp_sys - start < bytes;

	return operation == PR_SET_SECCOMP || (operation == DISPATCH && ((how == 1 && !is_within) || (how == 2 && is_within)));
}

static inline int forbids_counter(int operation, unsigned long how)
{
	return operation == PR_SET_TSC && how == PR_TSC_SIGSEGV;
}

/* The headers declare these two variadic; the ABI is the same. */
TFP_EXPORT int tfp_hook_prctl(int, unsigned long, unsigned long, unsigned long, unsigned long) __asm__("prctl");
TFP_EXPORT long tfp_hook_syscall(long, long, long, long, long, long, long) __asm__("syscall");

int tfp_hook_prctl(int operation, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	if (TFP_UNLIKELY(tfp_resolve()))
		return (int)by_kernel6(SYS_prctl, operation, (long)a, (long)b, (long)c, (long)d, 0);
	int is_filter = forbids_calls(operation, a, b, c);
	if (TFP_UNLIKELY(is_filter))
		before_filter(operation == PR_SET_SECCOMP && a == SECCOMP_MODE_STRICT);
	else if (TFP_UNLIKELY(forbids_counter(operation, a)))
		tfp_process_leaves_counter();
	int result = tfp_real.prctl(operation, a, b, c, d);
	if (TFP_UNLIKELY(is_filter))
		after_filter(result == 0);
	return result;
}

static int is_alone(void)
{
	struct stat status;

	return tfp_sys(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/task", (long)&status, 0, 0, 0) == 0 && status.st_nlink == 3;
}

/* What has a hook of its own goes there. Returns whether it is done; the end of the last thread is not, it only is noted. */
static int is_elsewhere(long number, long a, long b, long c, long d, long e, long *result)
{
	if (number == SYS_execve)
		*result = execve((const char *)a, (char *const *)b, (char *const *)c);
	else if (number == SYS_execveat)
		*result = execveat((int)a, (const char *)b, (char *const *)c, (char *const *)d, (int)e);
	else if (number == SYS_exit_group)
		_exit((int)a);
	else if (number == SYS_exit && thread_ends() && is_alone())
		tfp_process_ending(TFP_END__EXIT, (int)a);
	return number == SYS_execve || number == SYS_execveat;
}

/* seccomp(SET_MODE_STRICT 0 or SET_MODE_FILTER 1), or the same by prctl. */
static int installs_filter(long number, long a, long b, long c, long d)
{
	return (number == SYS_seccomp && (a == 0 || a == 1)) ||
	       (number == SYS_prctl && forbids_calls((int)a, (unsigned long)b, (unsigned long)c, (unsigned long)d));
}

/* A child with memory of its own; of clone3 alone with a stack of its parent's, as another one does not come back here. */
static int forks(long number, long a)
{
#if defined SYS_fork
	if (number == SYS_fork)
		return 1;
#endif
	return (number == SYS_clone && !(a & CLONE_VM)) ||
	       (number == SYS_clone3 && !(((const struct clone_args *)a)->flags & CLONE_VM));
}

/* Calls before or after which something is done. */
static int is_watched(long number)
{
	switch (number) {
	case SYS_execve:
	case SYS_execveat:
	case SYS_exit:
	case SYS_exit_group:
	case SYS_seccomp:
	case SYS_prctl:
	case SYS_unshare:
	case SYS_setns:
	case SYS_sigaltstack:
	case SYS_clone:
	case SYS_clone3:
#if defined SYS_fork
	case SYS_fork:
#endif
		return 1;
	}
	return 0;
}

static __attribute__((noinline)) long watched_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	int is_filter = installs_filter(number, a, b, c, d);
	long result;

	if (TFP_UNLIKELY(tfp_resolve()))
		return by_kernel6(number, a, b, c, d, e, f);
	if (TFP_UNLIKELY(is_elsewhere(number, a, b, c, d, e, &result)))
		return result;
	if (TFP_UNLIKELY(is_filter))
		before_filter(number == SYS_seccomp ? a == SECCOMP_SET_MODE_STRICT : a == PR_SET_SECCOMP && b == SECCOMP_MODE_STRICT);
	else if (TFP_UNLIKELY(number == SYS_prctl && forbids_counter((int)a, (unsigned long)b)))
		tfp_process_leaves_counter();
	else if (TFP_UNLIKELY(number == SYS_unshare || number == SYS_setns))
		tfp_drain_pause();
	result = tfp_real.syscall(number, a, b, c, d, e, f);
	if (TFP_UNLIKELY(tfp_pages_are_by_hand()) && result == 0 && forks(number, a))
		tfp_pages_wipe();
	if (TFP_UNLIKELY(number == SYS_unshare || number == SYS_setns))
		tfp_drain_resume(tfp_real.pthread_create);
	tfp_stack_called(number, a, result);
	if (TFP_UNLIKELY(is_filter)) /* with a listener asked for, success is its descriptor; with TSYNC failure is a thread id */
		after_filter(result == 0 || (number == SYS_seccomp && (b & FILTER_WITH_LISTENER) && result > 0));
	return result;
}

/* All others leave no frame of ours on the stack: locks of Abseil and TensorFlow wait here. */
long tfp_hook_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (TFP_UNLIKELY(!tfp_real.syscall || is_watched(number)))
		return watched_syscall(number, a, b, c, d, e, f);
	return tfp_real.syscall(number, a, b, c, d, e, f);
}

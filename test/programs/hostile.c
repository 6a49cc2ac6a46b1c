/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile WAY: takes something away from its own process that the library would like to have, and allocates on. Prints
 * nothing; status 0 = the program noticed nothing. One function a way, listed in `ways`.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(int is_true, const char *what)
{
	if (is_true)
		return;
	perror(what);
	_exit(1);
}

static void *kept[4096];

/* Blocks of up to 2,000 bytes; at most 4,096 live, so that the heap soon needs no system call. */
static void churn(int count)
{
	for (int i = 0; i < count; i++) {
		free(kept[i % 4096]);
		kept[i % 4096] = malloc((size_t)(i * 31 % 2000));
		must(kept[i % 4096] != NULL, "malloc");
	}
}

/* Allows what this program itself needs (glibc's heap, threads' ends, exit) and kills the process at anything else. */
static void forbid_system_calls(unsigned flags)
{
	static const int allowed[] = {SYS_brk, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_futex, SYS_exit, SYS_exit_group,
				      SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_madvise, SYS_set_robust_list, SYS_rseq,
				      SYS_getrandom}; /* the first malloc of a process */
	struct sock_filter filter[64];
	unsigned short at = 0;
	filter[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
		filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
		filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	struct sock_fprog program = {at, filter};
	must(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS");
	must(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program), "seccomp");
}

static int way_seccomp(void)
{
	churn(200000);
	forbid_system_calls(0);
	churn(300000);
	return 0;
}

/* By prctl instead of the system call of its own. */
static int way_prctl(void)
{
	struct sock_filter all[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
				    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 0, 1),
				    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
				    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {4, all};
	churn(1000);
	must(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS");
	must(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "PR_SET_SECCOMP");
	churn(300000);
	return 0;
}

/* Strict mode leaves read and write, and takes the time stamp counter away. */
static int way_strict(void)
{
	static char buffer[64];
	void *held[64];
	int zero = open("/dev/zero", O_RDONLY);
	must(zero >= 0, "/dev/zero");
	churn(100000);
	for (int i = 0; i < 64; i++) /* what the heap will need without asking the kernel */
		held[i] = malloc(100);
	must(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT), "SECCOMP_MODE_STRICT");
	for (int i = 0; i < 1000; i++) {
		free(held[i % 64]);
		held[i % 64] = malloc(100);
		if (read(zero, buffer, sizeof buffer) != sizeof buffer)
			syscall(SYS_exit, 1);
	}
	syscall(SYS_exit, 0);
	return 1;
}

/* The counter alone is forbidden, here and in a child. */
static int way_counter(void)
{
	int status;
	churn(100000);
	must(!prctl(PR_SET_TSC, PR_TSC_SIGSEGV), "PR_SET_TSC");
	churn(100000);
	pid_t child = fork();
	if (!child) {
		churn(1000);
		exit(3);
	}
	must(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3, "the child");
	usleep(100000); /* what the case compares the log's time with */
	churn(100000);
	return 0;
}

static int find_libc(struct dl_phdr_info *info, size_t bytes, void *range)
{
	(void)bytes;
	for (int i = 0; strstr(info->dlpi_name, "libc.so") && i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X)) {
			((uintptr_t *)range)[0] = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			((uintptr_t *)range)[1] = info->dlpi_phdr[i].p_memsz;
		}
	return 0;
}

/* Calls from anywhere but libc are to be emulated: here they end the program. Status 77: the kernel knows nothing of it. */
static int way_dispatch(void)
{
	uintptr_t range[2] = {0, 0};
	churn(1000);
	dl_iterate_phdr(find_libc, range);
	if (prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, range[0], range[1], 0))
		return errno == EINVAL ? 77 : 1;
	churn(300000);
	return 0;
}

/* A child that lives in our memory forbids itself what we may go on doing once it is gone. */
static int way_lent(void)
{
	churn(1000);
	for (int i = 0; i < 2; i++) {
		int status;
		pid_t child = vfork();
		if (!child) {
			forbid_system_calls(0);
			if (i)
				execl("/nonexistent/program", "program", (char *)NULL);
			_exit(3);
		}
		must(waitpid(child, &status, 0) == child && (i ? WTERMSIG(status) == SIGSYS : WEXITSTATUS(status) == 3), "the child");
	}
	churn(300000);
	return 0;
}

/* As sshd and browsers do: a child puts itself behind a filter before it has done anything else, works, and ends by itself. */
static int way_sandbox(void)
{
	for (int i = 0; i < 2; i++) {
		int status;
		pid_t child = fork();
		if (!child) {
			forbid_system_calls(0);
			churn(100000);
			if (i)
				_exit(4);
			exit(3);
		}
		must(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3 + i, "the child");
	}
	return 0;
}

/* TSYNC while four threads allocate: a thread of ours that made one call would kill the process. */
static volatile int is_over;

static void *churn_own(void *nothing)
{
	while (!is_over)
		for (int i = 0; i < 1000; i++)
			free(malloc((size_t)(i * 31 % 2000)));
	return nothing;
}

static int way_tsync(void)
{
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		must(!pthread_create(&threads[i], NULL, churn_own, NULL), "pthread_create");
	churn(100000);
	forbid_system_calls(SECCOMP_FILTER_FLAG_TSYNC);
	churn(300000);
	is_over = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* SIGXFSZ keeps its default action, which is to die: only the library could cause it. */
static int way_filesize(void)
{
	struct rlimit limit = {100000, 100000};
	churn(1000);
	must(!setrlimit(RLIMIT_FSIZE, &limit), "RLIMIT_FSIZE");
	churn(500000);
	return 0;
}

/* The limit is there before the first call: set by exec of ourselves. */
static int way_nofiles(void)
{
	struct rlimit limit = {16, 16};
	must(!setrlimit(RLIMIT_NOFILE, &limit), "RLIMIT_NOFILE");
	churn(1000);
	int fds[16], count = 0;
	while (count < 16 && (fds[count] = open("/dev/null", O_RDONLY)) >= 0)
		count++;
	must(count >= 12, "twelve descriptors of sixteen");
	churn(300000);
	while (count)
		must(!close(fds[--count]), "close");
	return 0;
}

static int way_chroot(void)
{
	churn(1000);
	must(!mkdir("jail", 0755) || errno == EEXIST, "mkdir");
	must(!chroot("jail"), "chroot");
	must(!chdir("/"), "chdir");
	closefrom(3);
	churn(300000);
	return 0;
}

/* Another root before the first call that is recorded: there no /proc tells the program's path. */
static int way_chroot_first(void)
{
	must(!chroot("jail"), "chroot");
	must(!chdir("/"), "chdir");
	churn(1000);
	return 0;
}

/* The folder of the logs is moved away and removed while descriptors are closed behind our back. */
static int way_vanish(void)
{
	const char *out = getenv("TFPROF_OUT");
	char command[4200];
	churn(1000);
	snprintf(command, sizeof command, "rm -rf '%s'", out ? out : "nothing");
	unsetenv("LD_PRELOAD");
	must(!system(command), "rm");
	churn(200000);
	closefrom(3);
	churn(200000);
	return 0;
}

/* A process that may make no more processes, threads included: one fork was free, and stays free. */
static int way_nproc(void)
{
	struct rlimit limit = {2, 2};
	must(!setresgid(54321, 54321, 54321) && !setresuid(54321, 54321, 54321), "setresuid");
	must(!setrlimit(RLIMIT_NPROC, &limit), "RLIMIT_NPROC");
	churn(300000);
	pid_t child = fork();
	must(child >= 0, "fork at the limit");
	if (!child) {
		churn(1000);
		_exit(7);
	}
	int status;
	must(waitpid(child, &status, 0) == child && status == 7 << 8, "the child");
	return 0;
}

static void *rest(void *none)
{
	pause();
	return none;
}

/* The same of posix_spawn, in a process with a second thread. */
static int way_nproc_spawn(void)
{
	struct rlimit limit = {3, 3};
	char *words[] = {"true", NULL};
	pthread_t thread;
	pid_t child;
	int status;

	must(!setresgid(54322, 54322, 54322) && !setresuid(54322, 54322, 54322), "setresuid");
	must(!pthread_create(&thread, NULL, rest, NULL), "pthread_create");
	must(!setrlimit(RLIMIT_NPROC, &limit), "RLIMIT_NPROC");
	churn(300000);
	must(!posix_spawnp(&child, words[0], NULL, NULL, words, environ), "posix_spawnp at the limit");
	must(waitpid(child, &status, 0) == child && status == 0, "the child");
	return 0;
}

/* No more memory: every mapping is refused; the library must go on or stand aside. */
static int way_memory(void)
{
	struct rlimit limit = {0, RLIM_INFINITY};
	churn(100000);
	must(!setrlimit(RLIMIT_AS, &limit), "RLIMIT_AS");
	for (int i = 0; i < 300000; i++) {
		free(kept[i % 4096]);
		kept[i % 4096] = malloc((size_t)(i * 31 % 200));
		must(kept[i % 4096] != NULL, "malloc of what is there");
	}
	errno = 1234;
	must(!malloc((size_t)1 << 40) && errno == ENOMEM, "ENOMEM");
	return 0;
}

static int way_churn(void)
{
	churn(500000);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} ways[] = {
	{"churn", way_churn},     {"seccomp", way_seccomp}, {"prctl", way_prctl},   {"tsync", way_tsync},
	{"strict", way_strict},   {"counter", way_counter}, {"lent", way_lent},
	{"dispatch", way_dispatch},
	{"sandbox", way_sandbox},
	{"filesize", way_filesize}, {"nofiles", way_nofiles}, {"chroot", way_chroot}, {"vanish", way_vanish},
	{"chroot_first", way_chroot_first},
	{"nproc", way_nproc},     {"memory", way_memory},   {"nproc_spawn", way_nproc_spawn},
};

int main(int count, char **words)
{
	for (size_t i = 0; count > 1 && i < sizeof ways / sizeof *ways; i++)
		if (!strcmp(ways[i].name, words[1]))
			return ways[i].run();
	fprintf(stderr, "hostile: which way?\n");
	return 2;
}

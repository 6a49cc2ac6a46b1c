/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs at the edge of what a recorder inside them can bear, one a name: see the table at the end.
 *
 * Rule: each is right and ends with status 0 without a recorder; what it prints, if anything, is the same with one.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "preload/tfprof.h"
#include "test/programs/churning.h"

static int error_at_start;

static void *churn_some(void *nothing)
{
	churn(1000);
	return nothing;
}

static void *churn_much(void *nothing)
{
	churn(300000);
	return nothing;
}

/* Maps and unmaps a page: what a handler may do at any instant. */
static void map_page(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page != MAP_FAILED)
		munmap(page, 4096);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* One signal a millisecond from now; the handler asks for the next, so that the program goes on in between. */
static void once(int is_wanted)
{
	struct itimerval value = {{0, 0}, {0, is_wanted ? 1000 : 0}};

	setitimer(ITIMER_REAL, &value, NULL);
}

static void on_alarm(void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

	sigaction(SIGALRM, &action, NULL);
	once(1);
}

/* The first thread ends alone; the process must end with its last one. */
static int way_lastthread(void)
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, churn_much, NULL), "pthread_create");
	pthread_exit(NULL);
}

static pthread_t first_thread;

static void *cancel_first(void *nothing)
{
	pthread_cancel(first_thread);
	churn(300000);
	return nothing;
}

static int way_lastcancelled(void)
{
	pthread_t thread;

	first_thread = pthread_self();
	must(!pthread_create(&thread, NULL, cancel_first, NULL), "pthread_create");
	pause();
	return 1;
}

static int way_lastthrd(void)
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, churn_much, NULL), "pthread_create");
	thrd_exit(0);
	return 1;
}

/* The one thread that is left ends without libc. */
static int way_lastraw(void)
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, churn_some, NULL), "pthread_create");
	pthread_join(thread, NULL);
	syscall(SYS_exit, 0);
	return 1;
}

/* Children that end without libc's functions for that. */
static int way_rawends(void)
{
	char *words[] = {"/bin/true", NULL}, *environment[] = {"LD_PRELOAD=", NULL};

	for (int i = 0; i < 3; i++) {
		int status = 1;
		pid_t child = fork();
		if (!child) {
			churn(100);
			if (i == 2)
				syscall(SYS_exit_group, 0);
			syscall(i ? SYS_execveat : SYS_execve, i ? AT_FDCWD : (long)words[0], i ? (long)words[0] : (long)words,
				i ? (long)words : (long)environment, (long)environment, 0);
			_exit(1);
		}
		must(waitpid(child, &status, 0) == child && !status, "the child");
	}
	return 0;
}

static int is_real_time(const char *id)
{
	int policy = sched_getscheduler(atoi(id)) & ~SCHED_RESET_ON_FORK;

	return policy == SCHED_FIFO || policy == SCHED_RR;
}

/* Two threads that others may not interrupt; there must be no third. */
static int way_realtime(void)
{
	struct sched_param least = {sched_get_priority_min(SCHED_FIFO)};
	pthread_t thread;
	int count = 0;

	if (sched_setscheduler(0, SCHED_FIFO, &least))
		return 77;
	must(!pthread_create(&thread, NULL, churn_much, NULL), "pthread_create");
	usleep(20000);
	DIR *tasks = opendir("/proc/self/task");
	for (struct dirent *entry; tasks && (entry = readdir(tasks));)
		count += entry->d_name[0] != '.' && is_real_time(entry->d_name);
	closedir(tasks);
	pthread_join(thread, NULL);
	return count > 2;
}

static void *fork_cancelled(void *came_back)
{
	churn(1000);
	pthread_cancel(pthread_self());
	pid_t child = fork();
	if (!child)
		_exit(0);
	*(int *)came_back = 1;
	waitpid(child, NULL, 0);
	return NULL;
}

/* fork is no cancellation point. */
static int way_cancelfork(void)
{
	int came_back = 0;
	pthread_t thread;

	must(!pthread_create(&thread, NULL, fork_cancelled, &came_back), "pthread_create");
	pthread_join(thread, NULL);
	return !came_back;
}

static long pages(void)
{
	long count = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	must(file && fscanf(file, "%ld", &count) == 1, "statm");
	fclose(file);
	return count;
}

static __attribute__((noinline)) void vfork_true(void)
{
	char *words[] = {"/bin/true", NULL}, *environment[] = {"LD_PRELOAD=", NULL};
	pid_t child = vfork();

	if (!child) {
		execve(words[0], words, environment);
		_exit(1);
	}
	waitpid(child, NULL, 0);
}

static void *vfork_often(void *times)
{
	for (intptr_t i = 0; i < (intptr_t)times; i++)
		vfork_true();
	return NULL;
}

/* Vfork children that exec, of the first thread and of one that never allocates, leave no memory behind in their parent. */
static int way_vforkleak(void)
{
	pthread_t thread;

	vfork_true();
	must(!pthread_create(&thread, NULL, vfork_often, (void *)1) && !pthread_join(thread, NULL), "thread");
	long before = pages();
	vfork_often((void *)1000);
	must(!pthread_create(&thread, NULL, vfork_often, (void *)1000) && !pthread_join(thread, NULL), "thread");
	must(pages() - before < 500, "memory grew");
	return 0;
}

/* A vfork child allocates when its parent's use of the processor is due to be read. */
static int way_vforkwork(void)
{
	for (int round = 0; round < 3; round++) {
		clock_t until = clock() + CLOCKS_PER_SEC / 5;

		while (clock() < until)
			;
		pid_t child = vfork();
		if (!child) {
			for (int i = 0; i < 2000; i++)
				free(malloc((size_t)(i % 500)));
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	return 0;
}

static ucontext_t outside, inside;

static void signal_self(void)
{
	syscall(SYS_tgkill, getpid(), getpid(), SIGUSR2);
	swapcontext(&inside, &outside);
}

/* The recorder's signal, where it has one, comes while a coroutine has less stack than a handler takes; the thread has one for signals. */
static int way_smallstack(void)
{
	static char alternate[65536];
	const stack_t signals = {.ss_sp = alternate, .ss_size = sizeof alternate};
	static volatile int is_bound; /* swapcontext: a loader that looks for it takes more stack than there will be */
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!getenv("TFPROF_SIGNAL"))
		return 0;
	must(memory != MAP_FAILED && !mprotect(memory + page, page, PROT_READ | PROT_WRITE) && !sigaltstack(&signals, NULL), "stacks");
	must(!getcontext(&inside), "getcontext");
	if (!is_bound) {
		is_bound = 1;
		swapcontext(&outside, &inside);
	}
	inside.uc_stack.ss_sp = memory + page;
	inside.uc_stack.ss_size = 1024;
	makecontext(&inside, signal_self, 0);
	must(syscall(SYS_getpid) == getpid() && !swapcontext(&outside, &inside), "swapcontext");
	return 0;
}

/* One page is unmapped; sizes that are differences below zero are refused. */
static int way_unmapfails(void)
{
	char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const size_t wrong[] = {0, SIZE_MAX, SIZE_MAX - 4095, (size_t)PTRDIFF_MAX + 1};

	must(page != MAP_FAILED, "mmap");
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		errno = 0;
		must(munmap(page, wrong[i]) == -1 && errno == EINVAL, "munmap of a wrong size");
	}
	return munmap(page, 4096);
}

/* Paths that are no addresses: EFAULT, not a crash. */
static int way_badpath(void)
{
	char *words[] = {"x", NULL};

	for (intptr_t path = -1; path <= 0; path++) {
		errno = 0;
		must(execve((const char *)path, words, words + 1) == -1 && errno == EFAULT, "execve of a bad path");
	}
	return 0;
}

/* Environments that are no addresses, or have some in them: EFAULT, not a crash. */
static int way_badenvironment(void)
{
	char *words[] = {"/bin/true", NULL}, *holed[] = {"LD_PRELOAD=", (char *)8, NULL};
	char **edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	must(edge != MAP_FAILED && !munmap((char *)edge + 4096, 4096), "mmap");
	edge[511] = "LD_PRELOAD=";
	char **wrong[] = {(char **)8, (char **)(intptr_t)-8, holed, edge + 511};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		errno = 0;
		must(execve(words[0], words, wrong[i]) == -1 && errno == EFAULT, "execve with a bad environment");
		must(posix_spawn(&child, words[0], NULL, NULL, words, wrong[i]) == EFAULT, "posix_spawn with a bad environment");
	}
	return 0;
}

/* A child whose first calls are those of a vfork child of its own, which ends with another status. */
static int way_vforkfirst(void)
{
	int status;
	pid_t child = fork();

	if (!child) {
		pid_t grandchild = vfork();
		if (!grandchild) {
			dup2(open("/dev/null", O_RDWR), 9);
			_exit(4);
		}
		waitpid(grandchild, &status, 0);
		churn(1000);
		exit(3);
	}
	must(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3, "the child");
	return 0;
}

/* A filter with a listener: the call succeeds with a descriptor. It kills whoever writes at an offset or asks for limits. */
static int way_listener(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof code / sizeof *code, code};

	churn(1000);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) < 0)
		return 77;
	churn(500000);
	return 0;
}

/* Closes everything without libc, then opens as many files as there may be, and closes them. */
static int way_rawclose(void)
{
	struct rlimit limit;

	churn(100);
	getrlimit(RLIMIT_NOFILE, &limit);
	for (long descriptor = 3; descriptor < (long)limit.rlim_cur && descriptor < 4096; descriptor++)
		syscall(SYS_close, descriptor);
	for (int turn = 0; turn < 2; turn++) {
		for (int descriptor = 3; descriptor < (int)limit.rlim_cur && descriptor < 4096; descriptor++)
			must(open("/dev/null", O_RDWR) == descriptor, "open");
		churn(50000);
		for (int descriptor = 3; descriptor < (int)limit.rlim_cur && descriptor < 4096; descriptor++)
			must(!close(descriptor), "close");
	}
	return 0;
}

/* 500 threads, one after the other, once the log is full. */
static int way_latethreads(void)
{
	pthread_t thread;

	churn(3000000);
	for (int i = 0; i < 500; i++) {
		must(!pthread_create(&thread, NULL, churn_some, NULL), "pthread_create");
		pthread_join(thread, NULL);
	}
	return 0;
}

static pid_t first_process;
static volatile sig_atomic_t forks, bad_children;

static void fork_now(int number)
{
	int status = 0, error = errno;

	(void)number;
	if (getpid() != first_process)
		return;
	pid_t child = fork();
	if (child > 0 && waitpid(child, &status, 0) == child) {
		forks++;
		bad_children += status != 0;
	}
	if (child)
		once(1);
	errno = error;
}

#define FORKS_MOST_S 60 /* a slow machine makes fewer forks, and is given the time */

/* A handler forks at any instant of malloc and free; the child goes on with what was interrupted. */
static int way_handlerfork(void)
{
	double end = seconds() + FORKS_MOST_S;

	first_process = getpid();
	on_alarm(fork_now);
	while (forks < 100 && seconds() < end) {
		churn(1000);
		if (getpid() == first_process)
			continue;
		map_page();
		churn(1000);
		_exit(0);
	}
	once(0);
	must(forks >= 100, "too few forks");
	must(!bad_children, "a child died");
	return 0;
}

static sigjmp_buf again;

static void jump(int number)
{
	(void)number;
	siglongjmp(again, 1);
}

/* A handler leaves mmap and munmap by siglongjmp at any instant, 500 times; then 1,000 allocations of 77 bytes. */
static int way_longjmp(void)
{
	volatile int jumps = 0;

	on_alarm(jump);
	if (sigsetjmp(again, 1) && ++jumps < 500)
		once(1);
	while (jumps < 500)
		map_page();
	for (int i = 0; i < 1000; i++) {
		void *volatile block = malloc(77);
		free(block);
	}
	return 0;
}

/* Steps 1 to 4, then 10 and 11: an allocation of 1000 bytes and the step's number in each. */
static int way_steps(void)
{
	for (unsigned step = 1; step <= 11; step = step == 4 ? 10 : step + 1) {
		tfprof_step(step);
		void *volatile block = malloc(1000 + step);
		free(block);
	}
	return 0;
}

/* One allocation of 24 bytes. */
static int way_one(void)
{
	void *volatile block = malloc(24);

	free(block);
	return 0;
}

/* A large block that a realloc cannot give more to, and that stays. */
static int way_reallocfails(void)
{
	void *block = malloc(10000000);
	void *volatile larger = realloc(block, SIZE_MAX / 2 - 4096);

	return larger != NULL;
}

/* The library comes late, by dlopen, starts at a call of its own malloc, and is closed again before the program ends. */
static int way_unloaded(void)
{
	const char *path = getenv("EDGES_LIBRARY");
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;

	if (!library)
		return path != NULL;
	void *(*get)(size_t) = (void *(*)(size_t))dlsym(library, "malloc");
	void *block = get ? get(1000) : NULL;
	free(block); /* libc's: both give out the same blocks */
	if (!block || dlclose(library))
		return 1;
	return way_one();
}

static int way_errno(void)
{
	return error_at_start;
}

static const struct {
	const char *name;
	int (*run)(void);
} ways[] = {
	{"lastthread", way_lastthread}, {"cancelfork", way_cancelfork}, {"vforkleak", way_vforkleak},     {"badpath", way_badpath},
	{"vforkwork", way_vforkwork},
	{"listener", way_listener},     {"rawclose", way_rawclose},     {"latethreads", way_latethreads}, {"longjmp", way_longjmp},
	{"handlerfork", way_handlerfork}, {"steps", way_steps},         {"one", way_one},
	{"lastcancelled", way_lastcancelled}, {"lastthrd", way_lastthrd}, {"lastraw", way_lastraw},
	{"rawends", way_rawends},       {"realtime", way_realtime},
	{"badenvironment", way_badenvironment}, {"vforkfirst", way_vforkfirst},
	{"reallocfails", way_reallocfails}, {"errno", way_errno},     {"unloaded", way_unloaded},
	{"smallstack", way_smallstack}, {"unmapfails", way_unmapfails},
};

int main(int count, char **words)
{
	error_at_start = errno;
	for (size_t i = 0; count > 1 && i < sizeof ways / sizeof *ways; i++)
		if (!strcmp(ways[i].name, words[1]))
			return ways[i].run();
	fprintf(stderr, "edges: which way?\n");
	return 2;
}

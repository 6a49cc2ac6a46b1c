/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads, forks and handlers that meet in the library at one instant, one way a name: see the table at the end.
 *
 * Rule: each is right and ends with status 0 without a recorder, in a bounded time; it prints nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/churning.h"

#define MOST_S 60 /* a slow machine makes fewer forks, and is given the time */

static pid_t first_process;
static volatile sig_atomic_t forks, bad_children;

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

static void every(int microseconds)
{
	struct itimerval value = {{0, microseconds}, {0, microseconds}};

	setitimer(ITIMER_REAL, &value, NULL);
}

static volatile int is_over;

static void *nothing(void *same)
{
	return same;
}

static void *start_threads(void *same)
{
	pthread_t thread;

	while (!is_over)
		if (!pthread_create(&thread, NULL, nothing, NULL))
			pthread_join(thread, NULL);
	return same;
}

/* Two threads start others and join them while the first forks. */
static int way_forkbesidestarts(void)
{
	pthread_t threads[2];
	double begin = seconds();

	for (int i = 0; i < 2; i++)
		must(!pthread_create(&threads[i], NULL, start_threads, NULL), "pthread_create");
	for (int i = 0; i < 1000; i++) {
		pid_t child = fork();
		if (!child)
			_exit(0);
		must(waitpid(child, NULL, 0) == child, "waitpid");
		must(seconds() - begin < MOST_S, "1,000 forks take a minute");
	}
	is_over = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static void *map_in_thread(void *usual)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, usual, NULL);
	map_page();
	if (getpid() != first_process)
		_exit(0);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	return NULL;
}

static int ends_at_once;

static void fork_alone(int number)
{
	int status = 0, error = errno;

	(void)number;
	if (getpid() != first_process)
		return;
	pid_t child = _Fork(); /* which may be called in a handler, whatever it interrupted */
	if (!child && ends_at_once)
		_exit(0);
	if (child > 0 && waitpid(child, &status, 0) == child) {
		forks++;
		bad_children += status != 0;
	}
	errno = error;
}

/* A handler forks in the first call of a new thread, and the child goes on with what was interrupted. */
static int way_handlerforkthread(void)
{
	struct sigaction action = {.sa_handler = fork_alone, .sa_flags = SA_RESTART};
	double end = seconds() + MOST_S;
	sigset_t all, usual;
	pthread_t thread;

	first_process = getpid();
	sigaction(SIGALRM, &action, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &usual);
	for (int round = 0; forks < 200 && seconds() < end; round++) {
		struct itimerval value = {{0, 0}, {0, 30 + round * 7 % 300}};
		setitimer(ITIMER_REAL, &value, NULL);
		must(!pthread_create(&thread, NULL, map_in_thread, &usual), "pthread_create");
		pthread_join(thread, NULL);
	}
	must(forks >= 200, "too few forks");
	must(!bad_children, "a child died");
	return 0;
}

/* The same while threads begin and end, whose stacks are too large to be kept: libc holds a lock of its own when it gives them back. */
static int way_handlerforkstarts(void)
{
	struct sigaction action = {.sa_handler = fork_alone, .sa_flags = SA_RESTART};
	pthread_attr_t attributes;
	pthread_t threads[4];

	first_process = getpid();
	ends_at_once = 1;
	sigaction(SIGALRM, &action, NULL);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 20);
	every(1700);
	for (double end = seconds() + MOST_S; forks < 300 && seconds() < end;) {
		for (int i = 0; i < 4; i++)
			must(!pthread_create(&threads[i], &attributes, nothing, NULL), "pthread_create");
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	}
	every(0);
	must(forks >= 300, "too few forks");
	return 0;
}

static int zero_file;

static void read_and_map(int number)
{
	int error = errno;
	char some[16];

	(void)number;
	map_page();
	must(read(zero_file, some, sizeof some) == sizeof some, "read");
	forks++;
	errno = error;
}

/* A handler on a stack that the kernel forgets while it runs, and that lies above what it interrupts, on the same stack. */
static int way_disarmed(void)
{
	struct sigaction action = {.sa_handler = read_and_map, .sa_flags = SA_RESTART | SA_ONSTACK};
	char room[65536];
	stack_t stack = {.ss_sp = room, .ss_size = sizeof room, .ss_flags = (int)(1u << 31) /* SS_AUTODISARM */};

	zero_file = open("/dev/zero", O_RDONLY);
	if (syscall(SYS_sigaltstack, &stack, NULL) || sigaltstack(&stack, NULL))
		return 77;
	sigaction(SIGALRM, &action, NULL);
	every(300);
	for (double end = seconds() + MOST_S; forks < 1000 && seconds() < end;)
		churn(1000);
	every(0);
	must(forks >= 1000, "too few signals");
	return 0;
}

static sigjmp_buf again;

static void jump(int number)
{
	(void)number;
	siglongjmp(again, 1);
}

/* A handler leaves mmap, munmap and read by siglongjmp at any instant, 3,000 times. */
static int way_leftdrains(void)
{
	struct sigaction action = {.sa_handler = jump};
	volatile int jumps = 0;
	char some[16];

	zero_file = open("/dev/zero", O_RDONLY);
	sigaction(SIGALRM, &action, NULL);
	if (sigsetjmp(again, 1))
		jumps++;
	every(jumps < 3000 ? 150 : 0);
	while (jumps < 3000) {
		map_page();
		must(read(zero_file, some, sizeof some) == sizeof some, "read");
	}
	return 0;
}

#define SITE free(*(void *volatile *)&(void *){malloc(8)});
#define SITES_4 SITE SITE SITE SITE
#define SITES_16 SITES_4 SITES_4 SITES_4 SITES_4
#define SITES_64 SITES_16 SITES_16 SITES_16 SITES_16
#define SITES_256 SITES_64 SITES_64 SITES_64 SITES_64
#define SITES_1024 SITES_256 SITES_256 SITES_256 SITES_256

static volatile int is_walking;

/* Allocates at 2,048 places; whether its signals are still there. */
static void *walk_sites(void *is_blocked)
{
	sigset_t mask;

	is_walking = 1;
	SITES_1024 SITES_1024
	sigemptyset(&mask);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	*(int *)is_blocked = sigismember(&mask, SIGTERM);
	return NULL;
}

/* The first thread puts itself behind a filter that allows everything, while another one is at places never seen before. */
static int way_filterbeside(void)
{
	for (int round = 0; round < 60; round++) {
		int status = 1;
		pid_t child = fork();
		if (!child) {
			struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
			struct sock_fprog program = {1, code};
			int is_blocked = 0;
			pthread_t thread;
			prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
			pthread_create(&thread, NULL, walk_sites, &is_blocked);
			while (!is_walking)
				;
			usleep(1000 + (unsigned)round * 100);
			syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
			pthread_join(thread, NULL);
			_exit(is_blocked);
		}
		must(waitpid(child, &status, 0) == child && !status, "a thread's signals are blocked");
	}
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} ways[] = {
	{"forkbesidestarts", way_forkbesidestarts}, {"handlerforkthread", way_handlerforkthread},
	{"handlerforkstarts", way_handlerforkstarts}, {"disarmed", way_disarmed}, {"filterbeside", way_filterbeside},
	{"leftdrains", way_leftdrains},
};

int main(int count, char **words)
{
	for (size_t i = 0; count > 1 && i < sizeof ways / sizeof *ways; i++)
		if (!strcmp(ways[i].name, words[1]))
			return ways[i].run();
	fprintf(stderr, "meetings: which way?\n");
	return 2;
}

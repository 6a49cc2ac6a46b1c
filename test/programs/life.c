/* SPDX-License-Identifier: Apache-2.0 */
/*
 * life WAY: a process that begins, lives and ends in an unusual way while it allocates. One function a way, listed in
 * `ways`. It prints nothing but what main says of a problem. Rule: every way is deterministic in what it allocates and
 * waits for conditions, never for time.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

extern char **environ;
static char *myself; /* path of this program */

static void must(int is_true, const char *what)
{
	if (is_true)
		return;
	perror(what);
	_exit(1);
}

/* `count` blocks of odd sizes, three quarters of them given back. */
static void churn(int count)
{
	for (int i = 0; i < count; i++) {
		void *block = malloc((size_t)(i % 1000 + 1));
		must(block != NULL, "malloc");
		if (i % 4)
			free(block);
	}
}

static sem_t go, there, leave;

static void *churn_later(void *count)
{
	while (sem_wait(&go))
		;
	churn((int)(intptr_t)count);
	return NULL;
}

static void wait_for(pid_t child, int wanted_status)
{
	int status;
	while (waitpid(child, &status, 0) < 0)
		must(errno == EINTR, "waitpid");
	must(status == wanted_status, "status of the child");
}

/* main ends by pthread_exit; the threads allocate after that, and the last one ends the process. */
static pthread_t main_thread;

static void *outlive(void *nothing)
{
	must(!pthread_join(main_thread, NULL), "pthread_join of main");
	churn(5000);
	exit(3);
	return nothing;
}

static int way_outlive(void)
{
	pthread_t threads[4];
	must(!sem_init(&go, 0, 0), "sem_init");
	main_thread = pthread_self();
	for (int i = 0; i < 3; i++)
		must(!pthread_create(&threads[i], NULL, churn_later, (void *)(intptr_t)5000), "pthread_create");
	for (int i = 0; i < 3; i++)
		sem_post(&go);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	must(!pthread_create(&threads[3], NULL, outlive, NULL), "pthread_create");
	pthread_exit(NULL);
}

/* Destructors of thread-specific data that allocate, free, and set the key again until libc gives up. */
static pthread_key_t key;

static void destroy(void *block)
{
	free(block);
	churn(100);
	pthread_setspecific(key, malloc(777));
}

static void *with_key(void *nothing)
{
	pthread_setspecific(key, malloc(555));
	return nothing;
}

static int way_tls(void)
{
	must(!pthread_key_create(&key, destroy), "pthread_key_create");
	for (int round = 0; round < 25; round++) {
		pthread_t threads[4];
		for (int i = 0; i < 4; i++)
			must(!pthread_create(&threads[i], NULL, with_key, NULL), "pthread_create");
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	}
	return 0;
}

/* 20,000 frames deep, an allocation in each thousandth. */
static int recurse(int depth)
{
	volatile char here[64];
	here[depth % 64] = 1;
	void *block = depth % 1000 ? NULL : malloc(3000);
	int below = depth ? recurse(depth - 1) : 0;
	free(block);
	return below + here[depth % 64];
}

static int way_recursion(void)
{
	return recurse(20000) == 20001 ? 0 : 1;
}

/*
 * Signals by the thousand at any instant of malloc and free. The handler maps and unmaps memory always, and allocates
 * when the host itself was not inside malloc (anything else would be the host's own mistake).
 */
static volatile sig_atomic_t is_inside, handled, handled_heap;

static void handler(int number)
{
	int saved = errno;
	void *range = mmap(NULL, 4096 * 3, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!is_inside) {
		free(malloc((size_t)number + 100));
		handled_heap++;
	}
	if (range != MAP_FAILED)
		munmap(range, 4096 * 3);
	handled++;
	errno = saved;
}

static void storm_begin(int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | flags};
	struct itimerval often = {{0, 50}, {0, 50}};
	must(!sigaction(SIGALRM, &action, NULL), "sigaction");
	must(!setitimer(ITIMER_REAL, &often, NULL), "setitimer");
}

static void storm_end(void)
{
	struct itimerval never = {{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &never, NULL);
}

static int way_storm(void)
{
	storm_begin(0);
	while (handled < 5000 || handled_heap < 50) {
		is_inside = 1;
		for (int i = 0; i < 200; i++)
			free(malloc((size_t)(i * 37 % 5000)));
		is_inside = 0;
		for (volatile int spin = 0; spin < 20000; spin++)
			;
	}
	storm_end();
	return 0;
}

/* The same on an alternate stack of 16 KiB. */
static int way_altstack(void)
{
	static char room[16384] __attribute__((aligned(64)));
	stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
	must(!sigaltstack(&stack, NULL), "sigaltstack");
	storm_begin(SA_ONSTACK);
	while (handled < 2000) {
		is_inside = 1;
		free(malloc(100));
		is_inside = 0;
	}
	storm_end();
	return 0;
}

/* Threads with the smallest stack that libc allows. */
static int way_smallstack(void)
{
	pthread_attr_t attributes;
	pthread_t threads[8];
	must(!sem_init(&go, 0, 0), "sem_init");
	pthread_attr_init(&attributes);
	must(!pthread_attr_setstacksize(&attributes, 16384), "pthread_attr_setstacksize");
	for (int i = 0; i < 8; i++) {
		must(!pthread_create(&threads[i], &attributes, churn_later, (void *)(intptr_t)20000), "pthread_create");
		sem_post(&go);
	}
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* 300 threads at once, and then 2,000 one after the other. */
static int way_threads(void)
{
	static pthread_t threads[300];
	must(!sem_init(&go, 0, 0), "sem_init");
	for (int i = 0; i < 300; i++)
		must(!pthread_create(&threads[i], NULL, churn_later, (void *)(intptr_t)40), "pthread_create");
	for (int i = 0; i < 300; i++)
		sem_post(&go);
	for (int i = 0; i < 300; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2000; i++) {
		sem_post(&go);
		must(!pthread_create(&threads[0], NULL, churn_later, (void *)(intptr_t)10), "pthread_create");
		pthread_join(threads[0], NULL);
	}
	return 0;
}

static int way_fork(void)
{
	churn(1000);
	pid_t child = fork();
	must(child >= 0, "fork");
	if (!child) {
		churn(2000);
		pid_t inner = fork();
		if (!inner) {
			churn(3000);
			exit(5);
		}
		wait_for(inner, 5 << 8);
		_exit(4);
	}
	wait_for(child, 4 << 8);
	churn(100);
	return 0;
}

static void *churn_and_stay(void *nothing)
{
	churn(40);
	sem_post(&there);
	while (sem_wait(&leave))
		;
	return nothing;
}

/* 2,000 threads one after the other, beside 300 that have begun and stay. */
static int way_crowd(void)
{
	static pthread_t threads[300], one;
	must(!sem_init(&go, 0, 0) && !sem_init(&there, 0, 0) && !sem_init(&leave, 0, 0), "sem_init");
	for (int i = 0; i < 300; i++)
		must(!pthread_create(&threads[i], NULL, churn_and_stay, NULL), "pthread_create");
	for (int i = 0; i < 300; i++)
		while (sem_wait(&there))
			;
	for (int i = 0; i < 2000; i++) {
		sem_post(&go);
		must(!pthread_create(&one, NULL, churn_later, (void *)(intptr_t)10), "pthread_create");
		pthread_join(one, NULL);
	}
	for (int i = 0; i < 300; i++)
		sem_post(&leave);
	for (int i = 0; i < 300; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* fork while other threads allocate without pause. */
static atomic_int is_over;

static void *churn_always(void *nothing)
{
	while (!atomic_load(&is_over))
		churn(100);
	return nothing;
}

static int way_forkthreads(void)
{
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		must(!pthread_create(&threads[i], NULL, churn_always, NULL), "pthread_create");
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();
		must(child >= 0, "fork");
		if (!child) {
			churn(1000);
			_exit(0);
		}
		wait_for(child, 0);
	}
	atomic_store(&is_over, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int way_churn(void)
{
	churn(1234);
	return 0;
}

/* vfork, and exec of this program again. */
static int way_vfork(void)
{
	churn(1000);
	pid_t child = vfork();
	must(child >= 0, "vfork");
	if (!child) {
		execl(myself, myself, "churn", NULL);
		_exit(9);
	}
	wait_for(child, 0);
	churn(500);
	return 0;
}

/* vfork whose exec fails: the parent must go on as if nothing had been. */
static int way_vforkfail(void)
{
	churn(1000);
	pid_t child = vfork();
	if (!child) {
		execl("/nowhere/at/all", "x", NULL);
		_exit(9);
	}
	wait_for(child, 9 << 8);
	churn(500);
	return 0;
}

static int way_spawn(void)
{
	char *words[] = {myself, "churn", NULL};
	pid_t child;
	churn(1000);
	for (int i = 0; i < 5; i++) {
		must(!posix_spawn(&child, myself, NULL, NULL, words, environ), "posix_spawn");
		wait_for(child, 0);
	}
	must(posix_spawn(&child, "/nowhere", NULL, NULL, words, environ) == ENOENT, "posix_spawn of nothing");
	churn(500);
	return 0;
}

static int way_exec(void)
{
	churn(1000);
	must(execl("/nowhere/at/all", "x", NULL) == -1, "exec of nothing");
	churn(10);
	execl(myself, myself, "churn", NULL);
	return 1;
}

/* A child leaves the folder before it has done anything, starts a program from there, and becomes one. */
static int way_moved(void)
{
	char *words[] = {myself, "churn", NULL};
	pid_t child, inner;
	churn(1000);
	must(!mkdir("elsewhere", 0755) || errno == EEXIST, "mkdir");
	child = fork();
	must(child >= 0, "fork");
	if (!child) {
		must(!chdir("elsewhere"), "chdir");
		churn(2000);
		must(!posix_spawn(&inner, myself, NULL, NULL, words, environ), "posix_spawn");
		wait_for(inner, 0);
		execl(myself, myself, "churn", NULL);
	}
	wait_for(child, 0);
	churn(100);
	return 0;
}

/* A raw clone as fork is one, behind libc's back. */
static int way_clone(void)
{
	churn(1000);
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	must(child >= 0, "clone");
	if (!child) {
		churn(2000);
		_exit(4);
	}
	wait_for(child, 4 << 8);
	churn(100);
	return 0;
}

/* A child that shares this process's memory and thread pointer; the parent waits. Promised is only that nothing breaks. */
static int shared_child(void *nothing)
{
	(void)nothing;
	churn(2000);
	return 4;
}

static int way_clonevm(void)
{
	static char stack[262144] __attribute__((aligned(64)));
	churn(1000);
	pid_t child = clone(shared_child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	must(child >= 0, "clone");
	wait_for(child, 4 << 8);
	churn(100);
	return 0;
}

/* clone with a function and a stack, and memory of its own. */
static int copied_child(void *number)
{
	churn(2000);
	return *(int *)number;
}

static int way_clonefn(void)
{
	static char stack[262144] __attribute__((aligned(64)));
	int number = 4;
	churn(1000);
	pid_t child = clone(copied_child, stack + sizeof stack, SIGCHLD, &number);
	must(child >= 0, "clone");
	wait_for(child, 4 << 8);
	churn(100);
	return 0;
}

/* Handlers of fork allocate: in the child before fork returns there, and a fork inside of libc that nobody else sees. */
static void churn_a_little(void)
{
	churn(10);
}

static int way_handlers(void)
{
	must(!pthread_atfork(churn_a_little, churn_a_little, churn_a_little), "pthread_atfork");
	churn(1000);
	pid_t child = fork();
	must(child >= 0, "fork");
	if (!child) {
		must(!daemon(1, 1), "daemon");
		churn(500);
		_exit(3);
	}
	wait_for(child, 0);
	churn(100);
	return 0;
}

/* The classic daemon: two forks and a new session; the parent learns over a pipe that the daemon ended. */
static int way_daemon(void)
{
	int ends[2];
	char byte;
	churn(1000);
	must(!pipe(ends), "pipe");
	pid_t child = fork();
	if (!child) {
		setsid();
		if (fork())
			_exit(0);
		close(ends[0]);
		churn(3000);
		_exit(0);
	}
	close(ends[1]);
	wait_for(child, 0);
	must(read(ends[0], &byte, 1) == 0, "end of the daemon");
	return 0;
}

/* Coroutines: allocations on stacks that the library has never heard of, which are unmapped afterwards. */
static ucontext_t home_context, other_context;

static void coroutine(void)
{
	for (int i = 0; i < 200; i++) {
		churn(10);
		swapcontext(&other_context, &home_context);
	}
}

static int way_coroutine(void)
{
	for (int round = 0; round < 20; round++) {
		size_t bytes = 65536;
		void *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		getcontext(&other_context);
		other_context.uc_stack.ss_sp = stack;
		other_context.uc_stack.ss_size = bytes;
		other_context.uc_link = &home_context;
		makecontext(&other_context, coroutine, 0);
		for (int i = 0; i < 200; i++) {
			swapcontext(&home_context, &other_context);
			churn(3);
		}
		munmap(stack, bytes);
	}
	return 0;
}

/* A thread is cancelled at any time while it allocates; its cleanup allocates, too. */
static void cleanup(void *nothing)
{
	(void)nothing;
	churn(20);
}

static void *cancelled(void *nothing)
{
	pthread_cleanup_push(cleanup, NULL);
	sem_post(&go);
	for (;;) {
		churn(50);
		pthread_testcancel();
	}
	pthread_cleanup_pop(0);
	return nothing;
}

static int way_cancel(void)
{
	must(!sem_init(&go, 0, 0), "sem_init");
	for (int i = 0; i < 50; i++) {
		pthread_t thread;
		void *result;
		must(!pthread_create(&thread, NULL, cancelled, NULL), "pthread_create");
		while (sem_wait(&go))
			;
		must(!pthread_cancel(thread), "pthread_cancel");
		must(!pthread_join(thread, &result) && result == PTHREAD_CANCELED, "pthread_join");
	}
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} ways[] = {
	{"churn", way_churn},         {"outlive", way_outlive},     {"tls", way_tls},       {"recursion", way_recursion},
	{"storm", way_storm},         {"altstack", way_altstack},   {"threads", way_threads}, {"crowd", way_crowd},
	{"smallstack", way_smallstack},
	{"fork", way_fork},           {"forkthreads", way_forkthreads}, {"vfork", way_vfork}, {"vforkfail", way_vforkfail},
	{"spawn", way_spawn},         {"exec", way_exec},           {"clone", way_clone},   {"daemon", way_daemon},
	{"coroutine", way_coroutine}, {"cancel", way_cancel},     {"clonevm", way_clonevm},
	{"clonefn", way_clonefn},     {"handlers", way_handlers}, {"moved", way_moved},
};

int main(int count, char **words)
{
	myself = words[0];
	for (size_t i = 0; count > 1 && i < sizeof ways / sizeof *ways; i++)
		if (!strcmp(ways[i].name, words[1]))
			return ways[i].run();
	fprintf(stderr, "life: which way?\n");
	return 2;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window api|signal|time MS: blocks of one size before a window, of another inside, of a third after it, so that a log
 * shows what it recorded by size alone. api and signal: 1,000 blocks of 1111 bytes, then the window with 2,000 of 2222
 * and the release of 500 from before, then 3,000 of 3333. time: until MS milliseconds have passed, blocks of 10,000 +
 * milliseconds, two calls each; it prints the longest time that STRETCH of them took, in us. window nested: ranges and steps
 * of the C API on two threads. window threads: four threads begin steps 0 to 4,999, each at its own pace. window seldom WHAT MS:
 * until MS milliseconds have passed one call each 5 ms and nothing else: WHAT is range, step or read. window children: one is
 * forked while a window is open and calls nothing until it has closed, one the other way round; each makes six steps.
 */
#include "preload/tfprof.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *kept[1000];

static void phases(void (*open)(void), void (*close)(void))
{
	for (int i = 0; i < 1000; i++)
		kept[i] = malloc(1111);
	open();
	for (int i = 0; i < 2000; i++)
		if (!malloc(2222))
			exit(1);
	for (int i = 0; i < 500; i++)
		free(kept[i]);
	close();
	for (int i = 0; i < 3000; i++)
		free(malloc(3333));
}

static void toggle(void)
{
	raise(SIGUSR2);
}

static void open_window(void)
{
	tfprof_start();
	tfprof_start();
}

static void close_window(void)
{
	tfprof_stop();
	tfprof_stop();
}

static long passed_us(void)
{
	static struct timespec first;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!first.tv_sec)
		first = now;
	return (now.tv_sec - first.tv_sec) * 1000000 + (now.tv_nsec - first.tv_nsec) / 1000;
}

#define STRETCH 200 /* the library looks at the time every 256 calls, which are 128 of these */

static void by_time(long limit_ms)
{
	long before[STRETCH] = {0}, longest = 0;
	int i = 0;
	for (long now = passed_us(); now < limit_ms * 1000; now = passed_us(), i = (i + 1) % STRETCH) {
		longest = now - before[i] > longest ? now - before[i] : longest;
		before[i] = now;
		free(malloc((size_t)(10000 + now / 1000)));
		for (volatile int spin = 0; spin < 5000; spin++)
			;
	}
	printf("%ld\n", longest);
}

static void *nested(void *name)
{
	for (uint64_t step = 1; step <= 10; step++) {
		tfprof_step(step);
		tfprof_push(name);
		tfprof_push("inner");
		free(malloc(4444));
		tfprof_pop();
		tfprof_pop();
	}
	tfprof_pop();
	tfprof_push(NULL);
	return NULL;
}

#define THREADS 4

static void *stepping(void *seed)
{
	unsigned state = (unsigned)(uintptr_t)seed;
	for (uint64_t step = 0; step < 5000; step++) {
		tfprof_step(step);
		void *block = malloc(5555);
		nanosleep(&(struct timespec){0, 10000 + rand_r(&state) % 40000}, NULL);
		free(block);
	}
	return NULL;
}

static int threads(void)
{
	pthread_t all[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&all[i], NULL, stepping, (void *)(i + 1)))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
	return 0;
}

static void seldom(const char *what, long limit_ms)
{
	char byte;
	int file = open("/proc/self/exe", O_RDONLY);
	while (passed_us() < limit_ms * 1000) {
		if (!strcmp(what, "range")) {
			tfprof_push("seldom");
			tfprof_pop();
		} else if (!strcmp(what, "step")) {
			tfprof_step(1);
		} else if (pread(file, &byte, 1, 0) != 1) {
			exit(1);
		}
		nanosleep(&(struct timespec){0, 5000000}, NULL);
	}
	close(file);
}

/* Its first call of ours comes when the parent's window has changed. */
static void child(volatile int *turn)
{
	while (!*turn)
		sched_yield();
	for (uint64_t step = 0; step < 6; step++) {
		tfprof_step(step);
		void *volatile block = malloc(7777);
		free(block);
	}
	_exit(0);
}

static int children(void)
{
	volatile int *turn = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 2; i++) {
		(i ? tfprof_stop : tfprof_start)();
		pid_t pid = fork();
		if (!pid)
			child(&turn[i]);
		printf("%d\n", (int)pid);
		(i ? tfprof_start : tfprof_stop)();
		turn[i] = 1;
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	return 0;
}

int main(int count, char **words)
{
	pthread_t thread;
	if (count > 1 && !strcmp(words[1], "api"))
		phases(open_window, close_window);
	else if (count > 1 && !strcmp(words[1], "signal"))
		phases(toggle, toggle);
	else if (count > 2 && !strcmp(words[1], "time"))
		by_time(atol(words[2]));
	else if (count > 1 && !strcmp(words[1], "nested")) {
		if (pthread_create(&thread, NULL, nested, "other"))
			return 1;
		pthread_join(thread, NULL);
		nested("main");
	} else if (count > 1 && !strcmp(words[1], "threads"))
		return threads();
	else if (count > 1 && !strcmp(words[1], "children"))
		return children();
	else if (count > 3 && !strcmp(words[1], "seldom"))
		seldom(words[2], atol(words[3]));
	else
		return 2;
	return 0;
}

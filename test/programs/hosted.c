/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hosted [brief | edge | fork | close | drop | unload LIBRARY | convert]...: a program with threads that knows where its time goes.
 * Prints {"function": [seconds of processor time, seconds]}, measured around each part: hot and warm compute, in the first thread and in
 * another one; lulls sleeps; wants waits for a lock that another thread holds. With `close` it closes every descriptor but the first three
 * before; `drop`: it gives up its rights; `fork`: a child does the same; `unload`: a third thread opens and closes a library all the while,
 * and runs code of it; `convert`: three open and close converters of texts, which libc loads and unloads by itself, where no hook is. Two
 * ways do none of that: `brief` starts threads that end soon, and returns 1 where a number that it has just closed is not the one that it
 * gets next; `edge`, where the page above a waiting thread's stack was touched. Rule: each part is a function of its own, never inlined.
 */
#include <dlfcn.h>
#include <iconv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 0.6

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *library;
static atomic_int is_over;
static volatile double sink;
static double lasted[4][2];

static double seconds(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

__attribute__((noinline)) static double work(int turns, double of)
{
	for (int i = 0; i < turns; i++)
		of = of * 0.9999 + 1.0 / (of + i);
	return of;
}

#define PART(name, number, statement) \
	__attribute__((noinline)) static void name(double times) \
	{ \
		double before = seconds(CLOCK_THREAD_CPUTIME_ID), since = seconds(CLOCK_MONOTONIC), until = times * SECONDS; \
		(void)until; \
		statement; \
		lasted[number][0] += seconds(CLOCK_THREAD_CPUTIME_ID) - before; \
		lasted[number][1] += seconds(CLOCK_MONOTONIC) - since; \
	}

PART(hot, 0, while (seconds(CLOCK_THREAD_CPUTIME_ID) - before < until) sink = work(50000, times))
PART(warm, 1, while (seconds(CLOCK_THREAD_CPUTIME_ID) - before < until) sink = work(50000, times))
PART(lulls, 2, usleep((useconds_t)(until * 1e6)))
PART(wants, 3, pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock))

static void *holds(void *held)
{
	pthread_mutex_lock(&lock);
	atomic_store((atomic_int *)held, 1);
	hot(1);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *reloads(void *unused)
{
	(void)unused;
	for (int turn = 0; !is_over; turn++) { /* at first as often as it can, then rarely enough for samples */
		void *object = dlopen(library, RTLD_NOW);
		double (*spin)(double) = object ? (double (*)(double))dlsym(object, "spin") : NULL;
		for (int i = 0; spin && !is_over && i < (turn < 500 ? 5 : 500); i++)
			sink = spin(sink);
		if (object)
			dlclose(object);
	}
	return NULL;
}

static void *converts(void *seed)
{
	static const char *const sets[] = {"EUC-JP", "EUC-KR", "BIG5", "GBK", "ISO-2022-KR", "IBM930", "EUC-TW", "BIG5-HKSCS",
					   "JOHAB", "UHC", "SHIFT_JISX0213"};
	static const char text[4096];

	for (unsigned next = *(unsigned *)seed; !is_over;) {
		iconv_t set = iconv_open(sets[rand_r(&next) % (sizeof sets / sizeof sets[0])], "UTF-8");
		char to[4 * sizeof text], *in = (char *)(uintptr_t)text, *out = to;
		size_t left = sizeof text, room = sizeof to;
		if (set == (iconv_t)-1)
			return NULL;
		iconv(set, &in, &left, &out, &room);
		iconv_close(set);
	}
	return NULL;
}

static void whole(const char *who)
{
	atomic_int held = 0;
	pthread_t other;

	memset(lasted, 0, sizeof lasted);
	pthread_create(&other, NULL, holds, &held);
	while (!held)
		usleep(100);
	wants(1);
	pthread_join(other, NULL);
	lulls(1);
	hot(1);
	warm(1);
	printf("{\"who\": \"%s\", \"hot\": [%.3f, %.3f], \"warm\": [%.3f, %.3f], \"lulls\": [%.3f, %.3f], \"wants\": [%.3f, %.3f]}\n", who,
	       lasted[0][0], lasted[0][1], lasted[1][0], lasted[1][1], lasted[2][0], lasted[2][1], lasted[3][0], lasted[3][1]);
	fflush(stdout);
}

/* Something waits beside the parts: while it does there is a second thread. */
static void *idles(void *unused)
{
	pause();
	return unused;
}

static void *ends_soon(void *unused)
{
	usleep(20000);
	return unused;
}

static void *starts_many(void *unused)
{
	pthread_attr_t detached;
	pthread_t thread;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	hot(0.1);
	while (!is_over) {
		pthread_create(&thread, &detached, ends_soon, NULL);
		usleep(1000);
	}
	return unused;
}

/* Whether each number that is free is the one that comes next. */
static int brief(void)
{
	pthread_t thread;
	int number = dup(0), is_same = 1;

	pthread_create(&thread, NULL, starts_many, NULL);
	hot(0.5); /* those that stay and compute are met */
	for (double since = seconds(CLOCK_MONOTONIC); is_same && seconds(CLOCK_MONOTONIC) - since < 5 * SECONDS;)
		is_same = close(number) == 0 && dup(0) == number;
	is_over = 1;
	pthread_join(thread, NULL);
	return !is_same;
}

/* Whether the page above a stack, which nobody has touched, stays so while the thread waits. */
static int edge(void)
{
	size_t bytes = 1u << 17;
	char *stack = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char is_touched = 0;
	pthread_attr_t there;
	pthread_t thread;

	madvise(stack, 2 * bytes, MADV_NOHUGEPAGE);
	pthread_attr_init(&there);
	pthread_attr_setstack(&there, stack, bytes);
	pthread_create(&thread, &there, idles, NULL);
	usleep(400000);
	return mincore(stack + bytes, 1, &is_touched) || (is_touched & 1);
}

int main(int argc, char **argv)
{
	unsigned forks = 0, converters = 0, seeds[] = {1, 2, 3};
	pthread_t thread, idle, others[3];

	if (argc > 1 && strcmp(argv[1], "brief") == 0)
		return brief();
	if (argc > 1 && strcmp(argv[1], "edge") == 0)
		return edge();
	pthread_create(&idle, NULL, idles, NULL);
	for (int i = 1; i < argc; i++) {
		forks |= strcmp(argv[i], "fork") == 0;
		if (strcmp(argv[i], "close") == 0)
			for (int file = 3; file < sysconf(_SC_OPEN_MAX) && file < 65536; file++)
				close(file);
		if (strcmp(argv[i], "drop") == 0 && setuid(65534))
			return 1;
		if (strcmp(argv[i], "unload") == 0)
			library = argv[++i];
		if (strcmp(argv[i], "convert") == 0)
			converters = 3;
	}
	if (library)
		pthread_create(&thread, NULL, reloads, NULL);
	for (unsigned i = 0; i < converters; i++)
		pthread_create(&others[i], NULL, converts, &seeds[i]);
	whole("parent");
	if (forks && !fork()) {
		pthread_create(&idle, NULL, idles, NULL);
		whole("child");
		return 0;
	}
	if (forks)
		wait(NULL);
	is_over = 1;
	if (library)
		pthread_join(thread, NULL);
	while (converters)
		pthread_join(others[--converters], NULL);
	return 0;
}

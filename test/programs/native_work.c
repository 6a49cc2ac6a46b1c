/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that computes in one function, and a first thread that waits in one function for each kind of wait. Prints what each took, as
 * JSON: processor time of the one, wall time of the others, in seconds. native_work [SECONDS]: of the one.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KEPT __attribute__((noinline, noclone))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int holds;
static double computes_s = 1.2;

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

double crunch(void), doze(void), await_lock(void), await_signal(void), await_poll(void);

KEPT double crunch(void)
{
	double end = seconds(CLOCK_THREAD_CPUTIME_ID) + computes_s, sum = 0;

	while (seconds(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 1; i < 100000; i++)
			sum += 1 / (double)i;
	return sum;
}

KEPT double doze(void)
{
	double begin = seconds(CLOCK_MONOTONIC);

	nanosleep(&(struct timespec){0, 400000000}, NULL);
	return seconds(CLOCK_MONOTONIC) - begin;
}

KEPT double await_lock(void)
{
	double begin = seconds(CLOCK_MONOTONIC);

	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	return seconds(CLOCK_MONOTONIC) - begin;
}

KEPT double await_signal(void)
{
	double begin = seconds(CLOCK_MONOTONIC);
	sigset_t none;

	sigemptyset(&none);
	sigtimedwait(&none, NULL, &(struct timespec){0, 400000000});
	return seconds(CLOCK_MONOTONIC) - begin;
}

KEPT double await_poll(void)
{
	double begin = seconds(CLOCK_MONOTONIC);

	poll(NULL, 0, 400);
	return seconds(CLOCK_MONOTONIC) - begin;
}

static void *hold(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&mutex);
	holds = 1;
	pause_ms(500);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void *compute(void *sum)
{
	*(double *)sum = crunch();
	return NULL;
}

int main(int count, char **words)
{
	pthread_t threads[2];
	double sum = 0, waited[4];

	if (count > 1)
		computes_s = strtod(words[1], NULL);
	if (pthread_create(&threads[0], NULL, compute, &sum) || pthread_create(&threads[1], NULL, hold, NULL))
		return 1;
	while (!holds)
		pause_ms(1);
	waited[0] = await_lock();
	waited[1] = await_signal();
	waited[2] = doze();
	waited[3] = await_poll();
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("{\"crunch\": %.3f, \"await_lock\": %.3f, \"await_signal\": %.3f, \"doze\": %.3f, \"await_poll\": %.3f}\n", computes_s,
	       waited[0], waited[1], waited[2], waited[3]);
	return sum > 0 ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates inside callbacks of dl_iterate_phdr, which hold the loader's lock, beside threads that allocate and one that
 * opens and closes a library: a recorder that waits for that lock while it holds another stands still within a second.
 * watchdog SECONDS FOLDER: exit status 0 if every thread got on all the time, 3 with a sentence if one stood still.
 */
#include "test/stacks/noinline.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 4
#define STILL_S 10 /* this long without a step is standing still, on a machine however loaded */

static _Atomic long steps[WORKERS];
static _Atomic int is_over;
static const char *library;
static void *volatile sink;

static NOINLINE void allocate(int depth)
{
	if (depth > 0) {
		allocate(depth - 1);
		sink = NULL;
		return;
	}
	void *block = malloc(100);

	sink = block;
	free(block);
}

static int callback(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)info;
	(void)size;
	allocate((int)(intptr_t)argument);
	return 0;
}

static void *iterate(void *argument)
{
	for (int i = 0; !is_over; i++) {
		dl_iterate_phdr(callback, (void *)(intptr_t)(i % 20));
		steps[(intptr_t)argument]++;
	}
	return NULL;
}

static void *record(void *argument)
{
	for (int i = 0; !is_over; i++) {
		allocate(i % 30);
		steps[(intptr_t)argument]++;
	}
	return NULL;
}

static void call_back(void)
{
	allocate(3);
}

static void *reload(void *argument)
{
	while (!is_over) {
		void *opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
		void (*enter)(void (*function)(void), int depth) = (void (*)(void (*)(void), int))dlsym(opened, "enter");

		enter(call_back, 2);
		dlclose(opened);
		steps[(intptr_t)argument]++;
	}
	return NULL;
}

int main(int count, char **arguments)
{
	static void *(*const work[WORKERS])(void *) = { iterate, iterate, record, reload };
	char path[4096];
	long last[WORKERS] = { 0 };
	int still[WORKERS] = { 0 };
	pthread_t threads[WORKERS];

	if (count < 3)
		return 2;
	snprintf(path, sizeof(path), "%s/churn1.so", arguments[2]);
	library = path;
	for (intptr_t i = 0; i < WORKERS; i++)
		if (pthread_create(&threads[i], NULL, work[i], (void *)i))
			return 2;
	for (long second = atol(arguments[1]); second > 0; second--) {
		nanosleep(&(struct timespec){ 1, 0 }, NULL);
		for (int i = 0; i < WORKERS; i++) {
			still[i] = steps[i] == last[i] ? still[i] + 1 : 0;
			last[i] = steps[i];
			second += still[i] > 0 && second == 1;
			if (still[i] == STILL_S) {
				fprintf(stderr, "thread %d stands still after %ld steps\n", i, last[i]);
				_exit(3);
			}
		}
	}
	is_over = 1;
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	printf("steps: iterate %ld %ld, record %ld, reload %ld\n", last[0], last[1], last[2], last[3]);
	return 0;
}

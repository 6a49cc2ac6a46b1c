/* SPDX-License-Identifier: Apache-2.0 */
/* A loop of 30 marked steps that then waits for a lock that another thread never gives back. Rule: it waits in a function of its own. */
#include "preload/tfprof.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *keeps(void *unused)
{
	pthread_mutex_lock(&lock);
	pause();
	return unused;
}

__attribute__((noinline)) static void exchange(void)
{
	pthread_mutex_lock(&lock);
	puts("never");
}

int main(void)
{
	pthread_t other;

	pthread_create(&other, NULL, keeps, NULL);
	for (int i = 0; i < 31; i++) {
		tfprof_step((unsigned)i);
		usleep(5000);
	}
	puts("here");
	fflush(stdout);
	exchange();
	return 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * churn [THREADS [CALLS [FORKS [wait]]]]: threads that allocate and free as fast as they can, in the program and in as
 * many children as asked; `wait`: it begins after a line of input. Rule: a thread's calls follow from its number alone,
 * so that their count is known: CALLS allocations and as many frees a thread.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 256
#define THREADS_MAX 64

static long calls = 500000;

static void *churn(void *number)
{
	unsigned random = (unsigned)(long)number;
	void *slots[SLOTS] = {NULL};

	for (long i = 0; i < calls; i++) {
		random = random * 1103515245u + 12345u;
		unsigned slot = (random >> 16) % SLOTS;
		free(slots[slot]);
		slots[slot] = malloc(16 + (random >> 20) % 500);
	}
	for (int i = 0; i < SLOTS; i++)
		free(slots[i]);
	return NULL;
}

static void run(int threads)
{
	pthread_t others[THREADS_MAX];

	for (int i = 1; i < threads; i++)
		if (pthread_create(&others[i], NULL, churn, (void *)(long)(i + 1)))
			exit(1);
	churn((void *)1L);
	for (int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1, forks = argc > 3 ? atoi(argv[3]) : 0;

	if (argc > 2)
		calls = atol(argv[2]);
	if (threads > THREADS_MAX)
		return 2;
	if (argc > 4)
		getchar();
	for (int i = 0; i < forks; i++)
		if (!fork()) {
			run(threads);
			_exit(0);
		}
	run(threads);
	while (wait(NULL) > 0)
		;
	puts("done");
	return 0;
}

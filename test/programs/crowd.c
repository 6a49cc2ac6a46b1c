/* SPDX-License-Identifier: Apache-2.0 */
/* crowd THREADS CALLS: so many threads, all alive at once while each allocates and frees CALLS blocks. */
#include "test/programs/churning.h"

#include <pthread.h>

static pthread_barrier_t meeting;
static int calls;

static void *work(void *unused)
{
	pthread_barrier_wait(&meeting);
	churn(calls);
	pthread_barrier_wait(&meeting);
	return unused;
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[1]) : 0;
	pthread_t *threads = calloc((size_t)count + 1, sizeof *threads);

	must(count > 0 && threads != NULL, "crowd THREADS CALLS");
	calls = atoi(argv[2]);
	pthread_barrier_init(&meeting, NULL, (unsigned)count + 1);
	for (int i = 0; i < count; i++)
		must(!pthread_create(&threads[i], NULL, work, NULL), "pthread_create");
	pthread_barrier_wait(&meeting);
	pthread_barrier_wait(&meeting);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return 0;
}

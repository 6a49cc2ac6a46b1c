/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process of N threads weighs once every thread has made PAIRS allocations and releases: prints "rss_kib X"
 * (resident, with what is mapped of files) and "private_kib X" (dirty and not of a file), read while all threads still
 * stand. The difference to the run without the tool, divided by N, is the price of a thread.
 *
 *   footprint THREADS PAIRS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 1000 };

static pthread_barrier_t all_done, may_end;
static long pairs;

static void allocate(void)
{
	void *slot[64] = { NULL };

	for (long i = 0; i < pairs; i++) {
		free(slot[i & 63]);
		slot[i & 63] = malloc(16 + (size_t)(i * 37 & 255));
	}
	for (int i = 0; i < 64; i++)
		free(slot[i]);
}

static void *work(void *unused)
{
	allocate();
	pthread_barrier_wait(&all_done);
	pthread_barrier_wait(&may_end);
	return unused;
}

static void print_field(const char *name, const char *key)
{
	char line[256];
	FILE *file = fopen("/proc/self/smaps_rollup", "r");

	if (file == NULL)
		exit(1);
	while (fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, key, strlen(key)) == 0)
			printf("%s %ld\n", name, atol(line + strlen(key)));
	fclose(file);
}

int main(int argc, char **argv)
{
	static pthread_t thread[MAX_THREADS];
	pthread_attr_t attributes;

	if (argc != 3 || atoi(argv[1]) < 1 || atoi(argv[1]) >= MAX_THREADS)
		return fprintf(stderr, "usage: footprint THREADS PAIRS\n"), 2;
	int threads = atoi(argv[1]);

	pairs = atol(argv[2]);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 * 1024);
	pthread_barrier_init(&all_done, NULL, (unsigned)threads);
	pthread_barrier_init(&may_end, NULL, (unsigned)threads);
	for (int i = 1; i < threads; i++)
		if (pthread_create(&thread[i], &attributes, work, NULL) != 0)
			return perror("footprint: pthread_create"), 1;
	allocate();
	pthread_barrier_wait(&all_done);
	print_field("rss_kib", "Rss:");
	print_field("private_kib", "Private_Dirty:");
	pthread_barrier_wait(&may_end);
	for (int i = 1; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

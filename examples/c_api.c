/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that tells its recorder about its steps. It runs alone, and under tfprof:
 *
 *   cc -I preload -o build/c_api examples/c_api.c
 *   build/c_api                                                       nothing is recorded, the calls do nothing
 *   build/tfprof run --malloc=full --window=off -- build/c_api        recorded between tfprof_start and tfprof_stop
 *   build/tfprof-reduce tfprof-out
 */
#include "tfprof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 10
#define BATCH_BYTES 100000

/* A batch that the caller frees. */
static char *load_batch(unsigned step)
{
	char *batch;

	tfprof_push("load batch");
	batch = (char *)malloc(BATCH_BYTES); /* the cast is for C++ */
	if (!batch)
		exit(1);
	memset(batch, (int)step, BATCH_BYTES);
	tfprof_pop();
	return batch;
}

static unsigned long train(const char *batch)
{
	unsigned long sum = 0;
	int i;

	tfprof_push("train");
	for (i = 0; i < BATCH_BYTES; i++)
		sum += (unsigned char)batch[i];
	tfprof_pop();
	return sum;
}

int main(void)
{
	unsigned long sum = 0;
	unsigned step;

	tfprof_start();
	for (step = 1; step <= STEPS; step++) {
		char *batch;

		tfprof_step(step);
		batch = load_batch(step);
		sum += train(batch);
		free(batch);
	}
	tfprof_stop();
	printf("%u steps, sum %lu\n", STEPS, sum);
	return 0;
}

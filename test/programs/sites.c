/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates from functions of known names: what it does is what memory.sites must say. `sites THREADNAME` names its thread
 * so first.
 *
 * Rule: after main's first line nothing but the functions below allocates, so each number is exact.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define NOT_INLINED static __attribute__((noinline))

static void *volatile kept[64];
static void *volatile block, *volatile large;

NOT_INLINED void leak_here(void)
{
	for (int i = 0; i < 3; i++)
		kept[i] = malloc(1000);
}

NOT_INLINED void churn_here(void)
{
	for (int i = 0; i < 100; i++) {
		block = malloc(64);
		free(block);
	}
}

static inline __attribute__((always_inline)) void *inlined_here(size_t bytes)
{
	return malloc(bytes);
}

NOT_INLINED void peak_here(void)
{
	large = inlined_here(1 << 20);
	churn_here();
	free(large);
}

int main(int count, char **words)
{
	if (count > 1)
		prctl(PR_SET_NAME, words[1]);
	leak_here();
	peak_here();
	churn_here();
	return 0;
}

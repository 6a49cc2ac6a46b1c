/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates before, in and after a window that it opens by the C API; the case windows-opened-by-hand knows the numbers. */
#include "preload/tfprof.h"

#include <stdlib.h>

enum { BEFORE = 1000, INSIDE = 500 };

int main(void)
{
	static void *before[BEFORE], *inside[INSIDE];

	for (int i = 0; i < BEFORE; i++)
		before[i] = malloc(100);
	tfprof_start();
	for (int i = 0; i < INSIDE; i++)
		inside[i] = malloc(200);
	for (int i = 0; i < BEFORE; i++)
		free(before[i]);
	for (int i = 0; i < INSIDE / 2; i++)
		free(inside[i]);
	tfprof_stop();
	for (int i = INSIDE / 2; i < INSIDE; i++)
		free(inside[i]);
	return 0;
}

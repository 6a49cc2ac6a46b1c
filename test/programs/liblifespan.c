/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose constructor makes 100 calls and whose destructor makes 50; see linked_lifespan.c. */
#include <stdlib.h>

void *lifespan_kept[100];

__attribute__((constructor)) static void begin(void)
{
	for (int i = 0; i < 100; i++)
		lifespan_kept[i] = malloc((size_t)(100003 + i));
}

__attribute__((destructor)) static void end(void)
{
	for (int i = 0; i < 25; i++)
		free(lifespan_kept[i]);
	for (int i = 0; i < 25; i++)
		lifespan_kept[i] = malloc((size_t)(200003 + i));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates some, writes behind the end of a block and releases it: glibc's checking allocator ends the program there, glibc does not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	for (int i = 0; i < 1000; i++)
		free(realloc(calloc(1, (size_t)i + 1), 2 * (size_t)i + 1));
	char *volatile block = malloc(20);
	if (!block)
		return 1;
	memset(block, 0, 20); /* what lay there before could be taken for the mark that is overwritten, by chance */
	char *volatile end = block + 20;
	memset(end, 1, 4); /* what a block of 20 bytes has more, of 24 in all */
	free(block);
	puts("not seen");
	return 0;
}

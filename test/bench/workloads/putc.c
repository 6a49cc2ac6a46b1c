/* SPDX-License-Identifier: Apache-2.0 */
/*
 * putc and getc in a loop. Both take a lock only in a program with threads, so this shows whether a tool made the
 * program one (libc never turns back). No allocation in the loop.
 *
 *   putc COUNT
 */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 1000;
	FILE *out = fopen("/dev/null", "w");
	FILE *in = fopen("/dev/zero", "r");
	long sum = 0;

	if (out == NULL || in == NULL)
		return perror("putc"), 1;
	for (long i = 0; i < count; i++) {
		putc((int)(i & 127), out);
		sum += getc(in);
	}
	printf("sum %ld\n", sum);
	return 0;
}

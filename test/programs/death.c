/* SPDX-License-Identifier: Apache-2.0 */
/* death HOW: 200,001 allocations, the last one of 123 MiB and live, then the end. Prints nothing. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *volatile kept;

static void die(const char *how)
{
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "group"))
		kill(0, SIGKILL);
	if (!strcmp(how, "segv"))
		*(volatile int *)8 = 1;
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "_exit"))
		_exit(3);
	if (!strcmp(how, "quick_exit"))
		quick_exit(4);
	if (!strcmp(how, "exit"))
		exit(5);
}

int main(int count, char **words)
{
	for (int i = 0; i < 200000; i++)
		free(malloc((size_t)(i % 3000)));
	kept = malloc((size_t)123 << 20);
	if (count > 1)
		die(words[1]);
	fprintf(stderr, "death: how?\n");
	return 2;
}

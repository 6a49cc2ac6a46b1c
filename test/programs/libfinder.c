/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A preload that stands in front of the loader's dlerror, as some do of dlsym, and grows memory there: the first time, a library
 * before it is still looking up the real malloc and realloc. Says on stderr what became of it.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES 40

char *dlerror(void);

static void say(const char *text)
{
	if (write(2, text, strlen(text)) < 0)
		_exit(3);
}

static const char *what_became(void)
{
	char *volatile block = malloc(BYTES);

	if (!block)
		return "no memory\n";
	memset(block, 'x', BYTES);
	size_t usable = malloc_usable_size(block);
	if (usable < BYTES || usable > 100 * BYTES)
		return "wrong size\n";
	block = realloc(block, 2 * BYTES);
	if (!block)
		return "does not grow\n";
	for (int i = 0; i < BYTES; i++)
		if (block[i] != 'x')
			return "lost when it grew\n";
	free(block);
	return "as it was\n";
}

char *dlerror(void)
{
	static int is_known;

	if (!is_known) {
		is_known = 1;
		say(what_became());
	}
	return NULL;
}

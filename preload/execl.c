/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execl and its kin: the words become an array, then they go on as execv and its kin of preload/process.c.
 *
 * Rule: libc's own would call its execve past our hook. Up to FEW words stand on the stack; more take pages from the
 * kernel, for exec may be called where malloc may not.
 */
#include "preload/real.h"
#include "writer/sys.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#define FEW 32

extern char **environ;

/* The words as an array; for execle the environment that follows them. */
struct words {
	char **array;
	char *const *environment;
	size_t bytes; /* of pages, 0 = on the stack */
};

static size_t count_words(va_list rest)
{
	va_list copy;
	size_t count = 1;

	va_copy(copy, rest);
	while (va_arg(copy, char *))
		count++;
	va_end(copy);
	return count;
}

/* 0, or -1 when there is no memory for so many words. */
static int take_words(struct words *words, char **few, const char *first, va_list rest, int has_environment)
{
	size_t count = first ? count_words(rest) : 0;

	words->bytes = count < FEW ? 0 : (count + 1) * sizeof(char *);
	words->array = words->bytes ? tfp_pages_get(words->bytes, 0) : few;
	if (!words->array)
		return -1;
	words->array[0] = (char *)(uintptr_t)first;
	for (size_t i = 1; first && i <= count; i++)
		words->array[i] = va_arg(rest, char *);
	words->environment = has_environment ? va_arg(rest, char *const *) : environ;
	return 0;
}

/* Only where the exec failed does anything come back. */
static int end_words(const struct words *words, int result)
{
	int error = errno;

	if (words->bytes)
		tfp_pages_put(words->array, words->bytes);
	errno = error;
	return result;
}

#define EXECL(name, has_environment, call) \
	TFP_EXPORT int name(const char *path, const char *first, ...) \
	{ \
		char *few[FEW + 1]; \
		struct words words; \
		va_list rest; \
\
		va_start(rest, first); \
		int failed = take_words(&words, few, first, rest, has_environment); \
		va_end(rest); \
		if (failed) { \
			errno = ENOMEM; \
			return -1; \
		} \
		return end_words(&words, call); \
	}
EXECL(execl, 0, execv(path, words.array))
EXECL(execlp, 0, execvp(path, words.array))
EXECL(execle, 1, execve(path, words.array, words.environment))

/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the loader; see collectors/loader.h. Rule: all of them stand between set_aside and put_back. */
#include "collectors/loader.h"

#include "writer/state.h"
#include "writer/sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#pragma weak dlopen /* preload/guard.h says why */
#pragma weak dlvsym

#define MARK "tfprof gives back: "
#define MARK_BYTES (sizeof MARK - 1)

/* Written at start, by one thread; kept across fork. */
static char *(*real_error)(void);
static void *(*real_symbol)(void *, const char *);
static int (*real_close)(void *);

void tfp_loader_begin(char *(*error)(void), void *(*symbol)(void *, const char *))
{
	real_error = error;
	real_symbol = symbol;
}

void tfp_loader_can_close(int (*close)(void *))
{
	real_close = close;
}

/* What the loader says, less what stands before a message that was put back. */
static char *host_message(void)
{
	char *text = real_error ? real_error() : NULL;

	for (char *at = text; at && *at; at++)
		if (*at == MARK[0] && tfp_length(at) >= MARK_BYTES && tfp_same(at, MARK, MARK_BYTES))
			return at + MARK_BYTES;
	return text;
}

char *tfp_loader_error(void)
{
	return host_message();
}

/* The host's message and errno over a question of ours. */
struct aside {
	char *name; /* MARK and the message, in pages; NULL = it had none, or there are no pages */
	size_t bytes;
	int error;
};

static struct aside set_aside(void)
{
	struct aside aside = {.error = errno};

	tfp_count_own(1);
	const char *text = host_message();
	if (!text)
		return aside;
	aside.bytes = MARK_BYTES + tfp_length(text) + 1;
	aside.name = tfp_pages_get(aside.bytes, 0);
	if (aside.name) {
		tfp_copy(aside.name, MARK, MARK_BYTES);
		tfp_copy(aside.name + MARK_BYTES, text, aside.bytes - MARK_BYTES);
	}
	return aside;
}

static void put_back(const struct aside *aside)
{
	if (!aside->name) {
		if (real_error)
			real_error(); /* of a question that failed */
	} else {
		real_symbol(RTLD_DEFAULT, aside->name); /* nothing is called that; the message ends with the name */
		tfp_pages_put(aside->name, aside->bytes);
	}
	tfp_count_own(-1);
	errno = aside->error;
}

int tfp_loader_is_there(void)
{
	return dlopen && real_symbol;
}

void *tfp_loader_open(const char *path, int flags)
{
	if (!tfp_loader_is_there())
		return NULL;
	struct aside aside = set_aside();
	void *object = dlopen(path, flags);

	put_back(&aside);
	return object;
}

static void *look_up(void *object, const char *name, const char *version)
{
	return version && dlvsym ? dlvsym(object, name, version) : real_symbol(object, name);
}

void *tfp_loader_version(void *object, const char *name, const char *version)
{
	if (!tfp_loader_is_there())
		return NULL;
	struct aside aside = set_aside();
	void *symbol = look_up(object, name, version);

	put_back(&aside);
	return symbol;
}

void *tfp_loader_symbol(void *object, const char *name)
{
	return tfp_loader_version(object, name, NULL);
}

void *tfp_loader_symbol_in(const char *path, const char *name, const char *version)
{
	if (!tfp_loader_is_there())
		return NULL;
	struct aside aside = set_aside();
	void *object = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	void *symbol = object ? look_up(object, name, version) : NULL;

	if (object && real_close)
		real_close(object); /* gives back the reference that this very dlopen took */
	put_back(&aside);
	return symbol;
}

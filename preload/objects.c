/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded objects and their symbols; see preload/objects.h. Rule: RTLD_NOLOAD, always. */
#include "preload/objects.h"

#include "writer/state.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

/* What the loader allocates for us meanwhile is not the host's. */
static void is_ours(int more)
{
	if (tfp_self && tfp_self->is_ready == 1)
		tfp_self->is_own += (uint32_t)more;
}

void *tfp_object_find(const char *name)
{
	is_ours(1);
	void *object = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	if (!object)
		dlerror();
	is_ours(-1);
	return object;
}

void *tfp_object_symbol(void *object, const char *name)
{
	is_ours(1);
	void *symbol = dlsym(object, name);
	if (!symbol)
		dlerror();
	is_ours(-1);
	return symbol;
}

const char *tfp_object_of(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) ? info.dli_fname : NULL;
}

void *tfp_object_real(const char *name, const void *caller, const void *ours)
{
	int error = errno;
	const char *path = tfp_object_of(caller);
	void *object = path ? tfp_object_find(path) : NULL;
	void *symbol = object ? tfp_object_symbol(object, name) : NULL;

	errno = error;
	return symbol == ours ? NULL : symbol;
}

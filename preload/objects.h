/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that the host has loaded, and symbols in them: frameworks lie in libraries that are not in the global scope.
 *
 * Rule: nothing is ever loaded by this, and the host's dlerror says what it would (collectors/loader.h). Takes the loader's
 * lock and may allocate: not for hooks that run often; once per framework.
 */
#ifndef TFP_PRELOAD_OBJECTS_H
#define TFP_PRELOAD_OBJECTS_H

#include <stdint.h>

/* A handle of the loaded object of that soname or path; NULL = it is not loaded. Kept for good. */
void *tfp_object_find(const char *name);

/* A symbol of the object or of one that it needs; NULL = none. */
void *tfp_object_symbol(void *object, const char *name);

/* The first loaded object whose file name begins with `prefix` ("libc10.so"); NULL = none. Rare: asks dl_iterate_phdr. */
void *tfp_object_search(const char *prefix);

/* The path of the object that holds the code address, as the loader knows it; NULL = none. The loader's memory. */
const char *tfp_object_of(const void *address);

/* A loaded object, by where it lies and its dynamic section (preload/dynamic.h). */
struct tfp_object {
	uintptr_t bias;
	const void *section;
};

/*
 * The loaded objects that export `name`, less ourselves, `room` of them at most. Returns how many. *changes: how often objects have come
 * or gone; where it is still so, and not 0, nothing is looked at and -1 returned. Takes the lock of the loader's list.
 */
int tfp_object_exporting(const char *name, struct tfp_object *objects, int room, unsigned long long *changes);

/* What is looked for among the loaded objects less ourselves, and what was found. */
struct tfp_object_choice {
	const char *name, *version, *soname; /* of the function; that the caller wants, and what one may be called; NULL = any */
	int is_behind_us;		     /* those before us are passed over, where we were preloaded */
	int count, with_version, of_version, of_soname; /* objects that export it; with a version, with that one, so called */
	int is_doubtful;   /* one of them has several versions of it, or chooses it when it is looked up */
	void *first, *fit; /* the first, and the first with the version wanted */
};

/*
 * Fills in what was found. Takes the lock of the loader's list, not the loader's own: no code of the host's runs under it but what the
 * host gives to dl_iterate_phdr; constructors do not.
 */
void tfp_object_choose(struct tfp_object_choice *choice);

/*
 * Whether the object around that address was relocated, so that its functions can be called: it stands in the loader's list from when it
 * is mapped, and one that another thread is opening has no addresses yet. Takes no lock. Before glibc 2.35 nobody tells: then 1.
 */
int tfp_object_is_relocated(const void *address);

/* The address of what the object, which is still loaded, exports by that name; NULL = nothing. Asks nobody. */
void *tfp_object_exports(const struct tfp_object *object, const char *name);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that the host has loaded, and symbols in them: frameworks lie in libraries that are not in the global scope.
 *
 * Rule: nothing is ever loaded by this, and the host's dlerror says what it would (collectors/loader.h). Takes the loader's
 * lock and may allocate: not for hooks that run often; once per framework.
 */
#ifndef TFP_PRELOAD_OBJECTS_H
#define TFP_PRELOAD_OBJECTS_H

#include "writer/state.h"

/* A handle of the loaded object of that soname or path; NULL = it is not loaded. Kept for good. */
void *tfp_object_find(const char *name);

/* A symbol of the object or of one that it needs; NULL = none. */
void *tfp_object_symbol(void *object, const char *name);

/* The first loaded object whose file name begins with `prefix` ("libc10.so"); NULL = none. Rare: asks dl_iterate_phdr. */
void *tfp_object_search(const char *prefix);

/*
 * The function of that name that an interposed call was meant for, never `ours`: in the caller's object or what it needs;
 * where that has none (a call at the very end of a function returns to somebody else), in a library of that file name.
 * `caller`: the return address. NULL = none. Keeps errno.
 */
void *tfp_object_real(const char *name, const void *caller, const void *ours, const char *const *prefixes);

/* A library is there twice, so that who calls decides which one is meant: then each call is looked up. Never cleared. */
extern _Atomic int tfp_object_has_copies TFP_HIDDEN;

/* `pointer`, once it holds the real function `name`; looked up at the first call. Every thread finds the same. */
#define TFP_OBJECT_REAL(pointer, name, prefixes) \
	({ \
		void *found = *(void *volatile *)(void *)&(pointer); \
		if (__builtin_expect(!found || tfp_object_has_copies, 0)) { \
			found = tfp_object_real(#name, __builtin_return_address(0), (const void *)name, prefixes); \
			if (!tfp_object_has_copies) \
				*(void *volatile *)(void *)&(pointer) = found; \
		} \
		(__typeof__(pointer))found; \
	})

/* For a function that a library calls when it is loaded: looks each time, and notes where another copy is meant than before. */
#define TFP_OBJECT_REAL_LOADING(pointer, name, prefixes) \
	({ \
		void *before = *(void *volatile *)(void *)&(pointer); \
		void *found = tfp_object_real(#name, __builtin_return_address(0), (const void *)name, prefixes); \
		if (before && found && before != found) \
			tfp_object_has_copies = 1; \
		if (!before) \
			*(void *volatile *)(void *)&(pointer) = found; \
		(__typeof__(pointer))found; \
	})

/* The path of the object that holds the code address, as the loader knows it; NULL = none. The loader's memory. */
const char *tfp_object_of(const void *address);

/* A loaded object, by where it lies and its dynamic section (preload/dynamic.h). */
struct tfp_object {
	uintptr_t bias;
	const void *section;
};

/*
 * The loaded objects that export `name`, less ourselves, `room` of them at most. Returns how many. *changes: how often objects have come
 * or gone; where it is still so, and not 0, nothing is looked at and -1 returned. Takes the loader's lock.
 */
int tfp_object_exporting(const char *name, struct tfp_object *objects, int room, unsigned long long *changes);

/* The address of what the object, which is still loaded, exports by that name; NULL = nothing. Asks nobody. */
void *tfp_object_exports(const struct tfp_object *object, const char *name);

#endif

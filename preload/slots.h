/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slots through which a loaded library calls functions of others, made to lead to us.
 *
 * A preloaded function comes behind the executable's own, and Python's are often the executable's: its extension modules never
 * ask further. So the one library is turned instead, and no other sees us.
 * Rule: only words that the loader filled for that very name; what may be written afterwards is what could be before. Where
 * memory may not be changed nothing happens.
 */
#ifndef TFP_PRELOAD_SLOTS_H
#define TFP_PRELOAD_SLOTS_H

#include "preload/dynamic.h"

#include <stddef.h>
#include <stdint.h>

struct tfp_slots_object {
	struct tfp_dynamic tables;
	const char *name;    /* file name without folders, the loader's memory */
	uintptr_t relro, relro_end; /* read-only since it was loaded */
};

/* The loaded object whose file name is one of those (the list ends with NULL). Takes the loader's lock. 0 = none. */
int tfp_slots_find(struct tfp_slots_object *object, const char *const *names);

/* All slots of `name` lead to `ours` from now on. How many there were. */
unsigned tfp_slots_turn(const struct tfp_slots_object *object, const char *name, const void *ours);

#endif

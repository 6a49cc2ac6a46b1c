/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects (executable, libraries, vdso) that code addresses of recorded stacks lie in, each a module fact.
 *
 * Rule: an object's memory is read only while one of its code addresses is known to be on a live stack, else as far memory; whether an
 * address belongs to an object is asked of the loader's lock-free index (_dl_find_object, glibc 2.35), never of
 * dl_iterate_phdr. Before glibc 2.35 nothing is known and stacks end at once, with a flag.
 */
#ifndef TFP_COLLECTORS_MODULES_H
#define TFP_COLLECTORS_MODULES_H

#include "collectors/unwind.h"

#include <stddef.h>
#include <stdint.h>

struct tfp_modules; /* table; its functions need the caller's lock unless they say otherwise */

/* Bytes of pages for the table, and of the scratch memory (zeroed or not) that its functions use. */
extern const uint32_t tfp_modules_bytes;
#define TFP_MODULES_SCRATCH 16384 /* two paths of PATH_MAX, a page of headers, notes */

/*
 * The id of the object that `pc` lies in as mapped now, and its image; 0 = no object is known there. Writes a module
 * fact when it is new and a module_unload fact for one that lay there before. `epoch` as in tfp_modules_is_current; 0 = an object may be
 * unmapped at any moment: nothing is taken from the table without being compared. `far`: how the object is read where no live stack holds
 * it, and 0, too, where it went meanwhile; else NULL. The image gets it.
 */
uint32_t tfp_modules_find(struct tfp_modules *modules, uintptr_t pc, uint32_t epoch, void *scratch, struct tfp_far *far,
			  struct tfp_image *image);

/* Whether what lies at `pc` is where module `id` was found: reads none of its memory. Any thread, no lock. */
int tfp_modules_is_there(const struct tfp_modules *modules, uint32_t id, uintptr_t pc);

/*
 * Forgets the objects that are no longer mapped, with a module_unload fact each. Reads none of their memory: an object
 * replaced by another at the same addresses is noticed by tfp_modules_find. Call it when something was unmapped.
 */
void tfp_modules_sweep(struct tfp_modules *modules);

/* Whether any object known to the loader lies at `pc`. Any thread, no lock. */
int tfp_modules_is_mapped(uintptr_t pc);

/* Whether data of a loaded object may be written as long as that lives; 0 where that is not known. Any thread, no lock. */
int tfp_modules_may_write(const void *data, size_t bytes);

/*
 * The loaded object that `address` lies in, only to be compared, and *name, the loader's name of it: "" is the program itself. NULL = not
 * known, always so before glibc 2.35: ask dladdr, which goes through all symbols of the object (libc: 40 us). Any thread, no lock.
 */
const void *tfp_modules_object(const void *address, const char **name);

/* The same, a struct link_map, and what it has mapped there: all of it, or where other objects may lie between its segments that part. */
const void *tfp_modules_object_around(const void *address, uintptr_t *from, uintptr_t *bytes);

/* 0: before glibc 2.35, where NULL of the two above says nothing. */
int tfp_modules_are_told(void);

/*
 * Whether what lies at `pc`, an address of a live stack, is module `id` as far as place and name say. For the time in
 * which an epoch is ending: two files of one name at one place are told apart only afterwards. Any thread, no lock.
 */
int tfp_modules_is_same(const struct tfp_modules *modules, uint32_t id, uintptr_t pc);

/* Whether module `id` was seen mapped, unchanged, since `epoch` began. Any thread, no lock. */
int tfp_modules_is_current(const struct tfp_modules *modules, uint32_t id, uint32_t epoch);

#endif

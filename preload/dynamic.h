/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols that loaded objects export, read from their own dynamic tables.
 *
 * Rule: calls nothing of the loader: a dlsym that finds nothing makes libc allocate for its message, and dl_iterate_phdr
 * takes a lock. Objects without a hash table are passed over.
 */
#ifndef TFP_PRELOAD_DYNAMIC_H
#define TFP_PRELOAD_DYNAMIC_H

#include <stddef.h>
#include <stdint.h>

/* An object's tables, as they lie in memory. */
struct tfp_dynamic {
	uintptr_t bias;
	const void *symbols; /* ElfW(Sym) */
	const char *names;
	size_t soname; /* where in `names` the object's own is; 0 = it has none */
	const uint32_t *hash, *old_hash; /* DT_GNU_HASH, DT_HASH; NULL = none */
	const uint16_t *versions; /* of the symbols; NULL = none */
	const void *needs, *defines; /* ElfW(Verneed), ElfW(Verdef): what the numbers in `versions` are called; NULL = none */
	struct tfp_dynamic_relocations {
		const void *first; /* ElfW(Rela) */
		size_t count;
		size_t relative; /* of these the first ones, which name no symbol */
	} relocations[2]; /* of data, of calls; those without addends are not told of */
};

/*
 * The first loaded object that defines and exports `name`; 0 = none. Only while nobody loads or unloads: at start. Found by
 * the list that the loader keeps for debuggers.
 */
int tfp_dynamic_find(struct tfp_dynamic *object, const char *name);

/*
 * The function of that name in the first object loaded after us that exports one, under whatever version, and the object's tables;
 * NULL = none. Only at start, as tfp_dynamic_find.
 */
void *tfp_dynamic_behind(struct tfp_dynamic *object, const char *name);

/* The same for who asks for no version: the one that new programs are bound to. Where nobody loads or unloads meanwhile. */
void *tfp_dynamic_next(const char *name);

/* The same, where it is glibc's own: a library between that has one of that name is passed over. */
void *tfp_dynamic_next_of_glibc(const char *name);

/*
 * Whether we were there when the program started, before its C library: what LD_PRELOAD names. Any time: nothing that lies before
 * either is ever unloaded. What a symbol is bound to would not tell: a position-dependent program has stubs of its own for what it
 * takes the address of.
 */
int tfp_dynamic_is_preloaded(void);

/* Whether the loaded object with that dynamic section lies before us, and we were there from the start. Any time. */
int tfp_dynamic_is_before_us(const void *section);

/* The tables that a dynamic section tells of; 0 = no symbols. `section`: ElfW(Dyn), in memory. */
int tfp_dynamic_read(struct tfp_dynamic *object, uintptr_t bias, const void *section);

/* The table's own entry (ElfW(Sym)) of what the object exports by that name; NULL = nothing. */
void *tfp_dynamic_entry(const struct tfp_dynamic *object, const char *name);

/*
 * Whether the object calls `name` by name: it imports that, or exports it itself. *version: the one that it was linked with, NULL = none.
 * 0 also where its hash table does not tell. Reads all names that it imports.
 */
int tfp_dynamic_names(const struct tfp_dynamic *object, const char *name, const char **version);

/*
 * The numbers of all symbols of that name, imported (under whatever version) or exported, into `numbers`, `most` at most. How many. Reads
 * all names that it imports.
 */
unsigned tfp_dynamic_numbers(const struct tfp_dynamic *object, const char *name, uint32_t *numbers, unsigned most);

/* The function that the object exports by that name; NULL = none, one that its own code has yet to choose, or several versions. */
void *tfp_dynamic_only(const struct tfp_dynamic *object, const char *name);

/* The address of what the object exports by that name under that version; NULL = nothing. */
void *tfp_dynamic_version(const struct tfp_dynamic *object, const char *name, const char *version);

/* The address of what the object exports by that name; NULL = nothing. */
void *tfp_dynamic_symbol(const struct tfp_dynamic *object, const char *name);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamic symbol tables of loaded objects; see preload/dynamic.h. */
#include "preload/dynamic.h"

#include "writer/sys.h"

#include <link.h>
#include <stddef.h>

#define NO_DEFAULT 0x8000 /* bit of a symbol's version: programs linked today are bound to another one */
#define VERSION_NUMBER 0x7fff

/* The loader writes addresses into most dynamic sections; into those that it may not write it does not. */
static const void *address_of(uintptr_t bias, uintptr_t value)
{
	return (const void *)(value < bias ? bias + value : value);
}

static int read_tables(struct tfp_dynamic *object, const ElfW(Dyn) * entry)
{
	struct tfp_dynamic_relocations *data = &object->relocations[0], *calls = &object->relocations[1];
	int is_rela = 1;

	for (; entry->d_tag != DT_NULL; entry++) {
		uintptr_t value = entry->d_un.d_ptr;
		switch (entry->d_tag) {
		case DT_SYMTAB: object->symbols = address_of(object->bias, value); break;
		case DT_STRTAB: object->names = address_of(object->bias, value); break;
		case DT_SONAME: object->soname = value; break;
		case DT_VERSYM: object->versions = address_of(object->bias, value); break;
		case DT_GNU_HASH: object->hash = address_of(object->bias, value); break;
		case DT_HASH: object->old_hash = address_of(object->bias, value); break;
		case DT_VERNEED: object->needs = address_of(object->bias, value); break;
		case DT_VERDEF: object->defines = address_of(object->bias, value); break;
		case DT_RELA: data->first = address_of(object->bias, value); break;
		case DT_RELASZ: data->count = value / sizeof(ElfW(Rela)); break;
		case DT_RELACOUNT: data->relative = value; break;
		case DT_JMPREL: calls->first = address_of(object->bias, value); break;
		case DT_PLTRELSZ: calls->count = value / sizeof(ElfW(Rela)); break;
		case DT_PLTREL: is_rela = value == DT_RELA; break;
		default: break;
		}
	}
	if (!data->first)
		data->count = 0;
	if (data->relative > data->count)
		data->relative = data->count;
	if (!calls->first || !is_rela)
		calls->count = 0;
	return object->symbols && object->names;
}

/* Whether the symbol of that number is what is looked for. */
static int is_it(const struct tfp_dynamic *object, uint32_t number, const char *name, int is_default)
{
	const ElfW(Sym) *symbol = (const ElfW(Sym) *)object->symbols + number;
	int is_old = object->versions && object->versions[number] & NO_DEFAULT;

	return symbol->st_shndx != SHN_UNDEF && !(is_default && is_old) && tfp_same_text(object->names + symbol->st_name, name);
}

/* The hash of the GNU table: Bernstein's. */
static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

/* The hash of the older table, as the System V ABI has it. */
static uint32_t old_hash_of(const char *name)
{
	uint32_t hash = 0;

	while (*name) {
		hash = (hash << 4) + (unsigned char)*name++;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	return hash;
}

/* The table: {buckets, symbols}, a bucket each, then the next of the same bucket each. */
static uint32_t old_number_of(const struct tfp_dynamic *object, const char *name, int is_default, unsigned which)
{
	const uint32_t *head = object->old_hash;
	uint32_t number = head && head[0] ? head[2 + old_hash_of(name) % head[0]] : 0;

	for (; number; number = head[2 + head[0] + number])
		if (is_it(object, number, name, is_default) && which-- == 0)
			break;
	return number;
}

/*
 * The symbol's number; 0 = none. `which`: 1 = the second of that name. The table: {buckets, first symbol, words of the filter, shift}, the
 * filter, a bucket each, then a word a symbol whose lowest bit ends a chain.
 */
static uint32_t number_of(const struct tfp_dynamic *object, const char *name, int is_default, unsigned which)
{
	const uint32_t *head = object->hash, hash = hash_of(name);
	const ElfW(Addr) *filter;
	const uint32_t *buckets, *chain;
	const unsigned bits = 8 * sizeof(*filter);

	if (!head)
		return old_number_of(object, name, is_default, which);
	filter = (const void *)(head + 4);
	buckets = (const void *)(filter + head[2]);
	chain = buckets + head[0];
	if (!head[0] || !head[2] || !(filter[hash / bits % head[2]] >> hash % bits & 1))
		return 0;
	uint32_t number = buckets[hash % head[0]];
	for (; number >= head[1]; number++) {
		uint32_t word = chain[number - head[1]];
		if ((word | 1) == (hash | 1) && is_it(object, number, name, is_default) && which-- == 0)
			return number;
		if (word & 1)
			break;
	}
	return 0;
}

/* The first of that name. */
static const ElfW(Sym) * entry_of(const struct tfp_dynamic *object, const char *name, int is_default)
{
	uint32_t number = number_of(object, name, is_default, 0);

	return number ? (const ElfW(Sym) *)object->symbols + number : NULL;
}

void *tfp_dynamic_entry(const struct tfp_dynamic *object, const char *name)
{
	return (void *)(uintptr_t)entry_of(object, name, 0);
}

/* Entry of the chain of records at `from` that lies `bytes` behind another; 0 bytes = there is none. */
static const void *chained(const void *from, uint32_t bytes)
{
	return bytes ? (const char *)from + bytes : NULL;
}

/* What the object calls the version of that number; NULL = it has no name. */
static const char *name_of_version(const struct tfp_dynamic *object, unsigned number)
{
	for (const ElfW(Verneed) *need = object->needs; need; need = chained(need, need->vn_next))
		for (const ElfW(Vernaux) *one = chained(need, need->vn_aux); one; one = chained(one, one->vna_next))
			if ((one->vna_other & VERSION_NUMBER) == number)
				return object->names + one->vna_name;
	for (const ElfW(Verdef) *one = object->defines; one; one = chained(one, one->vd_next))
		if ((one->vd_ndx & VERSION_NUMBER) == number)
			return object->names + ((const ElfW(Verdaux) *)chained(one, one->vd_aux))->vda_name;
	return NULL;
}

/* Symbols that are imported stand before those that the hash table holds; the older table holds all. */
static uint32_t imported_end(const struct tfp_dynamic *object)
{
	return object->hash ? object->hash[1] : object->old_hash ? object->old_hash[1] : 0;
}

static int is_imported(const struct tfp_dynamic *object, uint32_t number, const char *name)
{
	const ElfW(Sym) *symbol = (const ElfW(Sym) *)object->symbols + number;

	return symbol->st_shndx == SHN_UNDEF && tfp_same_text(object->names + symbol->st_name, name);
}

static __attribute__((noinline)) const ElfW(Sym) * imported(const struct tfp_dynamic *object, const char *name)
{
	uint32_t number = 0, end = imported_end(object);

	while (number < end && !is_imported(object, number, name))
		number++;
	return number < end ? (const ElfW(Sym) *)object->symbols + number : NULL;
}

unsigned tfp_dynamic_numbers(const struct tfp_dynamic *object, const char *name, uint32_t *numbers, unsigned most)
{
	uint32_t end = imported_end(object), number;
	unsigned count = 0;

	for (number = 1; number < end && count < most; number++)
		if (is_imported(object, number, name))
			numbers[count++] = number;
	for (unsigned which = 0; count < most && (number = number_of(object, name, 0, which)) != 0; which++)
		numbers[count++] = number;
	return count;
}

int tfp_dynamic_names(const struct tfp_dynamic *object, const char *name, const char **version)
{
	const ElfW(Sym) *symbol = imported(object, name);

	*version = NULL;
	symbol = symbol ? symbol : entry_of(object, name, 0);
	if (!symbol)
		return 0;
	unsigned number = object->versions ? object->versions[symbol - (const ElfW(Sym) *)object->symbols] & VERSION_NUMBER : 0;
	if (number > VER_NDX_GLOBAL)
		*version = name_of_version(object, number);
	return 1;
}

void *tfp_dynamic_symbol(const struct tfp_dynamic *object, const char *name)
{
	const ElfW(Sym) *symbol = tfp_dynamic_entry(object, name);

	return symbol ? (void *)(object->bias + symbol->st_value) : NULL;
}

void *tfp_dynamic_only(const struct tfp_dynamic *object, const char *name)
{
	uint32_t number = number_of(object, name, 0, 0);
	const ElfW(Sym) *symbol = (const ElfW(Sym) *)object->symbols + number;

	if (!number || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || number_of(object, name, 0, 1))
		return NULL;
	return (void *)(object->bias + symbol->st_value);
}

void *tfp_dynamic_version(const struct tfp_dynamic *object, const char *name, const char *version)
{
	const ElfW(Sym) *symbols = object->symbols;

	for (unsigned which = 0; object->versions; which++) {
		uint32_t number = number_of(object, name, 0, which);
		if (!number)
			break;
		const char *has = name_of_version(object, object->versions[number] & VERSION_NUMBER);
		if (has && tfp_same_text(has, version))
			return (void *)(object->bias + symbols[number].st_value);
	}
	return NULL;
}

int tfp_dynamic_read(struct tfp_dynamic *object, uintptr_t bias, const void *section)
{
	*object = (struct tfp_dynamic){.bias = bias};
	return section && read_tables(object, section);
}

extern struct r_debug _r_debug __attribute__((weak)); /* the loader's, for debuggers; not in every libc */

static const struct link_map *first_object(void)
{
	return &_r_debug && _r_debug.r_state == RT_CONSISTENT ? _r_debug.r_map : NULL;
}

int tfp_dynamic_is_preloaded(void)
{
	for (const struct link_map *loaded = &_r_debug ? _r_debug.r_map : NULL; loaded; loaded = loaded->l_next) {
		struct tfp_dynamic object;
		if (loaded->l_ld == _DYNAMIC)
			return 1;
		if (tfp_dynamic_read(&object, loaded->l_addr, loaded->l_ld) && tfp_dynamic_entry(&object, "__libc_start_main"))
			return 0;
	}
	return 1; /* not told */
}

int tfp_dynamic_is_before_us(const void *section)
{
	const struct link_map *loaded = tfp_dynamic_is_preloaded() && &_r_debug ? _r_debug.r_map : NULL;

	while (loaded && loaded->l_ld != _DYNAMIC && loaded->l_ld != section)
		loaded = loaded->l_next;
	return loaded && loaded->l_ld == section && section != _DYNAMIC;
}

int tfp_dynamic_find(struct tfp_dynamic *object, const char *name)
{
	for (const struct link_map *loaded = first_object(); loaded; loaded = loaded->l_next) {
		if (tfp_dynamic_read(object, loaded->l_addr, loaded->l_ld) && tfp_dynamic_symbol(object, name))
			return 1;
	}
	return 0;
}

/* Whether a caller that asks for no version gets glibc's own. */
static int is_of_glibc(const struct tfp_dynamic *object, const char *name)
{
	const char *version;

	return tfp_dynamic_names(object, name, &version) && version && tfp_begins_with(version, "GLIBC_");
}

enum whose { ANY, ANY_DEFAULT, GLIBCS };

static void *behind_us(struct tfp_dynamic *object, const char *name, enum whose whose)
{
	const struct link_map *loaded = first_object();

	while (loaded && loaded->l_ld != _DYNAMIC) /* our own, from the linker */
		loaded = loaded->l_next;
	for (loaded = loaded ? loaded->l_next : NULL; loaded; loaded = loaded->l_next) {
		const ElfW(Sym) *symbol = NULL;
		if (tfp_dynamic_read(object, loaded->l_addr, loaded->l_ld))
			symbol = entry_of(object, name, whose != ANY);
		if (symbol && whose == GLIBCS && !is_of_glibc(object, name))
			symbol = NULL;
		if (symbol && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC)
			return (void *)(object->bias + symbol->st_value);
	}
	return NULL;
}

void *tfp_dynamic_behind(struct tfp_dynamic *object, const char *name)
{
	return behind_us(object, name, ANY);
}

void *tfp_dynamic_next(const char *name)
{
	struct tfp_dynamic unused;

	return behind_us(&unused, name, ANY_DEFAULT);
}

void *tfp_dynamic_next_of_glibc(const char *name)
{
	struct tfp_dynamic unused;

	return behind_us(&unused, name, GLIBCS);
}

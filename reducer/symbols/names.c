/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of an ELF symbol table, for a batch of addresses.
 *
 * Rule: one pass over the table, memory by the number of addresses: a framework's library has a million symbols. libdwfl
 * finds the table (the file's own, its debug file's, the compressed one), but its own search walks all of it for each
 * address. Names belong to libdwfl and live until the module is closed; those of symbols that lose are not even read.
 */
#include "reducer/symbols/internal.h"

#include <stdlib.h>

struct name {
	uint64_t start;   /* file numbering */
	const char *name; /* NULL = none yet */
	uint32_t rank;    /* of several at one address the lowest is shown */
};

struct names {
	const struct lookup_batch *batch;
	struct name *covers; /* by place in the batch: the innermost symbol whose size covers the address */
	struct name *before; /* by place: the last symbol that starts after the address before and not after this one */
};

/* Prefers what has a size, then what the author exported. */
static uint32_t symbol_rank(const GElf_Sym *symbol)
{
	uint32_t rank = symbol->st_size ? 0 : 8;

	if (GELF_ST_BIND(symbol->st_info) != STB_GLOBAL)
		rank += GELF_ST_BIND(symbol->st_info) == STB_WEAK ? 1 : 2;
	return rank;
}

/* Of two names of one function, is this the one that its author would use? */
static bool has_fewer_underscores(const char *name, const char *other)
{
	while (*name == '_' && *other == '_') {
		name++;
		other++;
	}
	return *name != '_' && *other == '_';
}

static void offer(struct name *best, const struct name *offered)
{
	if (best->name && best->start > offered->start)
		return;
	if (best->name && best->start == offered->start &&
	    (best->rank < offered->rank ||
	     (best->rank == offered->rank && !has_fewer_underscores(offered->name, best->name))))
		return;
	*best = *offered;
}

/* First place whose address is not below `address`. */
static size_t place_from(const struct lookup_batch *batch, uint64_t address)
{
	size_t low = 0, high = batch->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (batch->addresses[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_function(const GElf_Sym *symbol)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	return type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && symbol->st_size);
}

static void take_symbol(struct names *names, const struct name *name, uint64_t size)
{
	const struct lookup_batch *batch = names->batch;
	size_t place = place_from(batch, name->start);

	if (place == batch->count)
		return;
	offer(&names->before[place], name);
	for (; place < batch->count && batch->addresses[place] - name->start < size; place++)
		offer(&names->covers[place], name);
}

struct names *names_read(Dwfl_Module *module, const struct lookup_batch *batch)
{
	struct names *names = base_alloc(1, sizeof(*names));
	int count = dwfl_module_getsymtab(module);
	GElf_Addr bias = 0;

	names->batch = batch;
	names->covers = base_alloc(batch->count, sizeof(*names->covers));
	names->before = base_alloc(batch->count, sizeof(*names->before));
	dwfl_module_getelf(module, &bias);
	for (int i = 1; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		GElf_Word section;
		const char *name = dwfl_module_getsym_info(module, i, &symbol, &address, &section, NULL, NULL);
		if (!name || !symbol.st_name || section == SHN_UNDEF || !is_function(&symbol))
			continue;
		take_symbol(names, &(struct name){.start = address - bias, .name = name, .rank = symbol_rank(&symbol)},
			    symbol.st_size);
	}
	for (size_t i = 1; i < batch->count; i++)
		if (!names->before[i].name)
			names->before[i] = names->before[i - 1];
	return names;
}

void names_free(struct names *names)
{
	if (!names)
		return;
	free(names->covers);
	free(names->before);
	free(names);
}

const char *names_find(const struct names *names, size_t place, uint64_t *offset, bool *is_near)
{
	const struct name *found = &names->covers[place];

	*is_near = !found->name;
	if (!found->name)
		found = &names->before[place];
	if (!found->name || !found->name[0])
		return NULL;
	*offset = names->batch->addresses[place] - found->start;
	return found->name;
}

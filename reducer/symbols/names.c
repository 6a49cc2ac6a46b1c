/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of an ELF symbol table, sorted by address.
 *
 * Rule: libdwfl finds the table (the file's own, its debug file's, the compressed one), we search it: its own search
 * walks the whole table for each address. Names belong to libdwfl and live until the module is closed.
 */
#include "reducer/symbols/internal.h"

#include <stdlib.h>
#include <string.h>

struct name {
	uint64_t start, end; /* file numbering; end == start where the symbol has no size */
	const char *name;
	uint32_t rank; /* of several at one address the lowest is shown */
};

struct names {
	struct name *list;
	size_t count, room;
};

/* Prefers what has a size, then what the author exported, then names without underscores in front. */
static uint32_t name_rank(const GElf_Sym *symbol, const char *name)
{
	uint32_t rank = symbol->st_size ? 0 : 8;

	if (GELF_ST_BIND(symbol->st_info) != STB_GLOBAL)
		rank += GELF_ST_BIND(symbol->st_info) == STB_WEAK ? 1 : 2;
	return rank + (name[0] == '_' && name[1] == '_' ? 3 : 0);
}

static bool is_function(const GElf_Sym *symbol)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	return type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && symbol->st_size);
}

static int by_address(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->rank < y->rank ? 1 : x->rank > y->rank ? -1 : 0; /* the best last, where the search ends */
}

struct names *names_read(Dwfl_Module *module)
{
	struct names *names = base_alloc(1, sizeof(*names));
	int count = dwfl_module_getsymtab(module);
	GElf_Addr bias = 0;

	dwfl_module_getelf(module, &bias);
	for (int i = 1; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		GElf_Word section;
		const char *name = dwfl_module_getsym_info(module, i, &symbol, &address, &section, NULL, NULL);
		if (!name || !name[0] || section == SHN_UNDEF || !is_function(&symbol))
			continue;
		names->list = base_grow(names->list, &names->room, names->count + 1, sizeof(*names->list));
		names->list[names->count++] = (struct name){
			.start = address - bias,
			.end = address - bias + symbol.st_size,
			.name = name,
			.rank = name_rank(&symbol, name),
		};
	}
	if (names->count)
		qsort(names->list, names->count, sizeof(*names->list), by_address);
	return names;
}

void names_free(struct names *names)
{
	if (names)
		free(names->list);
	free(names);
}

const char *names_find(const struct names *names, uint64_t address, uint64_t *offset, bool *is_near)
{
	size_t low = 0, high = names->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (names->list[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	/* A short symbol may lie inside a longer one: look back a little for one that covers the address. */
	for (size_t back = 1; back <= 8 && back <= low; back++) {
		const struct name *name = &names->list[low - back];
		if (address >= name->end)
			continue;
		*offset = address - name->start;
		*is_near = false;
		return name->name;
	}
	*offset = address - names->list[low - 1].start;
	*is_near = true;
	return names->list[low - 1].name;
}

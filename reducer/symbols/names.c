/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of an ELF symbol table, for a batch of addresses.
 *
 * Rule: one pass over the table, memory by the number of addresses: a framework's library has a million symbols. libdwfl
 * finds the table (the file's own, its debug file's, the compressed one), but its own search walks all of it for each
 * address. Names belong to libdwfl and live until the module is closed; those of symbols that lose are not even read. Nor is libdwfl asked
 * for them (300 instructions each), where its table proves to be the one that lies in the file.
 */
#include "reducer/symbols/internal.h"

#include "reducer/symbols/demangle.h"

#include <stdlib.h>

#define TABLE_PROOFS 64

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

static bool is_function(unsigned char info, uint64_t size)
{
	int type = GELF_ST_TYPE(info);

	return type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && size);
}

/* Its value is its address in the file. */
static bool is_plain(const Elf64_Sym *symbol)
{
	return symbol->st_shndx != SHN_UNDEF && (symbol->st_shndx < SHN_LORESERVE || symbol->st_shndx == SHN_XINDEX);
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

/* The file's own symbols: of its table, else its dynamic one. NULL = they are not so many, or have no addresses yet. */
static const Elf64_Sym *own_table(Elf *elf, int count)
{
	Elf_Scn *section = NULL, *found = NULL;
	GElf_Shdr header;
	GElf_Ehdr file;
	Elf_Data *data;

	if (!elf || gelf_getclass(elf) != ELFCLASS64 || !gelf_getehdr(elf, &file) || file.e_type == ET_REL)
		return NULL;
	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && (header.sh_type == SHT_SYMTAB || (header.sh_type == SHT_DYNSYM && !found)))
			found = section;
	data = found ? elf_getdata(found, NULL) : NULL;
	return data && count > 0 && data->d_size == (size_t)count * sizeof(Elf64_Sym) ? data->d_buf : NULL;
}

/* Whether libdwfl numbers these symbols so, and means these addresses: some of them, from all over the table, are compared. */
static bool is_table(Dwfl_Module *module, const Elf64_Sym *table, int count, GElf_Addr bias)
{
	for (int k = 0; k < TABLE_PROOFS; k++) {
		int i = 1 + (int)((int64_t)(count - 2) * k / (TABLE_PROOFS - 1));
		const Elf64_Sym *own = &table[i];
		GElf_Sym symbol;
		GElf_Addr address;
		if (count < 2 || !dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL, NULL) ||
		    symbol.st_name != own->st_name || symbol.st_info != own->st_info || symbol.st_size != own->st_size ||
		    symbol.st_shndx != own->st_shndx || (is_plain(own) && address - bias != own->st_value))
			return false;
	}
	return true;
}

/* Whether a symbol cannot be the name of any address: it is none of a function, or others that are there are nearer. */
static bool is_lost(const struct names *names, const Elf64_Sym *symbol)
{
	const struct lookup_batch *batch = names->batch;
	size_t place;

	if (!symbol->st_name || symbol->st_shndx == SHN_UNDEF || !is_function(symbol->st_info, symbol->st_size))
		return true;
	if (!is_plain(symbol))
		return false;
	place = place_from(batch, symbol->st_value);
	if (place == batch->count)
		return true;
	return names->before[place].name && names->before[place].start > symbol->st_value &&
	       batch->addresses[place] - symbol->st_value >= symbol->st_size;
}

struct names *names_read(Dwfl_Module *module, const struct lookup_batch *batch)
{
	struct names *names = base_alloc(1, sizeof(*names));
	int count = dwfl_module_getsymtab(module);
	GElf_Addr bias = 0;
	const Elf64_Sym *table;

	names->batch = batch;
	names->covers = base_alloc(batch->count, sizeof(*names->covers));
	names->before = base_alloc(batch->count, sizeof(*names->before));
	table = own_table(dwfl_module_getelf(module, &bias), count);
	if (table && !is_table(module, table, count, bias))
		table = NULL;
	for (int i = 1; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		GElf_Word section;
		if (table && is_lost(names, &table[i]))
			continue;
		const char *name = dwfl_module_getsym_info(module, i, &symbol, &address, &section, NULL, NULL);
		if (!name || !symbol.st_name || section == SHN_UNDEF || !is_function(symbol.st_info, symbol.st_size))
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

bool names_frame(const struct names *names, size_t place, struct text *readable, struct lookup_frame *frame)
{
	uint64_t offset;
	bool is_near;
	const char *name = names_find(names, place, &offset, &is_near);

	if (!name)
		return false;
	demangle(name, readable);
	if (is_near)
		text_format(readable, "+0x%llx", (unsigned long long)offset);
	frame->flags = is_near ? LOOKUP_NAMED | LOOKUP_NEAR : LOOKUP_NAMED;
	frame->function = readable->bytes;
	return true;
}

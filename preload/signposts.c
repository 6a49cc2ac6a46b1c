/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of another library's symbol table; see preload/signposts.h. */
#include "preload/signposts.h"

#include "preload/dynamic.h"
#include "writer/sys.h"

#include <link.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

struct search {
	uintptr_t inside;
	struct tfp_dynamic object;
	const char *name;
	ElfW(Sym) *symbol;
	int protection; /* of the pages that the entry lies in */
	int is_found;
};

static int holds(const struct dl_phdr_info *info, const ElfW(Phdr) *part, uintptr_t address)
{
	uintptr_t from = info->dlpi_addr + part->p_vaddr;

	return part->p_type == PT_LOAD && address >= from && address - from < part->p_memsz;
}

static int protection_of(const ElfW(Phdr) *part)
{
	return (part->p_flags & PF_R ? PROT_READ : 0) | (part->p_flags & PF_W ? PROT_WRITE : 0) |
	       (part->p_flags & PF_X ? PROT_EXEC : 0);
}

/* Under the loader's lock. Stops at the object that the address lies in. */
static int look(struct dl_phdr_info *info, size_t bytes, void *context)
{
	struct search *search = context;
	const ElfW(Phdr) *part = info->dlpi_phdr;

	(void)bytes;
	for (int i = 0; i < info->dlpi_phnum; i++)
		search->is_found |= holds(info, &part[i], search->inside);
	if (!search->is_found)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (part[i].p_type == PT_DYNAMIC &&
		    tfp_dynamic_read(&search->object, info->dlpi_addr, (const void *)(info->dlpi_addr + part[i].p_vaddr)))
			search->symbol = tfp_dynamic_entry(&search->object, search->name);
	for (int i = 0; search->symbol && i < info->dlpi_phnum; i++)
		if (holds(info, &part[i], (uintptr_t)&search->symbol->st_value))
			search->protection = protection_of(&part[i]);
	return 1;
}

static int protect(const struct search *search, int protection)
{
	uintptr_t page = getauxval(AT_PAGESZ), from = (uintptr_t)&search->symbol->st_value & ~(page - 1); /* aligned: one page */

	return tfp_sys(SYS_mprotect, (long)from, (long)page, protection, 0, 0, 0) == 0;
}

int tfp_signpost_turn(const void *inside, const char *name, const void *ours, void **behind)
{
	struct search search = {.inside = (uintptr_t)inside, .name = name};

	if (tfp_sys_is_sealed() || !dl_iterate_phdr(look, &search) || !search.symbol || !(search.protection & PROT_READ))
		return -1;
	if (ELF64_ST_TYPE(search.symbol->st_info) != STT_FUNC) /* of others the value is no function's address */
		return -1;
	void *before = (void *)(search.object.bias + search.symbol->st_value);
	/* Code may share the page (old linkers): what it may do stays, so that threads that run there go on. */
	if (before == ours || !protect(&search, search.protection | PROT_WRITE))
		return -1;
	*behind = before;
	__atomic_store_n(&search.symbol->st_value, (uintptr_t)ours - search.object.bias, __ATOMIC_RELEASE);
	protect(&search, search.protection);
	return 0;
}

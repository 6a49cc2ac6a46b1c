/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of a library's calls; see preload/slots.h. */
#include "preload/slots.h"

#include "writer/sys.h"

#include <link.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#if defined __x86_64__
#define IS_SLOT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined __aarch64__
#define IS_SLOT(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#endif

#define NUMBERS_MOST 8u /* symbols of one name: a version each, and the object's own */

struct search {
	const char *const *names;
	struct tfp_slots_object *object;
};

/* Under the loader's lock. */
static int look(struct dl_phdr_info *info, size_t bytes, void *context)
{
	struct search *search = context;
	const char *base = tfp_base_name(info->dlpi_name ? info->dlpi_name : "");
	int is_one = 0, has_tables = 0;

	(void)bytes;
	for (const char *const *name = search->names; *name; name++)
		is_one |= tfp_same_text(base, *name);
	if (!is_one)
		return 0;
	*search->object = (struct tfp_slots_object){.name = base};
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		if (part->p_type == PT_DYNAMIC)
			has_tables = tfp_dynamic_read(&search->object->tables, info->dlpi_addr,
						      (const void *)(info->dlpi_addr + part->p_vaddr));
		if (part->p_type != PT_GNU_RELRO)
			continue;
		search->object->relro = info->dlpi_addr + part->p_vaddr;
		search->object->relro_end = search->object->relro + part->p_memsz;
	}
	return has_tables;
}

int tfp_slots_find(struct tfp_slots_object *object, const char *const *names)
{
	struct search search = {.names = names, .object = object};

	return dl_iterate_phdr(look, &search);
}

static int write_slot(const struct tfp_slots_object *object, uintptr_t *slot, const void *ours)
{
	uintptr_t page = getauxval(AT_PAGESZ), at = (uintptr_t)slot, from = at & ~(page - 1);
	int is_closed = at >= object->relro && at < (object->relro_end & ~(page - 1)); /* as the loader rounds */

	if (*slot == (uintptr_t)ours)
		return 0;
	if (is_closed && (tfp_sys_is_sealed() || tfp_sys(SYS_mprotect, (long)from, (long)page, PROT_READ | PROT_WRITE, 0, 0, 0) != 0))
		return 0;
	__atomic_store_n(slot, (uintptr_t)ours, __ATOMIC_RELEASE);
	if (is_closed)
		tfp_sys(SYS_mprotect, (long)from, (long)page, PROT_READ, 0, 0, 0);
	return 1;
}

static int is_among(const uint32_t *numbers, unsigned count, uint32_t symbol)
{
	int is_one = 0;

	for (unsigned i = 0; i < count; i++)
		is_one |= numbers[i] == symbol;
	return is_one;
}

unsigned tfp_slots_turn(const struct tfp_slots_object *object, const char *name, const void *ours)
{
	const struct tfp_dynamic *tables = &object->tables;
	uint32_t numbers[NUMBERS_MOST];
	unsigned turned = 0, count = tfp_dynamic_numbers(tables, name, numbers, NUMBERS_MOST);

	for (int part = 0; part < 2 && count; part++) {
		const struct tfp_dynamic_relocations *of = &tables->relocations[part];
		const ElfW(Rela) *entry = (const ElfW(Rela) *)of->first + of->relative;
		for (size_t left = of->count - of->relative; left > 0; left--, entry++)
			if (IS_SLOT(ELF64_R_TYPE(entry->r_info)) && is_among(numbers, count, (uint32_t)ELF64_R_SYM(entry->r_info)))
				turned += (unsigned)write_slot(object, (uintptr_t *)(tables->bias + entry->r_offset), ours);
	}
	return turned;
}

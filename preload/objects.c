/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded objects and their symbols; see preload/objects.h. Rule: RTLD_NOLOAD, always. */
#include "preload/objects.h"

#include "collectors/loader.h"
#include "collectors/modules.h"
#include "preload/dynamic.h"
#include "writer/state.h"
#include "writer/sys.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#pragma weak dladdr /* guard.h says why */

#define PATH_ROOM 4096 /* PATH_MAX */

void *tfp_object_find(const char *name)
{
	return tfp_loader_open(name, RTLD_LAZY | RTLD_NOLOAD);
}

void *tfp_object_symbol(void *object, const char *name)
{
	return tfp_loader_symbol(object, name);
}

const char *tfp_object_of(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) ? info.dli_fname : NULL;
}

struct search {
	const char *prefix;
	char path[PATH_ROOM];
};

static int compare(struct dl_phdr_info *info, size_t bytes, void *context)
{
	struct search *search = context;
	const char *name = info->dlpi_name ? info->dlpi_name : "", *base = tfp_base_name(name);
	size_t length = tfp_length(search->prefix), whole = tfp_length(name);

	(void)bytes;
	if (whole >= PATH_ROOM || tfp_length(base) < length || !tfp_same(base, search->prefix, length))
		return 0;
	tfp_copy(search->path, name, whole + 1);
	return 1;
}

void *tfp_object_search(const char *prefix)
{
	struct search *search = tfp_pages_get(sizeof *search, 0);
	void *object = NULL;

	if (!search)
		return NULL;
	search->prefix = prefix;
	if (dl_iterate_phdr(compare, search))
		object = tfp_object_find(search->path);
	tfp_pages_put(search, sizeof *search);
	return object;
}

struct exports {
	const char *name;
	struct tfp_object *objects;
	int count, room;
	unsigned long long before, now;
};

static const void *section_of(const struct dl_phdr_info *info)
{
	const void *section = NULL;

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			section = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	return section;
}

static int export(struct dl_phdr_info *info, size_t bytes, void *context)
{
	struct exports *exports = context;
	struct tfp_dynamic tables;
	const void *section = section_of(info);

	if (bytes >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
		exports->now = info->dlpi_adds + info->dlpi_subs;
	if (exports->now && exports->now == exports->before) {
		exports->count = -1;
		return 1;
	}
	if (section == _DYNAMIC || !tfp_dynamic_read(&tables, info->dlpi_addr, section) || !tfp_dynamic_entry(&tables, exports->name))
		return 0;
	exports->objects[exports->count++] = (struct tfp_object){info->dlpi_addr, section};
	return exports->count == exports->room;
}

int tfp_object_exporting(const char *name, struct tfp_object *objects, int room, unsigned long long *changes)
{
	struct exports exports = {.name = name, .objects = objects, .room = room, .before = *changes};

	dl_iterate_phdr(export, &exports);
	*changes = exports.now;
	return exports.count;
}

struct choosing {
	struct tfp_object_choice *choice;
	int is_past; /* behind us, or all count */
};

/* Under the lock: nobody unloads what is read here. */
static int choose(struct dl_phdr_info *info, size_t bytes, void *context)
{
	struct choosing *choosing = context;
	struct tfp_object_choice *choice = choosing->choice;
	const void *section = section_of(info);
	struct tfp_dynamic tables;
	const char *version;

	(void)bytes;
	choosing->is_past |= section == _DYNAMIC;
	if (!choosing->is_past || section == _DYNAMIC || !tfp_dynamic_read(&tables, info->dlpi_addr, section) ||
	    !tfp_dynamic_entry(&tables, choice->name))
		return 0;
	void *only = tfp_dynamic_only(&tables, choice->name), *function = only ? only : tfp_dynamic_symbol(&tables, choice->name);
	int has_version = tfp_dynamic_names(&tables, choice->name, &version) && version;
	int fits = has_version && choice->version && tfp_same_text(version, choice->version);
	choice->count++;
	choice->is_doubtful |= !only;
	choice->with_version += has_version;
	choice->of_version += fits;
	choice->of_soname += choice->soname && tables.soname && tfp_same_text(tables.names + tables.soname, choice->soname);
	choice->first = choice->first ? choice->first : function;
	choice->fit = fits && !choice->fit ? function : choice->fit;
	return 0;
}

void tfp_object_choose(struct tfp_object_choice *choice)
{
	struct choosing choosing = {choice, !choice->is_behind_us || !tfp_dynamic_is_preloaded()};

	dl_iterate_phdr(choose, &choosing);
}

void *tfp_object_exports(const struct tfp_object *object, const char *name)
{
	struct tfp_dynamic tables;

	return tfp_dynamic_read(&tables, object->bias, object->section) ? tfp_dynamic_symbol(&tables, name) : NULL;
}

/* The table that unwinders ask has an object once it was relocated. */
int tfp_object_is_relocated(const void *address)
{
	uintptr_t from, bytes;

	return !tfp_modules_are_told() || tfp_modules_object_around(address, &from, &bytes) != NULL;
}

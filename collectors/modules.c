/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of objects, and the facts about them. Rule: see modules.h; an object is told from another at the same
 * addresses by its build id, or, where it has none, by its file and its tables.
 *
 * An id is serial << SLOT_BITS | slot, so that it says where it stands and is never used twice.
 */
#include "collectors/modules.h"

#include "writer/records.h"
#include "writer/store.h"
#include "writer/sys.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "writer/poison.h"

#define SLOT_BITS 12
#define SLOTS (1u << SLOT_BITS) /* objects mapped at a time; large Python processes have 1,500 */
#define BUCKETS (2 * SLOTS)
#define BUILD_ID_MAX 64 /* bytes; SHA-1 has 20 */

#if !__GLIBC_PREREQ(2, 35)
/* As <dlfcn.h> declares it from glibc 2.35 on, so that what is built with older headers finds it on newer systems. */
struct dl_find_object {
	unsigned long long dlfo_flags;
	void *dlfo_map_start, *dlfo_map_end;
	struct link_map *dlfo_link_map;
	void *dlfo_eh_frame;
	unsigned long long dlfo_reserved[7];
};
int _dl_find_object(void *address, struct dl_find_object *result);
#endif
#pragma weak _dl_find_object

struct module {
	_Atomic uint32_t id;    /* 0 = free */
	_Atomic uint32_t epoch; /* when it was last compared with what is mapped */
	uint32_t serial;        /* of the slot's last id */
	uint32_t next;          /* of the same bucket, + 1 */
	uint64_t print;         /* what tells it from another object */
	uint64_t name;          /* hash of the loader's name */
	struct dl_find_object found;
	struct tfp_image image;
};

struct tfp_modules {
	uint32_t used;             /* slots ever used */
	uint32_t buckets[BUCKETS]; /* of start addresses: slot + 1 */
	struct module slots[SLOTS];
};

const uint32_t tfp_modules_bytes = sizeof(struct tfp_modules);

#define HEADER_BYTES 4096u /* of an object, within which its program headers lie */
#define NOTE_BYTES 2048u   /* of notes that are copied */

/* Scratch memory: a path, and copies of what is far. */
struct room {
	char path[PATH_MAX], name[PATH_MAX];
	_Alignas(8) uint8_t header[HEADER_BYTES], notes[NOTE_BYTES];
};
_Static_assert(sizeof(struct room) <= TFP_MODULES_SCRATCH, "the scratch memory holds it");

/* What is read of an object's headers. */
struct headers {
	const char *name; /* the loader's */
	uintptr_t bias;
	const uint8_t *build_id;
	uint32_t build_id_bytes;
	uint64_t hash; /* of the program headers */
};

static int find_object(uintptr_t pc, struct dl_find_object *found)
{
	return _dl_find_object && _dl_find_object((void *)pc, found) == 0;
}

int tfp_modules_is_mapped(uintptr_t pc)
{
	struct dl_find_object found;

	return find_object(pc, &found);
}

const void *tfp_modules_object(const void *address, const char **name)
{
	struct dl_find_object found;

	if (!find_object((uintptr_t)address, &found) || !found.dlfo_link_map || !found.dlfo_link_map->l_name)
		return NULL;
	*name = found.dlfo_link_map->l_name;
	return found.dlfo_link_map; /* not where it starts: of a program with gaps between its segments each has a start of its own */
}

int tfp_modules_are_told(void)
{
	return _dl_find_object != NULL;
}

const void *tfp_modules_object_around(const void *address, uintptr_t *from, uintptr_t *bytes)
{
	struct dl_find_object found;

	if (!find_object((uintptr_t)address, &found))
		return NULL;
	*from = (uintptr_t)found.dlfo_map_start;
	*bytes = (uintptr_t)found.dlfo_map_end - *from;
	return found.dlfo_link_map;
}

static uint32_t *bucket_of(struct tfp_modules *modules, const struct dl_find_object *found)
{
	return &modules->buckets[((uintptr_t)found->dlfo_map_start >> 12) * 0x9e3779b1u % BUCKETS];
}

/* A GNU build id among the notes in [start, start + bytes). */
static void find_build_id(struct headers *headers, const uint8_t *start, size_t bytes)
{
	while (bytes >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)start;
		size_t name = ((size_t)note->n_namesz + 3) & ~(size_t)3;
		size_t whole = sizeof(*note) + name + (((size_t)note->n_descsz + 3) & ~(size_t)3);

		if (whole > bytes)
			return;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && tfp_same(note + 1, "GNU", 4) &&
		    note->n_descsz <= BUILD_ID_MAX) {
			headers->build_id = start + sizeof(*note) + name;
			headers->build_id_bytes = note->n_descsz;
			return;
		}
		start += whole;
		bytes -= whole;
	}
}

static void add_readable(struct tfp_image *image, uintptr_t start, uintptr_t bytes)
{
	for (int i = 0; i < TFP_IMAGE_RANGES; i++)
		if (!image->readable[i].end) {
			image->readable[i].start = start;
			image->readable[i].end = start + bytes;
			return;
		}
}

/*
 * The program headers of an object that is in use, and how many; NULL where they cannot be had. The kernel tells those of
 * the program itself, which has gaps between its segments where it is no PIE: its map starts at the segment asked for.
 */
static const ElfW(Phdr) *find_segments(const struct dl_find_object *found, const char *name, struct tfp_far *far, void *room, int *count)
{
	const ElfW(Ehdr) *elf;

	*count = (int)getauxval(AT_PHNUM);
	if (!name[0] && getauxval(AT_PHDR))
		return (const void *)getauxval(AT_PHDR);
	elf = tfp_far_see(far, found->dlfo_map_start, HEADER_BYTES, room);
	*count = elf ? elf->e_phnum : 0;
	/* All linkers map the headers with the first segment; where one did not, nothing is known to be readable. */
	if (!elf || !tfp_same(elf->e_ident, ELFMAG, SELFMAG) || elf->e_phentsize != sizeof(ElfW(Phdr)) ||
	    elf->e_phoff + (size_t)elf->e_phnum * sizeof(ElfW(Phdr)) > HEADER_BYTES)
		return NULL;
	return (const void *)((uintptr_t)elf + elf->e_phoff);
}

int tfp_modules_may_write(const void *data, size_t bytes)
{
	uintptr_t from = (uintptr_t)data, to = from + bytes;
	struct dl_find_object found;
	const ElfW(Phdr) *segments;
	int count, is_in = 0, is_closed = 0;

	if (!find_object(from, &found) || !found.dlfo_link_map || !found.dlfo_link_map->l_name)
		return 0;
	segments = find_segments(&found, found.dlfo_link_map->l_name, NULL, NULL, &count);
	for (int i = 0; segments && i < count; i++) {
		uintptr_t start = found.dlfo_link_map->l_addr + segments[i].p_vaddr, end = start + segments[i].p_memsz;
		if (segments[i].p_type == PT_LOAD && (segments[i].p_flags & PF_W))
			is_in |= from >= start && to <= end;
		is_closed |= segments[i].p_type == PT_GNU_RELRO && from < end && start < to; /* read-only since it was loaded */
	}
	return is_in && !is_closed;
}

static void read_build_id(const struct tfp_image *image, uintptr_t notes, size_t bytes, struct room *room, struct headers *headers)
{
	if (image->far && bytes > NOTE_BYTES)
		bytes = NOTE_BYTES;
	const uint8_t *start = tfp_image_has(image, notes, bytes) ? tfp_far_see(image->far, (const void *)notes, bytes, room->notes) : NULL;
	if (start)
		find_build_id(headers, start, bytes);
}

/* Reads the name and the program headers of an object that is in use, or far. 0: it is gone. */
static int read_headers(const struct dl_find_object *found, struct tfp_far *far, struct room *room, struct tfp_image *image,
			struct headers *headers)
{
	struct link_map copy;
	const struct link_map *map = tfp_far_see(far, found->dlfo_link_map, sizeof(copy), &copy);
	int count;

	tfp_fill(image, 0, sizeof(*image));
	tfp_fill(headers, 0, sizeof(*headers));
	headers->name = map ? tfp_far_text(far, map->l_name, PATH_MAX, room->name) : NULL;
	if (!headers->name)
		return 0;
	image->far = far;
	image->start = (uintptr_t)found->dlfo_map_start;
	image->end = (uintptr_t)found->dlfo_map_end;
	image->frames = (uintptr_t)found->dlfo_eh_frame;
	headers->bias = map->l_addr;
	headers->hash = TFP_HASH;
	const ElfW(Phdr) *segments = find_segments(found, headers->name, far, room->header, &count);
	if (!segments)
		return 1;
	headers->hash = tfp_hash(headers->hash, segments, (size_t)count * sizeof(*segments));
	for (int i = 0; i < count; i++) {
		uintptr_t start = headers->bias + segments[i].p_vaddr, end = start + segments[i].p_memsz;
		if (segments[i].p_type != PT_LOAD)
			continue;
		image->start = start < image->start ? start : image->start;
		image->end = end > image->end ? end : image->end;
		if (segments[i].p_flags & PF_R)
			add_readable(image, start, segments[i].p_memsz);
	}
	for (int i = 0; i < count && !headers->build_id; i++)
		if (segments[i].p_type == PT_NOTE)
			read_build_id(image, headers->bias + segments[i].p_vaddr, segments[i].p_memsz, room, headers);
	return 1;
}

/*
 * The object's path: the loader's name; of the executable what /proc says (it lies in scratch[0 .. PATH_MAX) then), or, where there is
 * none (another root, a seccomp filter), the name that it was started by.
 */
static struct tfp_text find_path(const struct headers *headers, char *scratch)
{
	struct tfp_text path = { headers->name, tfp_length(headers->name) };
	long length;

	if (path.length >= 10 && tfp_same(path.bytes, "linux-vdso", 10))
		return (struct tfp_text){ "[vdso]", 6 };
	if (path.length)
		return path;
	length = tfp_sys(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)scratch, PATH_MAX - 1, 0, 0);
	if (length <= 0) {
		const char *name = (const char *)getauxval(AT_EXECFN);

		return (struct tfp_text){ name, name ? tfp_length(name) : 0 };
	}
	scratch[length] = 0;
	return (struct tfp_text){ scratch, (size_t)length };
}

static int find_file(const struct tfp_text *path, struct stat *file)
{
	tfp_fill(file, 0, sizeof(*file));
	if (!path->length || ((const char *)path->bytes)[0] != '/')
		return 0;
	return tfp_sys(SYS_newfstatat, AT_FDCWD, (long)path->bytes, (long)file, 0, 0, 0) == 0;
}

/* What tells the object from another: its build id and place, or else its place, file and the start of its tables. */
static uint64_t print_of(const struct tfp_image *image, const struct headers *headers)
{
	uint64_t print = tfp_hash(headers->hash, &headers->bias, sizeof(headers->bias)), word;
	struct tfp_text path = { headers->name, tfp_length(headers->name) };
	struct stat file;

	print = tfp_hash(print, headers->name, path.length);
	if (headers->build_id)
		return tfp_hash(print, headers->build_id, headers->build_id_bytes);
	if (find_file(&path, &file)) {
		print = tfp_hash(print, &file.st_ino, sizeof(file.st_ino));
		print = tfp_hash(print, &file.st_mtim, sizeof(file.st_mtim));
	}
	for (uintptr_t at = image->frames; at < image->frames + 4096 && tfp_image_has(image, at, 8); at += 8)
		if (tfp_far_read(image->far, &word, at, 8))
			print = tfp_hash(print, &word, 8);
	return print;
}

static uint64_t name_hash(const char *name)
{
	return tfp_hash(0, name, tfp_length(name));
}

static void forget(struct tfp_modules *modules, struct module *module)
{
	const struct tfp_fact_field id = { .number = module->id };
	uint32_t *link = bucket_of(modules, &module->found);

	while (*link && *link != (uint32_t)(module - modules->slots) + 1)
		link = &modules->slots[*link - 1].next;
	if (*link)
		*link = module->next;
	module->id = 0;
	/* A fact that finds no room is counted by the store. */
	(void)tfp_store_fact(TFP_TAG_module_unload, &id, 1);
}

static void write_fact(const struct module *module, const struct headers *headers, char *scratch)
{
	struct tfp_text path = find_path(headers, scratch);
	struct stat file;
	int is_known = find_file(&path, &file);
	const struct tfp_fact_field fields[] = {
		{ .number = module->id },
		{ .number = headers->bias },
		{ .number = module->image.start },
		{ .number = module->image.end },
		{ .number = is_known ? file.st_dev : 0 },
		{ .number = is_known ? file.st_ino : 0 },
		{ .is_text = 1, .text = { headers->build_id, headers->build_id_bytes } },
		{ .is_text = 1, .text = path },
	};

	(void)tfp_store_fact(TFP_TAG_module, fields, sizeof(fields) / sizeof(fields[0]));
}

static struct module *free_slot(struct tfp_modules *modules)
{
	if (modules->used < SLOTS)
		return &modules->slots[modules->used++];
	for (uint32_t i = 0; i < SLOTS; i++)
		if (!modules->slots[i].id && modules->slots[i].serial < UINT32_MAX >> SLOT_BITS)
			return &modules->slots[i];
	return NULL;
}

static struct module *lookup(struct tfp_modules *modules, const struct dl_find_object *found)
{
	for (uint32_t at = *bucket_of(modules, found); at; at = modules->slots[at - 1].next)
		if (modules->slots[at - 1].found.dlfo_map_start == found->dlfo_map_start)
			return &modules->slots[at - 1];
	return NULL;
}

static int is_same_place(const struct dl_find_object *a, const struct dl_find_object *b)
{
	return a->dlfo_map_start == b->dlfo_map_start && a->dlfo_map_end == b->dlfo_map_end &&
	       a->dlfo_link_map == b->dlfo_link_map && a->dlfo_eh_frame == b->dlfo_eh_frame;
}

/* What was read of it is of one object, which is still there. */
static int is_whole(const struct dl_find_object *found, uintptr_t pc, const struct tfp_far *far)
{
	struct dl_find_object now = { 0 };

	return !far || (!far->is_failed && find_object(pc, &now) && is_same_place(&now, found));
}

/* Puts it into the table, in place of `before`, which lay there. NULL: that is full. */
static struct module *put(struct tfp_modules *modules, const struct dl_find_object *found, struct module *before)
{
	struct module *module;
	uint32_t *bucket;

	if (before)
		forget(modules, before);
	module = free_slot(modules);
	if (!module)
		return NULL;
	bucket = bucket_of(modules, found);
	module->next = *bucket;
	*bucket = (uint32_t)(module - modules->slots) + 1;
	module->found = *found;
	return module;
}

uint32_t tfp_modules_find(struct tfp_modules *modules, uintptr_t pc, uint32_t epoch, void *scratch, struct tfp_far *far,
			  struct tfp_image *image)
{
	struct dl_find_object found = { 0 };
	struct room *room = scratch;
	struct headers headers;
	struct module *module;
	uint64_t print;

	if (!find_object(pc, &found))
		return 0;
	module = lookup(modules, &found);
	if (module && module->epoch == epoch && epoch) {
		*image = module->image;
		image->far = far;
		return module->id;
	}
	if (!read_headers(&found, far, room, image, &headers))
		return 0;
	print = print_of(image, &headers);
	if (!is_whole(&found, pc, far))
		return 0;
	if (module && module->print == print) {
		module->epoch = epoch;
		return module->id;
	}
	module = put(modules, &found, module);
	if (!module)
		return 0;
	module->name = name_hash(headers.name);
	module->image = *image;
	module->print = print;
	module->epoch = epoch;
	module->serial++;
	module->id = module->serial << SLOT_BITS | (uint32_t)(module - modules->slots);
	write_fact(module, &headers, room->path);
	return module->id;
}

void tfp_modules_sweep(struct tfp_modules *modules)
{
	for (uint32_t i = 0; i < modules->used; i++) {
		struct module *module = &modules->slots[i];
		struct dl_find_object now = { 0 };

		if (!module->id)
			continue;
		if (!find_object(module->image.start, &now) || !is_same_place(&now, &module->found))
			forget(modules, module);
	}
}

int tfp_modules_is_same(const struct tfp_modules *modules, uint32_t id, uintptr_t pc)
{
	const struct module *module = &modules->slots[id & (SLOTS - 1)];
	struct dl_find_object now = { 0 };

	if (module->id != id || !find_object(pc, &now) || !is_same_place(&now, &module->found) ||
	    name_hash(now.dlfo_link_map->l_name) != module->name)
		return 0;
	/* The id is cleared before anything else changes. Pairs with the release in tfp_modules_find. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return module->id == id;
}

int tfp_modules_is_there(const struct tfp_modules *modules, uint32_t id, uintptr_t pc)
{
	const struct module *module = &modules->slots[id & (SLOTS - 1)];
	struct dl_find_object now = { 0 };

	return module->id == id && find_object(pc, &now) && is_same_place(&now, &module->found);
}

int tfp_modules_is_current(const struct tfp_modules *modules, uint32_t id, uint32_t epoch)
{
	const struct module *module = &modules->slots[id & (SLOTS - 1)];

	return module->id == id && module->epoch == epoch;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual memory management: addresses reserved, physical memory made, the one mapped to the other.
 *
 * Rule: physical memory is a memory file, so that one handle mapped twice is the same memory, also in other processes; a device's
 * free memory counts handles made here, not maps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inner.h"

#define GRAIN ((size_t)2 << 20)	/* allocation granularity */

struct physical {
	uint32_t magic;
	struct sim_location location;	/* type 1: memory of the device, else the host's */
	int file;
	size_t bytes;
	bool is_imported;		/* counted where it was made, or nowhere */
	int users;			/* maps, and the handle itself */
};
struct range {
	uint64_t address;
	size_t bytes;
	char *backing;
	struct range *next;
};
struct map {
	uint64_t address;
	size_t bytes;
	struct physical *physical;
	uint64_t base;			/* of the block that others made, 0 = the map is one */
	size_t size;
	int openings;
	struct map *next;
};

static struct range *ranges;	/* reserved addresses; under the lock, as all below */
static struct map *maps;
static size_t physical_bytes[SIM_DEVICES_MAX];

static void *reserve(size_t bytes)
{
	void *memory = sim_map_memory(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int sim_map_reserve(size_t bytes, size_t alignment, uint64_t *address)
{
	struct range *range;

	if (!bytes || bytes % GRAIN || !address || alignment > GRAIN)
		return SIM_INVALID_VALUE;
	range = sim_allocate(sizeof *range);
	range->address = (uintptr_t)reserve(bytes + GRAIN);
	range->backing = reserve(bytes);
	if (!range->address || !range->backing)
		return SIM_OUT_OF_MEMORY;
	range->address = (range->address + GRAIN - 1) / GRAIN * GRAIN;
	range->bytes = bytes;
	sim_lock();
	range->next = ranges;
	ranges = range;
	sim_unlock();
	*address = range->address;
	return SIM_OK;
}

static struct range *range_of(uint64_t address, size_t bytes)
{
	struct range *range = ranges;

	while (range && !(address >= range->address && address + bytes <= range->address + range->bytes))
		range = range->next;
	return range;
}

int sim_map_release(uint64_t address, size_t bytes)
{
	struct range **at, *range = NULL;

	sim_lock();
	for (at = &ranges; *at; at = &(*at)->next)
		if ((*at)->address == address && (*at)->bytes == bytes) {
			range = *at;
			*at = range->next;
			break;
		}
	sim_unlock();
	if (!range)
		return SIM_INVALID_VALUE;
	syscall(SYS_munmap, range->backing, bytes);
	free(range);
	return SIM_OK;
}

int sim_map_create(struct sim_location location, size_t bytes, uint64_t *handle)
{
	struct sim_machine *machine = location.type == 1 ? sim_machine_at(location.id) : NULL;
	struct physical *physical;
	char name[32];
	bool is_room;

	if ((location.type == 1 && !machine) || location.type < 1 || location.type > 4 || !bytes || bytes % GRAIN || !handle)
		return SIM_INVALID_VALUE;
	sim_lock();
	is_room = !machine || bytes <= sim_machine_free(machine);
	if (is_room && machine)
		physical_bytes[location.id] += bytes;
	sim_unlock();
	if (!is_room)
		return SIM_OUT_OF_MEMORY;
	snprintf(name, sizeof name, SIM_SHARED_NAME "%d-%d", location.type, machine ? machine->number : 0); /* tells an importer */
	physical = sim_object_new(sizeof *physical);
	*physical = (struct physical){.magic = SIM_MAGIC_PHYSICAL, .location = location, .file = memfd_create(name, MFD_CLOEXEC),
				      .bytes = bytes, .users = 1};
	if (physical->file < 0 || ftruncate(physical->file, (off_t)bytes))
		return SIM_OUT_OF_MEMORY;
	*handle = (uintptr_t)physical;
	return SIM_OK;
}

int sim_map_import(struct sim_location location, int file, size_t bytes, uint64_t *handle)
{
	struct physical *physical = sim_object_new(sizeof *physical);

	*physical = (struct physical){.magic = SIM_MAGIC_PHYSICAL, .location = location, .file = file, .bytes = bytes,
				      .is_imported = true, .users = 1};
	*handle = (uintptr_t)physical;
	return SIM_OK;
}

static struct physical *physical_of(uint64_t handle)
{
	struct physical *physical = (struct physical *)(uintptr_t)handle;

	return sim_is_object(physical, SIM_MAGIC_PHYSICAL) ? physical : NULL;
}

/* Lock held. */
static void drop_user(struct physical *physical)
{
	if (--physical->users)
		return;
	if (!physical->is_imported && physical->location.type == 1)
		physical_bytes[physical->location.id] -= physical->bytes;
	close(physical->file);
	physical->magic = SIM_MAGIC_DEAD;
}

int sim_map_drop(uint64_t handle)
{
	struct physical *physical = physical_of(handle);

	if (!physical)
		return SIM_INVALID_VALUE;
	sim_lock();
	drop_user(physical);
	sim_unlock();
	return SIM_OK;
}

int sim_map_map(uint64_t address, size_t bytes, size_t offset, uint64_t handle)
{
	struct physical *physical = physical_of(handle);
	struct range *range;
	struct map *map;
	void *at;

	if (!physical || !bytes || bytes % GRAIN || offset % GRAIN || offset + bytes > physical->bytes)
		return SIM_INVALID_VALUE;
	map = sim_allocate(sizeof *map);
	sim_lock();
	range = range_of(address, bytes);
	for (struct map *one = maps; range && one; one = one->next)
		if (address < one->address + one->bytes && one->address < address + bytes)
			range = NULL;
	at = range ? sim_map_memory(range->backing + (address - range->address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			  physical->file, (off_t)offset) : MAP_FAILED;
	if (at == MAP_FAILED) {
		sim_unlock();
		free(map);
		return SIM_INVALID_VALUE;
	}
	if (physical->location.type != 1) /* the host reaches it, too */
		sim_map_memory((void *)(uintptr_t)address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, physical->file,
			       (off_t)offset);
	*map = (struct map){.address = address, .bytes = bytes, .physical = physical, .next = maps};
	maps = map;
	physical->users++;
	sim_unlock();
	return SIM_OK;
}

bool sim_map_location(uint64_t handle, struct sim_location *location)
{
	struct physical *physical = physical_of(handle);

	if (physical)
		*location = physical->location;
	return physical != NULL;
}

int sim_map_file(uint64_t handle)
{
	struct physical *physical = physical_of(handle);

	return physical ? physical->file : -1;
}

int sim_map_retain(uint64_t address, uint64_t *handle)
{
	int result = SIM_INVALID_VALUE;

	sim_lock();
	for (struct map *map = maps; map && result; map = map->next)
		if (address >= map->address && address < map->address + map->bytes && !map->base) {
			map->physical->users++;
			*handle = (uintptr_t)map->physical;
			result = SIM_OK;
		}
	sim_unlock();
	return result;
}

bool sim_map_opened(uint64_t base, size_t size, int file, uint64_t *known)
{
	struct stat one, other;
	bool is_known = false;

	sim_lock();
	for (struct map *map = maps; map && !is_known && !fstat(file, &one); map = map->next)
		if (map->base && map->size == size && map->base - map->address == base && !fstat(map->physical->file, &other) &&
		    one.st_ino == other.st_ino) {
			map->openings++;
			*known = map->base;
			is_known = true;
		}
	sim_unlock();
	return is_known;
}

void sim_map_name(uint64_t address, uint64_t base, size_t size)
{
	sim_lock();
	for (struct map *map = maps; map; map = map->next)
		if (map->address == address) {
			map->base = base;
			map->size = size;
			map->openings = 1;
		}
	sim_unlock();
}

bool sim_map_close(uint64_t base, uint64_t *address, size_t *bytes)
{
	bool is_known = false;

	*address = 0;
	sim_lock();
	for (struct map *map = maps; map && !is_known; map = map->next)
		if (map->base && map->base == base) {
			is_known = true;
			*bytes = map->bytes;
			if (!--map->openings)
				*address = map->address;
		}
	sim_unlock();
	return is_known;
}

/* The place of a mapping that lies in a range, or NULL. */
static struct map **map_in(uint64_t address, size_t bytes)
{
	for (struct map **at = &maps; *at; at = &(*at)->next)
		if ((*at)->address >= address && (*at)->address + (*at)->bytes <= address + bytes)
			return at;
	return NULL;
}

static void unmap(struct map **at)
{
	struct map *map = *at;
	struct range *range = range_of(map->address, map->bytes);

	*at = map->next;
	if (range)
		sim_map_memory(range->backing + (map->address - range->address), map->bytes, PROT_NONE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	if (range && map->physical->location.type != 1)
		sim_map_memory((void *)(uintptr_t)map->address, map->bytes, PROT_NONE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	drop_user(map->physical);
	free(map);
}

int sim_map_unmap(uint64_t address, size_t bytes)
{
	size_t mapped = 0;

	sim_lock();
	for (struct map *map = maps; map; map = map->next)
		if (map->address >= address && map->address + map->bytes <= address + bytes)
			mapped += map->bytes;
	for (struct map **at; mapped && mapped == bytes && (at = map_in(address, bytes));)
		unmap(at);
	sim_unlock();
	return mapped && mapped == bytes ? SIM_OK : SIM_INVALID_VALUE;
}

bool sim_map_place(uint64_t address, struct sim_place *place)
{
	struct range *range;
	bool is_found = false;

	if (!__atomic_load_n(&maps, __ATOMIC_RELAXED))
		return false;
	sim_lock();
	for (struct map *map = maps; map && !is_found; map = map->next) {
		if (address < map->address || address >= map->address + map->bytes)
			continue;
		range = range_of(map->address, map->bytes);
		place->kind = map->physical->location.type == 1 ? 3 : 2;
		place->device = map->physical->location.type == 1 ? map->physical->location.id : -1;
		place->base = map->base ? map->base : map->address;
		place->bytes = map->base ? map->size : map->bytes;
		place->host = range->backing + (address - range->address);
		is_found = true;
	}
	sim_unlock();
	return is_found;
}

size_t sim_map_bytes(int device)
{
	return physical_bytes[device];
}

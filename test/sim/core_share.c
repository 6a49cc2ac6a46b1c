/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory and events that processes share: handles for IPC, physical memory by file descriptors.
 *
 * A handle names the process that made the memory, its memory file and the place therein; whoever opens it maps the file by
 * /proc/PID/fd. So bytes that one process writes are the other's, and nothing is left behind.
 * Rule: what was opened counts on no device here; it is counted where it was made.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inner.h"

#define SEGMENT ((size_t)2 << 20)

enum share_magic { MEMORY = 0x51c51b01, EVENT = 0x51c51b02 };

struct handle {
	uint32_t magic;
	int pid, file, number;	/* number: the machine's, of the device */
	uint64_t offset, bytes;
	char rest[32];
};
_Static_assert(sizeof(struct handle) == sizeof(struct sim_ipc), "a handle is of 64 bytes");

static int open_of(const struct handle *handle)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/fd/%d", handle->pid, handle->file);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* The ordinal that the machine's device has in this process; -1 = it is hidden. */
static int ordinal_of(int number)
{
	for (int i = 0; i < sim_device_count(); i++)
		if (sim_machine_at(i)->number == number)
			return i;
	return -1;
}

int sim_ipc_name(uint64_t address, struct sim_ipc *to)
{
	struct handle handle = {.magic = MEMORY, .pid = (int)getpid()};
	struct sim_machine *machine;
	struct sim_place place;

	sim_place_of(address, &place);
	if (!to || !place.block || place.kind != 3 || place.block->origin != SIM_FROM_ALLOC || place.device < 0)
		return SIM_INVALID_VALUE;
	machine = sim_machine_at(place.device);
	sim_lock();
	handle.file = sim_arena_share(machine->arena, place.block);
	handle.offset = sim_arena_offset(machine->arena, place.block->address);
	handle.bytes = place.block->asked;
	sim_unlock();
	handle.number = machine->number;
	if (handle.file < 0)
		return SIM_OUT_OF_MEMORY;
	memcpy(to, &handle, sizeof handle);
	return SIM_OK;
}

static int open_block(int ordinal, const struct handle *handle, int file, uint64_t *address)
{
	uint64_t first = handle->offset / SEGMENT * SEGMENT, physical;
	size_t bytes = (handle->offset + handle->bytes - first + SEGMENT - 1) / SEGMENT * SEGMENT;
	int result = sim_map_reserve(bytes, 0, address);

	result = result ? result : sim_map_import((struct sim_location){1, ordinal}, file, (size_t)first + bytes, &physical);
	result = result ? result : sim_map_map(*address, bytes, (size_t)first, physical);
	if (result)
		return result;
	sim_map_drop(physical);
	sim_map_name(*address, *address + (handle->offset - first), handle->bytes);
	*address += handle->offset - first;
	return SIM_OK;
}

int sim_ipc_open(struct sim_context *context, const struct sim_ipc *from, uint64_t *address)
{
	struct handle handle;
	int file, ordinal, result;

	(void)context;
	memcpy(&handle, from, sizeof handle);
	if (handle.magic != MEMORY || !address)
		return SIM_INVALID_VALUE;
	if (handle.pid == getpid())
		return SIM_INVALID_CONTEXT;
	ordinal = ordinal_of(handle.number);
	file = ordinal < 0 ? -1 : open_of(&handle);
	if (file < 0)
		return SIM_INVALID_VALUE;
	if (sim_map_opened(handle.offset % SEGMENT, handle.bytes, file, address)) {
		close(file);
		return SIM_OK;
	}
	result = open_block(ordinal, &handle, file, address);
	if (!result)
		sim_oracle("opened\t%d\t%llu\t%llu", ordinal, (unsigned long long)*address, (unsigned long long)handle.bytes);
	return result;
}

int sim_ipc_close(uint64_t base)
{
	uint64_t address;
	size_t bytes;

	if (!sim_map_close(base, &address, &bytes))
		return SIM_INVALID_VALUE;
	if (!address)
		return SIM_OK;
	sim_map_unmap(address, bytes);
	return sim_map_release(address, bytes);
}

int sim_ipc_name_event(struct sim_event *event, struct sim_ipc *to)
{
	struct handle handle = {.magic = EVENT, .pid = (int)getpid()};

	if (!sim_event_is_live(event) || !to)
		return SIM_INVALID_HANDLE;
	if (!(event->flags & 4) || !(event->flags & 2))
		return SIM_INVALID_VALUE;
	if (!event->shared) {
		event->file = memfd_create(SIM_SHARED_NAME "event", MFD_CLOEXEC);
		if (event->file < 0 || ftruncate(event->file, 4096))
			return SIM_OUT_OF_MEMORY;
		event->shared = sim_map_memory(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, event->file, 0);
		if (event->is_recorded)
			event->shared->time = event->time;
	}
	handle.file = event->file;
	memcpy(to, &handle, sizeof handle);
	return SIM_OK;
}

int sim_ipc_open_event(const struct sim_ipc *from, struct sim_event **event)
{
	struct handle handle;
	int file, result;

	memcpy(&handle, from, sizeof handle);
	file = handle.magic == EVENT && event ? open_of(&handle) : -1;
	if (file < 0)
		return SIM_INVALID_VALUE;
	result = sim_event_new(6, event);
	if (!result) {
		(*event)->file = file;
		(*event)->shared = sim_map_memory(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	}
	return result;
}

int sim_share_physical(uint64_t handle, int *file)
{
	*file = dup(sim_map_file(handle));
	return *file < 0 ? SIM_INVALID_VALUE : SIM_OK;
}

/* The name of the memory file says where it lies. */
int sim_share_import(int file, uint64_t *handle)
{
	char path[64], name[128] = "";
	struct sim_location location;
	struct stat facts;
	int copy, number;

	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	if (!handle || readlink(path, name, sizeof name - 1) < 0 || fstat(file, &facts) ||
	    sscanf(name, "/memfd:" SIM_SHARED_NAME "%d-%d", &location.type, &number) != 2)
		return SIM_INVALID_VALUE;
	location.id = location.type == 1 ? ordinal_of(number) : 0;
	copy = location.id < 0 ? -1 : dup(file);
	return copy < 0 ? SIM_INVALID_DEVICE : sim_map_import(location, copy, (size_t)facts.st_size, handle);
}

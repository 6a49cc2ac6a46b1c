/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is given back by nobody: what was allocated in a context ends with it, what a device held with its reset.
 *
 * Rule: a block ends with the context that was current when it was allocated, as the driver said then. A reset ends the primary
 * context, not those that cuCtxCreate made. Where the context is not known, a reset takes what lay on the device.
 */
#include "reducer/model/gpu_scan.h"

#include <stdlib.h>
#include <string.h>

#define VALUE(f) batch_value(batch, i, fields[f])
#define OWNERS_MAX NUMBER_MAP_MAX /* contexts of a process that are told apart */
#define OWN_LEAST 4u		  /* addresses */

enum { DEVICE_FLAVOUR = 1 }; /* as gpu_alloc.flavour: memory of a device */

/* What ended, on which stream of the log, when. */
struct ending {
	uint64_t context; /* handle, 0 = the device's primary one */
	uint32_t device;
	size_t stream;
	uint64_t time;
};

/* The place of a context. OWNERS_MAX = there are too many. */
static size_t owner_at(struct gpu_scan *scan, uint64_t context, uint32_t device)
{
	uint32_t place = number_map_find(&scan->owner_places, 0, context);
	struct gpu_owner *wider;

	if (place != NUMBER_MAP_NONE)
		return place;
	wider = scan->owner_count == OWNERS_MAX ? NULL : model_room(scan->owners, scan->owner_count, sizeof *wider);
	if (wider == NULL)
		return OWNERS_MAX;
	scan->owners = wider;
	if (number_map_set(&scan->owner_places, 0, context, (uint32_t)scan->owner_count) != 0)
		return OWNERS_MAX;
	wider[scan->owner_count] = (struct gpu_owner){.context = context, .device = device};
	return scan->owner_count++;
}

/* Whether a block that the context allocated lies there. */
static int has_block(struct gpu_scan *scan, size_t owner, uint64_t address)
{
	for (size_t i = 0; i < scan->block_count; i++) {
		struct live_entry *entry = live_find(&scan->blocks[i].owners, address);
		if (entry != NULL && live_get(&scan->blocks[i].owners, entry).usable == owner)
			return 1;
	}
	return 0;
}

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

/* Keeps those that lie there, each once. */
static void keep_own(struct gpu_scan *scan, size_t place)
{
	struct gpu_owner *owner = &scan->owners[place];
	uint32_t kept = 0;

	if (owner->count > 1)
		qsort(owner->own, owner->count, sizeof *owner->own, compare_addresses);
	for (uint32_t i = 0; i < owner->count; i++)
		if ((kept == 0 || owner->own[kept - 1] != owner->own[i]) && has_block(scan, place, owner->own[i]))
			owner->own[kept++] = owner->own[i];
	owner->count = kept;
}

/* Room for one more, half of which is free then. Returns -1 without memory. */
static int make_room(struct gpu_scan *scan, size_t place)
{
	struct gpu_owner *owner = &scan->owners[place];
	uint32_t room = owner->room == 0 ? OWN_LEAST : owner->room * 2;
	uint64_t *wider;

	keep_own(scan, place);
	if (owner->count < owner->room / 2)
		return 0;
	wider = room > owner->room ? realloc(owner->own, room * sizeof *wider) : NULL;
	if (wider == NULL)
		return -1;
	owner->own = wider;
	owner->room = room;
	return 0;
}

static void note_own(struct gpu_scan *scan, size_t place, uint64_t address)
{
	struct gpu_owner *owner = &scan->owners[place];

	if (!owner->is_lost && owner->count == owner->room)
		owner->is_lost = make_room(scan, place) != 0;
	if (!owner->is_lost)
		owner->own[owner->count++] = address;
}

void gpu_owner_note(struct gpu_scan *scan, struct gpu_blocks *blocks, uint64_t address, uint64_t context, uint32_t device)
{
	size_t owner = context == 0 ? OWNERS_MAX : owner_at(scan, context, device);
	uint64_t sum = 0;

	gpu_owner_forget(blocks, address);
	if (owner == OWNERS_MAX)
		return;
	if (scan->owners[owner].device == GPU_NONE)
		scan->owners[owner].device = device;
	live_settle(&blocks->owners, address, owner, 0, &sum);
	note_own(scan, owner, address);
}

void gpu_owner_forget(struct gpu_blocks *blocks, uint64_t address)
{
	struct live_entry *entry = live_find(&blocks->owners, address);

	if (entry != NULL)
		live_remove(&blocks->owners, entry);
}

static const struct gpu_owner *owner_of(const struct gpu_scan *scan, const struct gpu_blocks *blocks, uint64_t address)
{
	const struct live_entry *entry = live_find(&blocks->owners, address);

	return entry == NULL ? NULL : &scan->owners[live_get(&blocks->owners, entry).usable];
}

static int is_gone(const struct gpu_scan *scan, const struct gpu_blocks *blocks, uint64_t address, const struct ending *ending)
{
	const struct gpu_owner *owner = owner_of(scan, blocks, address);
	int is_of_device = blocks->flavour == DEVICE_FLAVOUR && (blocks->device == ending->device || blocks->device == GPU_NONE);

	if (ending->context != 0)
		return owner != NULL && owner->context == ending->context;
	if (owner != NULL && owner->device != GPU_NONE)
		return owner->device == ending->device && !owner->is_made;
	return is_of_device || scan->gpu->device_count <= 1; /* host memory of no known context: gone with the only device */
}

static void release_one(struct gpu_scan *scan, struct gpu_blocks *blocks, uint64_t address, const struct ending *ending)
{
	if (gpu_mapped_is(blocks, address))
		gpu_mapped_note(scan, blocks, &(struct live_block){.address = address, .time = ending->time}, 1);
	pairs_release(&blocks->calls, ending->stream, address, ending->time);
	gpu_owner_forget(blocks, address);
}

/* Of a context: as many as it has, not as there are. */
static void release_own(struct gpu_scan *scan, struct gpu_blocks *blocks, const struct gpu_owner *owner, const struct ending *ending)
{
	for (uint32_t i = 0; i < owner->count; i++)
		if (live_find(&blocks->calls.live, owner->own[i]) != NULL && is_gone(scan, blocks, owner->own[i], ending))
			release_one(scan, blocks, owner->own[i], ending);
}

/* The addresses first: giving back changes the table. */
static void release_gone(struct gpu_scan *scan, struct gpu_blocks *blocks, const struct ending *ending)
{
	const struct live_table *live = &blocks->calls.live;
	uint64_t *addresses = malloc((live->count + 1) * sizeof *addresses);
	size_t count = 0;

	if (addresses == NULL) {
		scan->gpu->counts.left_out++;
		return;
	}
	for (size_t i = 0; i < live->capacity && count < live->count; i++)
		if (live_is_block(&live->entries[i]) && is_gone(scan, blocks, live->entries[i].address, ending))
			addresses[count++] = live->entries[i].address;
	for (size_t i = 0; i < count; i++)
		release_one(scan, blocks, addresses[i], ending);
	free(addresses);
}

static void end(struct gpu_scan *scan, const struct ending *ending)
{
	uint32_t place = ending->context == 0 ? NUMBER_MAP_NONE : number_map_find(&scan->owner_places, 0, ending->context);
	struct gpu_owner *owner = place == NUMBER_MAP_NONE ? NULL : &scan->owners[place];

	if (ending->context != 0 && owner == NULL)
		return; /* nothing was allocated in it */
	for (size_t i = 0; i < scan->block_count; i++)
		if (owner != NULL && !owner->is_lost)
			release_own(scan, &scan->blocks[i], owner, ending);
		else
			release_gone(scan, &scan->blocks[i], ending);
	if (owner != NULL) { /* the handle may be given to another one */
		free(owner->own);
		*owner = (struct gpu_owner){.context = ending->context, .device = GPU_NONE};
	}
}

enum gpu_ending gpu_ending_of(const char *function)
{
	if (strcmp(function, "cudaDeviceReset") == 0 || strncmp(function, "cuDevicePrimaryCtxReset", 23) == 0)
		return GPU_ENDS_DEVICE;
	if (strncmp(function, "cuDevicePrimaryCtxRelease", 25) == 0)
		return GPU_ENDS_LAST_HOLDER;
	if (strncmp(function, "cuCtxDestroy", 12) == 0)
		return GPU_ENDS_CONTEXT;
	return strncmp(function, "cuCtxCreate", 11) == 0 ? GPU_MAKES_CONTEXT : GPU_ENDS_NOTHING;
}

void gpu_memory_context(struct gpu_scan *scan, const struct gpu_call *call, const struct gpu_arguments *arguments)
{
	uint64_t first = arguments->is_object ? arguments->values[0] : 0;
	struct ending ending = {.stream = call->stream, .time = call->begin, .device = GPU_NONE};
	size_t made;

	switch (scan->gpu->functions[call->function].ending) {
	case GPU_ENDS_DEVICE:
		ending.device = gpu_device_of_call(scan, call, arguments->is_object ? (uint32_t)first : GPU_NONE);
		end(scan, &ending);
		break;
	case GPU_ENDS_LAST_HOLDER:
		ending.device = (uint32_t)arguments->values[1];
		if (first != 0)
			end(scan, &ending);
		break;
	case GPU_ENDS_CONTEXT:
		ending.context = first;
		if (first != 0)
			end(scan, &ending);
		break;
	case GPU_MAKES_CONTEXT:
		made = first == 0 ? OWNERS_MAX : owner_at(scan, first, GPU_NONE);
		if (made != OWNERS_MAX)
			scan->owners[made].is_made = 1;
		break;
	default:
		break;
	}
}

void gpu_take_context_end(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct gpu_scan *scan = state;
	const struct ending ending = {.context = VALUE(0), .stream = stream, .time = batch->times[i], .device = GPU_NONE};

	scan->any = 1;
	if (ending.context != 0)
		end(scan, &ending);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of devices, managed and pinned memory: allocation, release, what an address is, free and total.
 *
 * Rule: free memory of a device = capacity - what the system took - segments in use - what pools hold in reserve.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "inner.h"

#define VISIBLE_BYTES ((size_t)64 << 30)	/* addresses for managed and for pinned memory each */
#define REGISTERED_MAX 4096

static struct sim_arena *managed, *pinned;	/* made at first use; all under the lock */
static struct sim_block registered[REGISTERED_MAX];
static uint64_t alloc_calls;

struct fault {
	uint64_t number;
	int result;
};

static void look_for_fault(const char *value, void *user)
{
	struct fault *fault = user;
	char *rest;
	uint64_t number = strtoull(value, &rest, 0);

	if (number == fault->number)
		fault->result = atoi(rest);
}

/* The error planted for this allocation. */
static int planted(void)
{
	struct fault fault = {0};

	sim_lock();
	fault.number = ++alloc_calls;
	sim_unlock();
	sim_scenario_each("fault_alloc", look_for_fault, &fault);
	return fault.result;
}

size_t sim_machine_free(const struct sim_machine *machine)
{
	size_t taken = machine->facts.reserved_by_system + sim_arena_used(machine->arena) + machine->pool_spare +
		sim_map_bytes(machine->facts.ordinal);

	return taken < machine->facts.capacity ? machine->facts.capacity - taken : 0;
}

/* More is in use than the device has. Asked after a block was taken: a small one may lie in a segment that is in use. */
bool sim_machine_is_over(const struct sim_machine *machine)
{
	return machine->facts.reserved_by_system + sim_arena_used(machine->arena) + machine->pool_spare +
		sim_map_bytes(machine->facts.ordinal) > machine->facts.capacity;
}

static void tell(uint8_t operation, const struct sim_block *block, const char *name)
{
	struct sim_memory event = {.operation = operation, .kind = block->kind, .stream_id = SIM_NONE, .device = block->device,
				   .address = block->address, .bytes = block->asked, .name = name};

	event.context_id = sim_context_is_live(block->context) ? block->context->id : 0;
	sim_tell_memory(&event);
}

static void describe(struct sim_block *block, struct sim_context *context, size_t bytes, uint8_t kind, uint8_t origin)
{
	block->asked = bytes;
	block->kind = kind;
	block->origin = origin;
	block->context = context;
	block->device = kind == 2 ? -1 : context->machine->facts.ordinal;
}

static int alloc_device(struct sim_context *context, size_t bytes, uint8_t origin, struct sim_block **made)
{
	struct sim_machine *machine = context->machine;
	struct sim_block *block = NULL;

	sim_lock();
	block = sim_arena_take(machine->arena, bytes, 0);
	if (block && sim_machine_is_over(machine)) {
		sim_arena_give(machine->arena, block);
		block = NULL;
	}
	if (block)
		describe(block, context, bytes, 3, origin);
	sim_unlock();
	*made = block;
	return block ? SIM_OK : SIM_OUT_OF_MEMORY;
}

int sim_memory_alloc(struct sim_context *context, size_t bytes, uint64_t *address)
{
	struct sim_block *block;
	int result;

	if (!address || !bytes)
		return SIM_INVALID_VALUE;
	if ((result = planted()) || (result = alloc_device(context, bytes, SIM_FROM_ALLOC, &block)))
		return result;
	*address = block->address;
	tell(1, block, NULL);
	return SIM_OK;
}

struct sim_block *sim_memory_static(struct sim_context *context, const char *name, size_t bytes)
{
	struct sim_block *block;

	if (alloc_device(context, bytes ? bytes : 1, SIM_FROM_MODULE, &block))
		return NULL;
	block->kind = 6;
	tell(1, block, name);
	return block;
}

static int alloc_visible(struct sim_context *context, struct sim_arena **arena, size_t bytes, uint8_t kind, uint8_t origin,
		uint64_t *address)
{
	struct sim_block *block;
	int result;

	if (!address || !bytes)
		return SIM_INVALID_VALUE;
	if ((result = planted()))
		return result;
	sim_lock();
	if (!*arena)
		*arena = sim_arena_new(VISIBLE_BYTES, true);
	block = sim_arena_take(*arena, bytes, 4096);
	if (block)
		describe(block, context, bytes, kind, origin);
	sim_unlock();
	if (!block)
		return SIM_OUT_OF_MEMORY;
	*address = block->address;
	tell(1, block, NULL);
	return SIM_OK;
}

int sim_memory_alloc_managed(struct sim_context *context, size_t bytes, unsigned flags, uint64_t *address)
{
	return flags == 1 || flags == 2 ? alloc_visible(context, &managed, bytes, 5, SIM_FROM_MANAGED, address) : SIM_INVALID_VALUE;
}

int sim_memory_alloc_host(struct sim_context *context, size_t bytes, unsigned flags, void **address)
{
	uint64_t place = 0;
	int result = flags > 7 || !address ? SIM_INVALID_VALUE :
		alloc_visible(context, &pinned, bytes, 2, SIM_FROM_HOST, &place);

	if (!result)
		*address = (void *)(uintptr_t)place;
	return result;
}

/* Finds the block that begins at the address and the arena it lies in. */
static struct sim_block *block_at(uint64_t address, struct sim_arena **arena)
{
	struct sim_block *block = NULL;

	for (int i = 0; i < sim_device_count() && !block; i++) {
		*arena = sim_machine_at(i)->arena;
		block = sim_arena_find(*arena, address);
	}
	if (!block) {
		*arena = managed;
		block = sim_arena_find(managed, address);
	}
	return block && block->address == address && !block->is_dying ? block : NULL;
}

static void settle(void)
{
	for (int i = 0; i < sim_device_count(); i++) {
		uint64_t tail;

		sim_lock();
		tail = sim_machine_at(i)->tail;
		sim_unlock();
		sim_wait_until(tail);
	}
}

int sim_memory_free(struct sim_context *context, uint64_t address)
{
	struct sim_arena *arena;
	struct sim_block *block, copy;

	(void)context;
	if (!address)
		return SIM_INVALID_VALUE;
	settle();
	sim_lock();
	block = block_at(address, &arena);
	if (!block || block->origin == SIM_FROM_ARRAY || block->origin == SIM_FROM_MODULE) {
		sim_unlock();
		return SIM_INVALID_VALUE;
	}
	copy = *block;
	if (block->origin == SIM_FROM_POOL) {
		sim_unlock();
		return sim_pool_free(NULL, address);
	}
	block->is_dying = true;
	sim_unlock();
	tell(2, &copy, NULL);
	sim_lock();
	sim_arena_give(arena, block);
	sim_unlock();
	return SIM_OK;
}

int sim_memory_free_host(struct sim_context *context, void *address)
{
	struct sim_block *block, copy;

	(void)context;
	settle();
	sim_lock();
	block = sim_arena_find(pinned, (uintptr_t)address);
	if (!block || block->address != (uintptr_t)address || block->is_dying) {
		sim_unlock();
		return SIM_INVALID_VALUE;
	}
	block->is_dying = true;
	copy = *block;
	sim_unlock();
	tell(2, &copy, NULL);
	sim_lock();
	sim_arena_give(pinned, block);
	sim_unlock();
	return SIM_OK;
}

int sim_memory_register(struct sim_context *context, void *address, size_t bytes, unsigned flags)
{
	struct sim_block *room = NULL;
	uint64_t at = (uintptr_t)address;

	if (!address || !bytes)
		return SIM_INVALID_VALUE;
	sim_lock();
	for (struct sim_block *block = registered; block < registered + REGISTERED_MAX; block++) {
		if (!block->asked) {
			room = room ? room : block;
			continue;
		}
		if (at < block->address + block->asked && block->address < at + bytes) {
			sim_unlock();
			return SIM_HOST_REGISTERED;
		}
	}
	if (room)
		*room = (struct sim_block){.address = at, .bytes = bytes, .asked = bytes, .kind = 2, .origin = SIM_FROM_REGISTER,
					   .device = -1, .context = context, .flags = flags};
	sim_unlock();
	return room ? SIM_OK : SIM_OUT_OF_MEMORY;
}

static struct sim_block *registered_at(uint64_t address)
{
	for (struct sim_block *block = registered; block < registered + REGISTERED_MAX; block++)
		if (block->asked && address >= block->address && address < block->address + block->asked)
			return block;
	return NULL;
}

int sim_memory_unregister(struct sim_context *context, void *address)
{
	struct sim_block *block;

	(void)context;
	settle();
	sim_lock();
	block = registered_at((uintptr_t)address);
	if (block && block->address == (uintptr_t)address)
		block->asked = 0;
	else
		block = NULL;
	sim_unlock();
	return block ? SIM_OK : SIM_HOST_NOT_REGISTERED;
}

int sim_memory_info(struct sim_context *context, size_t *free_bytes, size_t *total)
{
	struct sim_machine *machine = context->machine;

	if (!free_bytes || !total)
		return SIM_INVALID_VALUE;
	sim_lock();
	*free_bytes = sim_machine_free(machine);
	*total = machine->facts.capacity;
	sim_unlock();
	sim_oracle("info\t%d\t%zu\t%zu\t%llu", machine->facts.ordinal, *free_bytes, *total, (unsigned long long)sim_clock_now());
	return SIM_OK;
}

void sim_place_of(uint64_t address, struct sim_place *place)
{
	struct sim_arena *arena = NULL;
	struct sim_block *block = NULL;

	*place = (struct sim_place){.kind = 1, .device = -1, .base = address, .host = (char *)(uintptr_t)address};
	if (sim_map_place(address, place))
		return;
	sim_lock();
	for (int i = 0; i < sim_device_count() && !block; i++) {
		arena = sim_machine_at(i)->arena;
		block = sim_arena_find(arena, address);
	}
	if (!block && (block = sim_arena_find(managed, address)))
		arena = managed;
	if (!block && (block = sim_arena_find(pinned, address)))
		arena = pinned;
	if (block)
		place->host = sim_arena_host(arena, address);
	else
		block = registered_at(address);
	if (block) {
		place->kind = block->kind == 6 ? 3 : block->kind;
		place->device = block->device;
		place->base = block->address;
		place->bytes = block->asked;
		place->block = block;
	}
	sim_unlock();
}

struct sweep {
	struct sim_context *context;
	struct sim_arena *arena;
	struct sim_block *found;
};

static void find_owned(struct sim_block *block, void *user)
{
	struct sweep *sweep = user;

	if (block->context == sweep->context && !sweep->found)
		sweep->found = block;
}

/* What a context leaves is released with it. */
void sim_memory_drop_context(struct sim_context *context)
{
	struct sim_arena *arenas[] = {context->machine->arena, managed, pinned};

	sim_lock();
	for (struct sim_block *block = registered; block < registered + REGISTERED_MAX; block++)
		if (block->context == context)
			block->asked = 0;
	sim_unlock();
	for (int i = 0; i < 3; i++) {
		struct sweep sweep = {.context = context, .arena = arenas[i]};

		do {
			sweep.found = NULL;
			sim_lock();
			sim_arena_each(sweep.arena, find_owned, &sweep);
			if (sweep.found && sweep.found->pool)
				sweep.found->pool->used -= sweep.found->bytes;
			sim_unlock();
			if (!sweep.found)
				break;
			tell(2, sweep.found, NULL);
			sim_lock();
			sim_arena_give(sweep.arena, sweep.found);
			sim_unlock();
		} while (sweep.found);
	}
}

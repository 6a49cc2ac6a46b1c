/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver functions of devices and contexts.
 *
 * Rule: thin; what happens, happens in the core.
 */
#include <stdio.h>
#include <string.h>

#include "driver.h"

int do_cuDeviceGet(int *device, int ordinal)
{
	if (!device)
		return SIM_INVALID_VALUE;
	if (!sim_device_at(ordinal))
		return SIM_INVALID_DEVICE;
	*device = ordinal;
	return SIM_OK;
}

int do_cuDeviceGetCount(int *count)
{
	if (!count)
		return SIM_INVALID_VALUE;
	*count = sim_device_count();
	return SIM_OK;
}

int do_cuDeviceGetName(const char *name, int size, int device)
{
	struct sim_device *facts = sim_device_at(device);

	if (!facts)
		return SIM_INVALID_DEVICE;
	if (!name || size <= 0)
		return SIM_INVALID_VALUE;
	snprintf((char *)(uintptr_t)name, (size_t)size, "%s", facts->name);
	return SIM_OK;
}

int do_cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	struct sim_device *facts = sim_device_at(device);

	if (!bytes)
		return SIM_INVALID_VALUE;
	if (!facts)
		return SIM_INVALID_DEVICE;
	*bytes = facts->capacity;
	return SIM_OK;
}

int do_cuDeviceComputeCapability(int *major, int *minor, int device)
{
	struct sim_device *facts = sim_device_at(device);

	if (!major || !minor)
		return SIM_INVALID_VALUE;
	if (!facts)
		return SIM_INVALID_DEVICE;
	*major = facts->major;
	*minor = facts->minor;
	return SIM_OK;
}

int do_cuDeviceGetUuid_v2(void *uuid, int device)
{
	struct sim_device *facts = sim_device_at(device);

	if (!uuid)
		return SIM_INVALID_VALUE;
	if (!facts)
		return SIM_INVALID_DEVICE;
	memcpy(uuid, facts->uuid, sizeof facts->uuid);
	return SIM_OK;
}

int do_cuDeviceGetUuid(void *uuid, int device)
{
	if (!uuid)
		return SIM_INVALID_VALUE;
	return do_cuDeviceGetUuid_v2(uuid, device);
}

int do_cuDeviceGetPCIBusId(const char *text, int size, int device)
{
	struct sim_device *facts = sim_device_at(device);

	if (!facts)
		return SIM_INVALID_DEVICE;
	snprintf((char *)(uintptr_t)text, (size_t)size, "%08x:%02x:%02x.0", facts->pci_domain, facts->pci_bus, facts->pci_device);
	return SIM_OK;
}

int do_cuDeviceGetByPCIBusId(int *device, const char *text)
{
	unsigned domain = 0, bus = 0, slot = 0;

	if (!device || !text)
		return SIM_INVALID_VALUE;
	if (sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3)
		return SIM_INVALID_VALUE;
	for (int i = 0; i < sim_device_count(); i++)
		if (sim_device_at(i)->pci_bus == (int)bus) {
			*device = i;
			return SIM_OK;
		}
	return SIM_INVALID_DEVICE;
}

/* CUdevice_attribute to fact. What is not listed is 0: not there. */
int do_cuDeviceGetAttribute(int *value, int attribute, int device)
{
	struct sim_device *f = sim_device_at(device);

	if (!f)
		return SIM_INVALID_DEVICE;
	if (!value || attribute < 1)
		return SIM_INVALID_VALUE;
	const struct {
		int attribute, value;
	} rows[] = {
		{1, f->max_threads_per_block}, {2, f->max_block[0]}, {3, f->max_block[1]}, {4, f->max_block[2]},
		{5, f->max_grid[0]}, {6, f->max_grid[1]}, {7, f->max_grid[2]}, {8, (int)f->shared_per_block},
		{9, (int)f->constant_bytes}, {10, f->warp_size}, {11, 2147483647}, {12, f->registers_per_block},
		{13, f->clock_khz}, {14, 512}, {15, 1}, {16, f->sm_count}, {18, 0}, {19, 1}, {20, 0}, {31, 1}, {32, 1},
		{33, f->pci_bus}, {34, f->pci_device}, {36, f->memory_clock_khz}, {37, f->memory_bus_bits},
		{38, (int)f->l2_bytes}, {39, f->max_threads_per_sm}, {40, f->copy_engines}, {41, 1}, {50, f->pci_domain},
		{75, f->major}, {76, f->minor}, {78, 1}, {79, 1}, {80, 1}, {81, (int)f->shared_per_sm},
		{82, f->registers_per_sm}, {83, 1}, {86, 1}, {89, 1}, {90, 1}, {91, 1}, {95, 1}, {97, (int)f->shared_per_block_optin},
		{99, 1}, {102, 1}, {106, f->max_blocks_per_sm}, {111, 1024}, {115, 1}, {118, 0}, {120, 1},
	};
	*value = 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].attribute == attribute)
			*value = rows[i].value;
	return SIM_OK;
}

int do_cuDeviceCanAccessPeer(int *can, int device, int peer)
{
	if (!can)
		return SIM_INVALID_VALUE;
	if (!sim_device_at(device) || !sim_device_at(peer))
		return SIM_INVALID_DEVICE;
	*can = device != peer && sim_setting("peer_access", 1);
	return SIM_OK;
}

int do_cuDeviceGetP2PAttribute(int *value, int attribute, int from, int to)
{
	if (!sim_device_at(from) || !sim_device_at(to) || from == to)
		return SIM_INVALID_DEVICE;
	*value = attribute == 1 ? 0 : (int)sim_setting("peer_access", 1);
	return SIM_OK;
}

int do_cuDevicePrimaryCtxRetain(void **context, int device)
{
	struct sim_machine *machine = sim_machine_at(device);

	if (!machine)
		return SIM_INVALID_DEVICE;
	return context ? sim_primary_retain(machine, (struct sim_context **)context) : SIM_INVALID_VALUE;
}

int do_cuDevicePrimaryCtxRelease_v2(int device)
{
	struct sim_machine *machine = sim_machine_at(device);

	return machine ? sim_primary_release(machine, false) : SIM_INVALID_DEVICE;
}

int do_cuDevicePrimaryCtxReset_v2(int device)
{
	struct sim_machine *machine = sim_machine_at(device);

	return machine ? sim_primary_release(machine, true) : SIM_INVALID_DEVICE;
}

int do_cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *is_active)
{
	struct sim_machine *machine = sim_machine_at(device);

	if (!flags || !is_active)
		return SIM_INVALID_VALUE;
	if (!machine)
		return SIM_INVALID_DEVICE;
	*flags = machine->primary_flags;
	*is_active = sim_context_is_live(machine->primary);
	return SIM_OK;
}

int do_cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)
{
	struct sim_machine *machine = sim_machine_at(device);

	if (!machine)
		return SIM_INVALID_DEVICE;
	machine->primary_flags = flags;
	return SIM_OK;
}

int do_cuCtxCreate_v2(void **context, unsigned flags, int device)
{
	struct sim_machine *machine = sim_machine_at(device);
	struct sim_context *made;
	int result;

	if (!machine)
		return SIM_INVALID_DEVICE;
	if (!context)
		return SIM_INVALID_VALUE;
	result = sim_context_new(machine, flags, false, &made);
	if (result)
		return result;
	*context = made;
	return sim_context_push(made);
}

int do_cuCtxCreate_v3(void **context, void *affinity, int count, unsigned flags, int device)
{
	(void)affinity;
	(void)count;
	return do_cuCtxCreate_v2(context, flags, device);
}

int do_cuCtxCreate_v4(void **context, void *parameters, unsigned flags, int device)
{
	(void)parameters;
	return do_cuCtxCreate_v2(context, flags, device);
}

int do_cuCtxDestroy_v2(void *context)
{
	return sim_context_destroy(context);
}

int do_cuCtxPushCurrent_v2(void *context)
{
	return sim_context_push(context);
}

int do_cuCtxPopCurrent_v2(void **context)
{
	struct sim_context *popped;
	int result = sim_context_pop(&popped);

	if (!result && context)
		*context = popped;
	return result;
}

int do_cuCtxSetCurrent(void *context)
{
	return sim_context_set_current(context);
}

int do_cuCtxGetCurrent(void **context)
{
	if (!context)
		return SIM_INVALID_VALUE;
	*context = sim_context_current();
	return SIM_OK;
}

int do_cuCtxGetDevice(int *device)
{
	struct sim_context *context = sim_context_current();

	if (!device)
		return SIM_INVALID_VALUE;
	if (!sim_context_is_live(context))
		return SIM_INVALID_CONTEXT;
	*device = context->machine->facts.ordinal;
	return SIM_OK;
}

int do_cuCtxGetDevice_v2(int *device, void *context)
{
	struct sim_context *of = context ? context : sim_context_current();

	if (!device)
		return SIM_INVALID_VALUE;
	if (!sim_context_is_live(of))
		return SIM_INVALID_CONTEXT;
	*device = of->machine->facts.ordinal;
	return SIM_OK;
}

int do_cuCtxGetFlags(unsigned *flags)
{
	struct sim_context *context;
	int result = sim_here(&context);

	if (!flags)
		return SIM_INVALID_VALUE;
	if (!result)
		*flags = context->flags;
	return result;
}

int do_cuCtxGetId(void *handle, uint64_t *id)
{
	struct sim_context *context = handle ? handle : sim_context_current();

	if (!id)
		return SIM_INVALID_VALUE;
	if (!sim_context_is_live(context))
		return SIM_INVALID_CONTEXT;
	*id = context->id;
	return SIM_OK;
}

int do_cuCtxGetLimit(size_t *value, int limit)
{
	struct sim_context *context;
	int result = sim_here(&context);

	if (!value)
		return SIM_INVALID_VALUE;
	if (result)
		return result;
	if (limit < 0 || limit > 7)
		return SIM_INVALID_VALUE;
	*value = context->limits[limit];
	return SIM_OK;
}

int do_cuCtxSetLimit(int limit, size_t value)
{
	struct sim_context *context;
	int result = sim_here(&context);

	if (result)
		return result;
	if (limit < 0 || limit > 7)
		return SIM_INVALID_VALUE;
	context->limits[limit] = value;
	return SIM_OK;
}

static int synchronize(struct sim_context *context)
{
	int result = sim_capture_forbids_in(context);

	return result ? result : sim_context_wait(context);
}

int do_cuCtxSynchronize(void)
{
	struct sim_context *context;
	int result = sim_here(&context);

	return result ? result : synchronize(context);
}

int do_cuCtxSynchronize_v2(void *of)
{
	struct sim_context *context = of ? of : sim_context_current();

	return sim_context_is_live(context) ? synchronize(context) : SIM_INVALID_CONTEXT;
}

int do_cuCtxGetApiVersion(void *context, unsigned *version)
{
	if (!version)
		return SIM_INVALID_VALUE;
	(void)context;
	*version = 3020;
	return SIM_OK;
}

int do_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return SIM_OK;
}

int do_cuCtxEnablePeerAccess(void *handle, unsigned flags)
{
	struct sim_context *context, *peer = handle;
	int result = sim_here(&context);

	if (result)
		return result;
	if (flags || !sim_context_is_live(peer))
		return flags ? SIM_INVALID_VALUE : SIM_INVALID_CONTEXT;
	if (!sim_setting("peer_access", 1) || peer->machine == context->machine)
		return SIM_PEER_UNSUPPORTED;
	if (context->peers >> peer->machine->facts.ordinal & 1)
		return SIM_PEER_ENABLED;
	context->peers |= 1u << peer->machine->facts.ordinal;
	return SIM_OK;
}

int do_cuCtxDisablePeerAccess(void *handle)
{
	struct sim_context *context, *peer = handle;
	int result = sim_here(&context);

	if (result)
		return result;
	if (!sim_context_is_live(peer) || !(context->peers >> peer->machine->facts.ordinal & 1))
		return SIM_PEER_NOT_ENABLED;
	context->peers &= ~(1u << peer->machine->facts.ordinal);
	return SIM_OK;
}

int do_cuCtxGetCacheConfig(void *config)
{
	if (!config)
		return SIM_INVALID_VALUE;
	*(int *)config = 0;
	return SIM_OK;
}

int do_cuCtxSetCacheConfig(int config)
{
	(void)config;
	return SIM_OK;
}

int do_cuCtxResetPersistingL2Cache(void)
{
	return SIM_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver functions of memory that processes or devices share: IPC, shareable handles, multicast objects.
 *
 * Rule: thin; what happens, happens in core_share.c. A multicast object is physical memory of no device's account.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"

int do_cuIpcGetMemHandle(void *handle, uint64_t address)
{
	return sim_ipc_name(address, handle);
}

int do_cuIpcOpenMemHandle_v2(uint64_t *address, struct sim_ipc handle, unsigned flags)
{
	struct sim_context *context;
	int here = sim_here(&context);

	if (here)
		return here;
	return flags == 1 ? sim_ipc_open(context, &handle, address) : SIM_INVALID_VALUE;
}

int do_cuIpcCloseMemHandle(uint64_t address)
{
	return sim_ipc_close(address);
}

int do_cuIpcGetEventHandle(void *handle, void *event)
{
	return sim_ipc_name_event(event, handle);
}

int do_cuIpcOpenEventHandle(void **event, struct sim_ipc handle)
{
	return sim_ipc_open_event(&handle, (struct sim_event **)event);
}

/* CUmemAllocationHandleType: 1 a file descriptor. */
int do_cuMemExportToShareableHandle(void *to, uint64_t handle, int type, uint64_t flags)
{
	if (type != 1)
		return SIM_NOT_SUPPORTED;
	return to && !flags ? sim_share_physical(handle, to) : SIM_INVALID_VALUE;
}

int do_cuMemImportFromShareableHandle(uint64_t *handle, void *shared, int type)
{
	return type == 1 ? sim_share_import((int)(uintptr_t)shared, handle) : SIM_NOT_SUPPORTED;
}

int do_cuMemRetainAllocationHandle(uint64_t *handle, void *address)
{
	return handle ? sim_map_retain((uintptr_t)address, handle) : SIM_INVALID_VALUE;
}

/* CUmulticastObjectProp: number of devices, bytes at 8. */
int do_cuMulticastCreate(uint64_t *handle, void *properties)
{
	size_t bytes;
	int file;

	if (!handle || !properties)
		return SIM_INVALID_VALUE;
	memcpy(&bytes, (const char *)properties + 8, sizeof bytes);
	file = memfd_create(SIM_SHARED_NAME "multicast", MFD_CLOEXEC);
	if (file < 0 || ftruncate(file, (off_t)bytes))
		return SIM_OUT_OF_MEMORY;
	return sim_map_import((struct sim_location){1, 0}, file, bytes, handle);
}

int do_cuMulticastAddDevice(uint64_t handle, int device)
{
	return sim_map_file(handle) >= 0 && sim_machine_at(device) ? SIM_OK : SIM_INVALID_VALUE;
}

int do_cuMulticastBindMem(uint64_t handle, size_t offset, uint64_t memory, size_t from, size_t bytes, uint64_t flags)
{
	(void)offset;
	(void)from;
	return !flags && bytes && sim_map_file(handle) >= 0 && sim_map_file(memory) >= 0 ? SIM_OK : SIM_INVALID_VALUE;
}

int do_cuMulticastUnbind(uint64_t handle, int device, size_t offset, size_t bytes)
{
	(void)offset;
	return bytes && sim_map_file(handle) >= 0 && sim_machine_at(device) ? SIM_OK : SIM_INVALID_VALUE;
}

int do_cuMulticastGetGranularity(size_t *bytes, void *properties, int option)
{
	(void)option;
	if (!bytes || !properties)
		return SIM_INVALID_VALUE;
	*bytes = (size_t)2 << 20;
	return SIM_OK;
}

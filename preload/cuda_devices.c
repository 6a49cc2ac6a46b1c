/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver says of the process's devices, where CUPTI does not: names, UUIDs, sizes. See preload/cuda_hooks.h.
 *
 * Without UUIDs two processes to which CUDA_VISIBLE_DEVICES shows different devices would call them the same. Rule: asked once, after
 * a call that gave a device work, or where CUPTI told of work and of no device; what the driver refuses is 0.
 */
#include "preload/cuda_hooks.h"

#include "collectors/gpu_calls.h"
#include "writer/records.h"
#include "writer/store.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define NAME_BYTES 256
#define MOST 64 /* devices of a process */

/* CUdevice_attribute */
enum { BLOCK_SHARED = 8, WARP = 10, CLOCK_KHZ = 13, MULTIPROCESSORS = 16, MEMORY_KHZ = 36, BUS_BITS = 37, L2_BYTES = 38 };
enum { THREADS = 39, MAJOR = 75, MINOR = 76, SHARED = 81, REGISTERS = 82, BLOCKS = 106 }; /* of a multiprocessor, but the version */

static uint64_t attribute(int device, int which)
{
	static struct tfp_cuda_slot slot;
	int (*ask)(int *, int, int) = (int (*)(int *, int, int))tfp_cuda_driver(&slot, "cuDeviceGetAttribute"), value = 0;

	return ask && ask(&value, which, device) == 0 && value > 0 ? (uint64_t)value : 0;
}

static uint64_t total_bytes(int device)
{
	static struct tfp_cuda_slot slot;
	int (*ask)(size_t *, int) = (int (*)(size_t *, int))tfp_cuda_driver(&slot, "cuDeviceTotalMem_v2");
	size_t bytes = 0;

	return ask && ask(&bytes, device) == 0 ? bytes : 0;
}

/* Of a MIG instance its own, where the driver has the newer function. */
static int read_uuid(int device, uint8_t bytes[16])
{
	static struct tfp_cuda_slot newer, older;
	int (*ask)(uint8_t *, int) = (int (*)(uint8_t *, int))tfp_cuda_driver(&newer, "cuDeviceGetUuid_v2");

	if (!ask)
		ask = (int (*)(uint8_t *, int))tfp_cuda_driver(&older, "cuDeviceGetUuid");
	return ask && ask(bytes, device) == 0;
}

#define NUMBER(value) {.number = (value)}

static void note(int device)
{
	static struct tfp_cuda_slot slot;
	int (*ask_name)(char *, int, int) = (int (*)(char *, int, int))tfp_cuda_driver(&slot, "cuDeviceGetName");
	char name[NAME_BYTES] = "";
	uint8_t uuid[16];
	uint64_t warp = attribute(device, WARP);

	if (!read_uuid(device, uuid))
		return;
	if (!ask_name || ask_name(name, NAME_BYTES - 1, device) != 0)
		name[0] = 0;
	const struct tfp_fact_field fields[] = {
		NUMBER((uint64_t)device),
		{.is_text = 1, .text = {name, tfp_length(name)}},
		{.is_text = 1, .text = {(const char *)uuid, sizeof uuid}},
		NUMBER(attribute(device, MAJOR)),
		NUMBER(attribute(device, MINOR)),
		NUMBER(attribute(device, MULTIPROCESSORS)),
		NUMBER(total_bytes(device)),
		NUMBER(attribute(device, MEMORY_KHZ) * 1000 * 2 * attribute(device, BUS_BITS) / 8), /* two bits a line and clock */
		NUMBER(attribute(device, CLOCK_KHZ) * 1000),
		NUMBER(attribute(device, L2_BYTES)),
		NUMBER(warp),
		NUMBER(warp ? attribute(device, THREADS) / warp : 0),
		NUMBER(attribute(device, BLOCKS)),
		NUMBER(attribute(device, SHARED)),
		NUMBER(attribute(device, REGISTERS)),
		NUMBER(attribute(device, BLOCK_SHARED)),
		NUMBER(0),
	};
	tfp_store_fact(TFP_TAG_device, fields, sizeof fields / sizeof fields[0]);
}

void tfp_cuda_devices_note(void)
{
	static struct tfp_cuda_slot of_count, of_device;
	int (*ask_count)(int *), (*ask)(int *, int), count = 0, device;

	int error = tfp_cuda_asking();
	ask_count = (int (*)(int *))tfp_cuda_driver(&of_count, "cuDeviceGetCount");
	ask = (int (*)(int *, int))tfp_cuda_driver(&of_device, "cuDeviceGet");
	if (ask_count && ask && ask_count(&count) == 0)
		for (int i = 0; i < count && i < MOST; i++)
			if (ask(&device, i) == 0)
				note(device);
	tfp_cuda_asked(error);
}

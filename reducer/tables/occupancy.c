/* SPDX-License-Identifier: Apache-2.0 */
/* Theoretical occupancy. See occupancy.h. */
#include "reducer/tables/occupancy.h"

#include <stdio.h>
#include <string.h>

#define THREADS_OF_WARP 32u
#define THREADS_OF_BLOCK 1024u /* most, on every device since 2.0 */
#define PARTITIONS 4u          /* of a multiprocessor, since 7.0: each has its own registers */
#define REGISTER_UNIT 256u     /* registers are given to warps in such units */
#define REGISTERS_OF_THREAD 256u

/* What a multiprocessor has, by compute capability; from NVIDIA's programming guide. */
static const struct capability {
	unsigned major, minor, warps, blocks, shared_kib;
} capabilities[] = {
	{7, 0, 64, 32, 96},   {7, 2, 64, 32, 96},   {7, 5, 32, 16, 64},   {8, 0, 64, 32, 164}, {8, 6, 48, 16, 100},
	{8, 7, 48, 16, 164},  {8, 9, 48, 24, 100},  {9, 0, 64, 32, 228},  {10, 0, 64, 32, 228}, {10, 1, 48, 24, 228},
	{10, 3, 64, 32, 228}, {11, 0, 48, 24, 228}, {12, 0, 48, 24, 100}, {12, 1, 48, 24, 100},
};

static const struct capability *capability_of(unsigned major, unsigned minor)
{
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++)
		if (capabilities[i].major == major && capabilities[i].minor == minor)
			return &capabilities[i];
	return NULL;
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

/* Blocks whose registers fit; UINT64_MAX = no limit. */
static uint64_t by_registers(const struct occupancy_kernel *kernel, uint64_t warps, uint64_t registers)
{
	uint64_t of_warp = round_up(kernel->registers * THREADS_OF_WARP, REGISTER_UNIT);

	if (kernel->registers == 0)
		return UINT64_MAX;
	if (kernel->registers > REGISTERS_OF_THREAD || of_warp * round_up(warps, PARTITIONS) > registers)
		return 0;
	return registers / PARTITIONS / of_warp * PARTITIONS / warps;
}

/* Blocks whose shared memory fits. The driver keeps 1 KiB of each block's from 8.0 on, and gives it out in larger units before. */
static uint64_t by_shared(const struct occupancy_kernel *kernel, unsigned major, uint64_t capacity)
{
	uint64_t of_block = major >= 8 ? round_up(kernel->shared_bytes + 1024, 128) : round_up(kernel->shared_bytes, 256);

	return of_block == 0 ? UINT64_MAX : capacity / of_block;
}

bool occupancy_of(const struct occupancy_device *device, const struct occupancy_kernel *kernel, struct occupancy *result)
{
	const struct capability *known = capability_of(device->major, device->minor);
	uint64_t warps = (kernel->threads + THREADS_OF_WARP - 1) / THREADS_OF_WARP, limits[4], least = UINT64_MAX;
	uint64_t registers = device->registers ? device->registers : 65536;

	if (device->major < 7 || kernel->threads == 0 || kernel->threads > THREADS_OF_BLOCK)
		return false;
	if (!known && (!device->warps || !device->blocks || !device->shared_bytes))
		return false;
	result->most_warps = device->warps ? device->warps : known->warps;
	limits[0] = result->most_warps / warps;
	limits[1] = by_registers(kernel, warps, registers);
	limits[2] = by_shared(kernel, device->major,
			      device->shared_bytes ? device->shared_bytes : (uint64_t)known->shared_kib * 1024);
	limits[3] = device->blocks ? device->blocks : known->blocks;
	result->limits = 0;
	for (unsigned i = 0; i < 4; i++)
		least = limits[i] < least ? limits[i] : least;
	for (unsigned i = 0; i < 4; i++)
		if (limits[i] == least)
			result->limits |= 1u << i;
	result->blocks = least;
	result->warps = least * warps;
	return true;
}

bool occupancy_of_launch(const struct gpu_device *device, const struct gpu_shape *shape, struct occupancy *result)
{
	const struct occupancy_kernel kernel = {(uint64_t)shape->block[0] * shape->block[1] * shape->block[2], shape->registers,
						(uint64_t)shape->static_shared + shape->dynamic_shared};

	if (!device || shape->block[0] > THREADS_OF_BLOCK || shape->block[1] > THREADS_OF_BLOCK || shape->block[2] > THREADS_OF_BLOCK)
		return false;
	return occupancy_of(&(struct occupancy_device){.major = (unsigned)device->major,
						       .minor = (unsigned)device->minor,
						       .warps = device->warps,
						       .blocks = device->blocks,
						       .registers = device->registers,
						       .shared_bytes = device->shared_bytes},
			    &kernel, result) &&
	       result->most_warps != 0;
}

const char *occupancy_limit_text(unsigned limits, char text[64])
{
	static const char *const names[] = {"warps", "registers", "shared memory", "blocks"};

	text[0] = 0;
	for (unsigned i = 0; i < 4; i++)
		if (limits >> i & 1)
			snprintf(text + strlen(text), 64 - strlen(text), "%s%s", text[0] ? "+" : "", names[i]);
	return text;
}

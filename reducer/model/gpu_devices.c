/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices of a whole run: each process numbers those that it sees from 0 (CUDA_VISIBLE_DEVICES, several machines).
 *
 * Rule: where one number means several devices of the run, their memory is not one allocator: its name tells the device, too.
 */
#include "reducer/model/gpu.h"
#include "reducer/model/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS 256u /* most devices of a process: GPU_DEVICES_MAX */

const struct gpu_device *gpu_find_device(const struct gpu *gpu, uint32_t id)
{
	for (size_t i = 0; i < gpu->device_count; i++)
		if (gpu->devices[i].id == id)
			return &gpu->devices[i];
	return NULL;
}

static const struct gpu_device *with_uuid(const struct process *process, uint32_t id)
{
	const struct gpu_device *device = process->gpu == NULL ? NULL : gpu_find_device(process->gpu, id);

	return device != NULL && device->has_uuid ? device : NULL;
}

int gpu_is_one_device(const struct process *one, uint32_t id, const struct process *other, uint32_t other_id)
{
	const char *host = one->of_host == NULL ? "" : one->of_host, *other_host = other->of_host == NULL ? "" : other->of_host;
	const struct gpu_device *left, *right;

	if (one == other)
		return id == other_id;
	left = with_uuid(one, id);
	right = with_uuid(other, other_id);
	if (left != NULL && right != NULL)
		return memcmp(left->uuid, right->uuid, sizeof left->uuid) == 0;
	return id == other_id && strcmp(host, other_host) == 0 &&
	       (!one->is_of_rank || !other->is_of_rank || one->of_rank == other->of_rank);
}

int gpu_has_to_do(const struct process *process, uint32_t id)
{
	const struct gpu *gpu = process->gpu;
	uint32_t number;

	if (gpu == NULL || !process_is_foreign(process) || gpu->sweep_count == 0)
		return gpu != NULL;
	for (size_t i = 0; i < gpu->sweep_count; i++)
		if (gpu->sweeps[i].device == id)
			return 1;
	for (size_t i = 0; i < process->account_count; i++)
		if (gpu_is_device_allocator(process->accounts[i].allocator, &number) && number == id)
			return 1;
	return 0;
}

int gpu_has_uuid(const struct process *process, uint32_t id)
{
	return with_uuid(process, id) != NULL;
}

/* By number: the first device that is called so; whether there is another one. */
struct called {
	const struct gpu_device *first;
	int is_several;
};

static const char *uuid_text(const struct gpu_device *device, char text[64])
{
	int at = snprintf(text, 64, "%s", device->is_mig ? "MIG" : "GPU");

	for (unsigned i = 0; i < sizeof device->uuid; i++) /* 8-4-4-4-12, as nvidia-smi -L */
		at += snprintf(text + at, 64 - (size_t)at, "%s%02x", i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			       device->uuid[i]);
	return text;
}

static void rename_allocator(struct process *process, const char *from, const char *to)
{
	for (size_t i = 0; i < process->account_count; i++)
		if (strcmp(process->accounts[i].allocator, from) == 0)
			process->accounts[i].allocator = to;
	for (size_t i = 0; i < process->gpu->memory_check_count; i++)
		if (strcmp(process->gpu->memory_checks[i].allocator, from) == 0)
			process->gpu->memory_checks[i].allocator = to;
	for (size_t i = 0; i < process->refused.count; i++)
		if (strcmp(process->refused.list[i].allocator, from) == 0)
			process->refused.list[i].allocator = to;
}

static void name_devices(struct run *run, struct process *process, const struct called *called)
{
	char from[32], uuid[64], to[128];

	for (size_t i = 0; i < process->gpu->device_count; i++) {
		const struct gpu_device *device = &process->gpu->devices[i];

		if (!device->has_uuid || device->id >= NUMBERS || !called[device->id].is_several)
			continue;
		snprintf(from, sizeof from, "device:%u", device->id);
		snprintf(to, sizeof to, "%s %s", from, uuid_text(device, uuid));
		rename_allocator(process, from, run_text(run, to, strlen(to)));
	}
}

void gpu_name_devices(struct run *run)
{
	struct called called[NUMBERS] = {0};
	int is_any = 0;

	for (size_t i = 0; i < run->process_count; i++)
		for (size_t k = 0; run->processes[i].gpu != NULL && k < run->processes[i].gpu->device_count; k++) {
			const struct gpu_device *device = &run->processes[i].gpu->devices[k];
			struct called *of = device->id < NUMBERS && device->has_uuid ? &called[device->id] : NULL;

			if (of == NULL)
				continue;
			of->first = of->first == NULL ? device : of->first;
			of->is_several |= memcmp(of->first->uuid, device->uuid, sizeof device->uuid) != 0;
			is_any |= of->is_several;
		}
	for (size_t i = 0; i < run->process_count && is_any; i++)
		if (run->processes[i].gpu != NULL)
			name_devices(run, &run->processes[i], called);
}

int gpu_is_device_allocator(const char *allocator, uint32_t *id)
{
	char *end;
	unsigned long number = strncmp(allocator, "device:", 7) == 0 ? strtoul(allocator + 7, &end, 10) : UINT32_MAX;

	if (number >= UINT32_MAX || end == allocator + 7 || (*end != 0 && *end != ' '))
		return 0;
	*id = (uint32_t)number;
	return 1;
}

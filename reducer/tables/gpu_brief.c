/* SPDX-License-Identifier: Apache-2.0 */
/* The first things about a run's GPUs. See gpu_brief.h. */
#include "reducer/tables/gpu_brief.h"

#include "reducer/model/windows.h"
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The place of a device that another process named, too; `before` = none did. */
static size_t place_before(const struct gpu_brief *brief, const struct process *process, uint32_t id)
{
	size_t i = 0;

	while (i < brief->before && !gpu_is_one_device(brief->devices[i].process, brief->devices[i].id, process, id))
		i++;
	return i;
}

/* The place of what the process calls device `id` for the first time. */
static uint32_t make_place(struct gpu_brief *brief, const struct process *process, uint32_t id)
{
	size_t place = place_before(brief, process, id);

	if (place == brief->before) {
		place = brief->device_count;
		brief->devices =
			base_grow(brief->devices, &brief->device_room, brief->device_count + 1, sizeof(*brief->devices));
		brief->devices[brief->device_count++] = (struct gpu_brief_device){.id = id, .process = process, .name = ""};
	}
	if (number_map_set(&brief->place_of, (uintptr_t)process, id, (uint32_t)place) != 0)
		base_die("out of memory for the devices of the run");
	return (uint32_t)place;
}

/* What a process calls device `id`. */
static struct gpu_brief_device *device_of(struct gpu_brief *brief, const struct process *process, uint32_t id)
{
	uint32_t place = number_map_find(&brief->place_of, (uintptr_t)process, id);
	struct gpu_brief_device *device;

	if (place == NUMBER_MAP_NONE)
		place = make_place(brief, process, id);
	device = &brief->devices[place];
	if (!gpu_has_uuid(device->process, device->id)) {
		device->process = process; /* may know it better */
		device->id = id;
	}
	return device;
}

/* Where memory is of no device that anybody named, that a device has no account does not say that it had no memory. */
static bool is_all_placed(const struct process *process)
{
	const struct account *account = process_account(process, GPU_PLACELESS);

	return !process_is_foreign(process) && !(account && account->peak_bytes);
}

static void take_devices(struct gpu_brief *brief, const struct process *process, int64_t duration_ns)
{
	const struct gpu *gpu = process->gpu;
	bool has_peak = is_all_placed(process);

	brief->before = brief->device_count;
	for (size_t i = 0; i < gpu->device_count; i++) {
		if (!gpu_has_to_do(process, gpu->devices[i].id))
			continue;
		struct gpu_brief_device *device = device_of(brief, process, gpu->devices[i].id);
		device->name = gpu->devices[i].name;
		device->has_peak |= has_peak;
	}
	for (size_t i = 0; i < gpu->sweep_count; i++) {
		struct gpu_brief_device *device = device_of(brief, process, gpu->sweeps[i].device);
		device->busy_ns += gpu->sweeps[i].busy.busy_ns;
		device->processes++;
		device->recorded_ns = (uint64_t)windows_recorded_ns(process, 0, duration_ns);
		device->has_peak |= has_peak;
	}
	for (size_t i = 0; i < gpu->kernel_count; i++)
		if (gpu->kernels[i].queue < gpu->queue_count)
			device_of(brief, process, gpu->queues[gpu->kernels[i].queue].device)->kernels += gpu->kernels[i].occurrences;
	for (size_t i = 0; i < gpu->copy_count; i++)
		if (gpu->copies[i].queue < gpu->queue_count)
			device_of(brief, process, gpu->queues[gpu->copies[i].queue].device)->copies += gpu->copies[i].occurrences;
	for (size_t i = 0; i < process->account_count; i++) {
		uint32_t id;
		if (gpu_is_device_allocator(process->accounts[i].allocator, &id))
			device_of(brief, process, id)->has_peak = true;
	}
}

/* What processes held at one time: one that came when another had gone takes its place. */
static void take_peaks(struct gpu_brief *brief, const struct request *request)
{
	for (size_t i = 0; i < brief->device_count; i++) {
		struct gpu_brief_device *device = &brief->devices[i];
		struct job_peak peak = job_device_peak(request, device->process, device->id);
		device->peak_bytes = peak.bytes;
		device->is_least = peak.is_least;
		device->has_peak &= peak.accounts > 0 || !peak.is_least;
	}
}

/* Adds to the reason's line, or makes one. */
static void add_reason(struct gpu_brief *brief, const struct gpu_brief_reason *more)
{
	for (size_t i = 0; i < brief->reason_count; i++)
		if (brief->reasons[i].what == more->what && brief->reasons[i].reason == more->reason) {
			brief->reasons[i].count += more->count;
			return;
		}
	if (more->count && brief->reason_count < GPU_BRIEF_REASONS)
		brief->reasons[brief->reason_count++] = *more;
}

static void take_counts(struct gpu_brief *brief, const struct gpu *gpu)
{
	const struct gpu_counts *counts = &gpu->counts;
	static const enum gpu_pairing order[] = {GPU_HOST_ONLY, GPU_DEVICE_ONLY, GPU_NOT_LAUNCHED};
	static const char *const words[] = {"host-only", "device-only", "calls started nothing"};
	static const char *const one[] = {"host-only", "device-only", "call started nothing"};

	brief->endless += gpu_endless_records(gpu);
	brief->impossible += counts->impossible_records - gpu_endless_records(gpu);
	brief->paired += counts->launches[GPU_PAIRED];
	brief->device_only += counts->launches[GPU_DEVICE_ONLY];
	brief->host_only += counts->launches[GPU_HOST_ONLY];
	for (unsigned i = 0; i < 3; i++)
		for (unsigned reason = 1; reason < GPU_REASONS; reason++)
			add_reason(brief, &(struct gpu_brief_reason){words[i], one[i], gpu_reason_text(reason),
								     counts->reasons[order[i]][reason]});
}

void gpu_brief(struct gpu_brief *brief, const struct request *request)
{
	const struct run *run = request->run;

	*brief = (struct gpu_brief){0};
	for (size_t i = 0; i < run->process_count; i++) {
		if (!run->processes[i].gpu)
			continue;
		brief->any = true;
		take_devices(brief, &run->processes[i], run->duration_ns);
		take_counts(brief, run->processes[i].gpu);
	}
	number_map_free(&brief->place_of);
	take_peaks(brief, request);
}

void gpu_brief_free(struct gpu_brief *brief)
{
	free(brief->devices);
	*brief = (struct gpu_brief){0};
}

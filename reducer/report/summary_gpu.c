/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU's lines of the summary.
 *
 * Rule: the three classes of launches are always said, 0 or not; each line can be found again with -t kernel_stats,
 * launches, device_timeline.
 */
#include "reducer/report/summary_gpu.h"

#include "reducer/model/gpu.h"
#include "reducer/report/escape.h"
#include "reducer/report/human.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DEVICES_SHOWN 2
#define REASONS_SHOWN 2

struct device_sums {
	uint32_t id;
	const char *name;
	uint64_t busy_ns, kernels, copies, peak;
	size_t processes;
};

struct sums {
	struct device_sums devices[64]; /* more are not shown anyway */
	size_t device_count;
	uint64_t launches[GPU_PAIRINGS], reasons[GPU_PAIRINGS][GPU_REASONS], impossible;
};

static struct device_sums *device_of(struct sums *sums, uint32_t id)
{
	size_t room = sizeof(sums->devices) / sizeof(sums->devices[0]);

	for (size_t i = 0; i < sums->device_count; i++)
		if (sums->devices[i].id == id)
			return &sums->devices[i];
	if (sums->device_count == room)
		return &sums->devices[room - 1];
	sums->devices[sums->device_count] = (struct device_sums){.id = id, .name = ""};
	return &sums->devices[sums->device_count++];
}

static void take_devices(struct sums *sums, const struct process *process)
{
	const struct gpu *gpu = process->gpu;

	for (size_t i = 0; i < gpu->device_count; i++)
		device_of(sums, gpu->devices[i].id)->name = gpu->devices[i].name;
	for (size_t i = 0; i < gpu->sweep_count; i++) {
		struct device_sums *device = device_of(sums, gpu->sweeps[i].device);
		device->busy_ns += gpu->sweeps[i].busy.busy_ns;
		device->processes++;
	}
	for (size_t i = 0; i < gpu->kernel_count; i++)
		if (gpu->kernels[i].queue < gpu->queue_count)
			device_of(sums, gpu->queues[gpu->kernels[i].queue].device)->kernels += gpu->kernels[i].occurrences;
	for (size_t i = 0; i < gpu->copy_count; i++)
		if (gpu->copies[i].queue < gpu->queue_count)
			device_of(sums, gpu->queues[gpu->copies[i].queue].device)->copies += gpu->copies[i].occurrences;
	for (size_t i = 0; i < process->account_count; i++) {
		const struct account *account = &process->accounts[i];
		unsigned id;
		if (sscanf(account->allocator, "device:%u", &id) == 1)
			device_of(sums, id)->peak += account->peak_bytes;
	}
}

static void take_counts(struct sums *sums, const struct gpu_counts *counts)
{
	sums->impossible += counts->impossible_records;
	for (unsigned p = 0; p < GPU_PAIRINGS; p++) {
		sums->launches[p] += counts->launches[p];
		for (unsigned r = 0; r < GPU_REASONS; r++)
			sums->reasons[p][r] += counts->reasons[p][r];
	}
}

/* A number, right-aligned. */
static void put(struct text *out, void (*print)(struct text *out, int64_t number), uint64_t number, size_t width)
{
	struct text cell = {0};

	print(&cell, (int64_t)number);
	text_fill(out, ' ', width > cell.length ? width - cell.length : 0);
	text_put(out, cell.bytes, cell.length);
	text_free(&cell);
}

static void put_device(struct text *out, const struct device_sums *device, int64_t duration_ns)
{
	struct text name = {0};
	char share[32];

	text_format(&name, "%" PRIu32 " ", device->id);
	escape_visible(&name, device->name, strnlen(device->name, 64));
	escape_cut(&name, 26);
	text_format(out, "  %s", name.bytes);
	text_fill(out, ' ', 28 - escape_width(name.bytes, name.length));
	put(out, human_ns, device->busy_ns, 10);
	snprintf(share, sizeof(share), "%.1f %%", duration_ns > 0 ? 100.0 * (double)device->busy_ns / (double)duration_ns : 0);
	text_format(out, "%9s", device->processes > 1 ? "-" : share);
	put(out, human_count, device->kernels, 13);
	put(out, human_count, device->copies, 13);
	put(out, human_bytes, device->peak, 17);
	text_char(out, '\n');
	text_free(&name);
}

/* The most frequent reasons, of launches first. */
static void put_reasons(struct text *out, const struct sums *sums)
{
	static const enum gpu_pairing order[] = {GPU_HOST_ONLY, GPU_DEVICE_ONLY, GPU_NOT_LAUNCHED};
	static const char *const words[] = {"host-only", "device-only", "calls started nothing"};
	unsigned shown = 0;

	for (unsigned i = 0; i < 3; i++)
		for (unsigned reason = 1; reason < GPU_REASONS && shown < REASONS_SHOWN; reason++) {
			if (!sums->reasons[order[i]][reason])
				continue;
			text_string(out, "    ");
			human_count(out, (int64_t)sums->reasons[order[i]][reason]);
			text_format(out, " %s: %s\n", words[i], gpu_reason_text(reason));
			shown++;
		}
}

void summary_gpu(struct text *out, const struct request *request)
{
	struct sums sums = {0};
	bool any = false;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!process->gpu)
			continue;
		any = true;
		take_devices(&sums, process);
		take_counts(&sums, &process->gpu->counts);
	}
	if (!any)
		return;
	for (size_t i = 0; i < sums.device_count && i < DEVICES_SHOWN; i++)
		put_device(out, &sums.devices[i], request->run->duration_ns);
	text_string(out, "  Launches: ");
	human_count(out, (int64_t)sums.launches[GPU_PAIRED]);
	text_string(out, " paired, ");
	human_count(out, (int64_t)sums.launches[GPU_DEVICE_ONLY]);
	text_string(out, " device-only, ");
	human_count(out, (int64_t)sums.launches[GPU_HOST_ONLY]);
	text_string(out, " host-only");
	if (sums.impossible) {
		text_string(out, "; ");
		human_count(out, (int64_t)sums.impossible);
		text_string(out, " with impossible times");
	}
	if (sums.device_count > DEVICES_SHOWN)
		text_format(out, " (%zu more devices: -t device_timeline)", sums.device_count - DEVICES_SHOWN);
	text_char(out, '\n');
	put_reasons(out, &sums);
}

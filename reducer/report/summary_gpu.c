/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU's lines of the summary.
 *
 * Rule: the three classes of launches are always said, 0 or not.
 */
#include "reducer/report/summary_gpu.h"

#include "reducer/report/escape.h"
#include "reducer/report/human.h"
#include "reducer/tables/gpu_brief.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DEVICES_SHOWN 2
#define REASONS_SHOWN 2

/* A number, right-aligned. */
static void put(struct text *out, void (*print)(struct text *out, int64_t number), uint64_t number, size_t width)
{
	struct text cell = {0};

	print(&cell, (int64_t)number);
	text_fill(out, ' ', width > cell.length ? width - cell.length : 0);
	text_put(out, cell.bytes, cell.length);
	text_free(&cell);
}

static void put_device(struct text *out, const struct gpu_brief_device *device, int64_t duration_ns)
{
	struct text name = {0};
	char share[32];

	text_format(&name, "%" PRIu32 " ", device->id);
	escape_visible(&name, device->name, strnlen(device->name, 64));
	escape_cut(&name, 20);
	text_format(out, "  %s", name.bytes);
	text_fill(out, ' ', 22 - escape_width(name.bytes, name.length));
	put(out, human_ns, device->busy_ns, 10);
	snprintf(share, sizeof(share), "%.1f %%", duration_ns > 0 ? 100.0 * (double)device->busy_ns / (double)duration_ns : 0);
	text_format(out, "%9s", device->processes > 1 ? "-" : share);
	put(out, human_count, device->kernels, 11);
	put(out, human_count, device->copies, 11);
	put(out, human_bytes, device->peak_bytes, 14);
	text_char(out, '\n');
	text_free(&name);
}

void summary_gpu(struct text *out, const struct request *request)
{
	struct gpu_brief brief;

	gpu_brief(&brief, request->run);
	if (!brief.any)
		return;
	text_string(out, SUMMARY_GPU_HEADING "\n");
	for (size_t i = 0; i < brief.device_count && i < DEVICES_SHOWN; i++)
		put_device(out, &brief.devices[i], request->run->duration_ns);
	text_string(out, "  Launches: ");
	human_count(out, (int64_t)brief.paired);
	text_string(out, " paired, ");
	human_count(out, (int64_t)brief.device_only);
	text_string(out, " device-only, ");
	human_count(out, (int64_t)brief.host_only);
	text_string(out, " host-only");
	if (brief.impossible) {
		text_string(out, "; ");
		human_count(out, (int64_t)brief.impossible);
		text_string(out, " with impossible times");
	}
	if (brief.device_count > DEVICES_SHOWN)
		text_format(out, " (%zu more devices: -t device_timeline)", brief.device_count - DEVICES_SHOWN);
	text_char(out, '\n');
	for (size_t i = 0; i < brief.reason_count && i < REASONS_SHOWN; i++) {
		text_string(out, "    ");
		human_count(out, (int64_t)brief.reasons[i].count);
		text_format(out, " %s: %s\n", brief.reasons[i].what, brief.reasons[i].reason);
	}
}

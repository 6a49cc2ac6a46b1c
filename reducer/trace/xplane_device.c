/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and kernels as xprof wants them told. See xplane_device.h. */
#include "reducer/trace/xplane_device.h"

#include "reducer/model/run.h"
#include "reducer/tables/occupancy.h"

#include <inttypes.h>
#include <stdio.h>

uint32_t xplane_device(struct xspace_file *file, const struct gpu *gpu, uint32_t id)
{
	const struct gpu_device *device = gpu_find_device(gpu, id);
	struct xspace_event about = {0};
	char name[32];

	snprintf(name, sizeof(name), "/device:GPU:%" PRIu32, id);
	about.plane = xspace_plane(file, name, (int64_t)id + 1);
	xspace_text(file, &about, "device_vendor", "Nvidia");
	if (device) {
		xspace_text(file, &about, "gpu_device_name", device->name);
		xspace_natural(file, &about, "compute_cap_major", device->major);
		xspace_natural(file, &about, "compute_cap_minor", device->minor);
		xspace_natural(file, &about, "core_count", device->multiprocessors);
		xspace_natural(file, &about, "clock_rate", device->clock / 1000); /* kHz */
		xspace_natural(file, &about, "memory_size", device->memory_bytes);
		xspace_natural(file, &about, "memory_bandwidth", device->bandwidth);
	}
	xspace_describe(file, about.plane, &about);
	return about.plane;
}

static double occupancy_percent(const struct gpu_device *device, const struct gpu_shape *shape)
{
	struct occupancy occupancy;

	if (shape->occupancy)
		return shape->occupancy / 1000.0;
	return occupancy_of_launch(device, shape, &occupancy) ? 100.0 * (double)occupancy.warps / (double)occupancy.most_warps : 0;
}

void xplane_details(struct text *out, const struct gpu *gpu, const struct span *span)
{
	static const struct gpu_shape none;
	const struct gpu_shape *shape = span->shape ? span->shape : &none;

	text_clear(out);
	text_format(out,
		    "regs:%" PRIu32 " static_shared:%" PRIu32 " dynamic_shared:%" PRIu32 " grid:%" PRIu32 ",%" PRIu32 ",%" PRIu32
		    " block:%" PRIu32 ",%" PRIu32 ",%" PRIu32 " occ_pct:%.6g",
		    shape->registers, shape->static_shared, shape->dynamic_shared, shape->grid[0], shape->grid[1], shape->grid[2],
		    shape->block[0], shape->block[1], shape->block[2],
		    span->shape ? occupancy_percent(gpu_find_device(gpu, span->device), shape) : 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person must know of a run's GPUs at first: devices, and whether every launch has both its sides.
 *
 * Rule: sums over all processes of the run; each can be found again in kernel_stats, launches, device_timeline.
 */
#ifndef REDUCER_TABLES_GPU_BRIEF_H
#define REDUCER_TABLES_GPU_BRIEF_H

#include "reducer/model/number_map.h"
#include "reducer/tables/request.h"

struct gpu_brief_device {
	uint32_t id;
	const struct process *process; /* that calls it so: another one may call another device by that number */
	const char *name;
	uint64_t busy_ns, kernels, copies, peak_bytes;
	uint64_t recorded_ns; /* of the run, in windows of the process that ran something on it: what busy_ns is a part of */
	bool has_peak;	  /* calls that allocate were seen, or would have been */
	bool is_least;	  /* records are missing: the peak was that high at least */
	size_t processes; /* that ran something on it */
};

struct gpu_brief_reason {
	const char *what, *one, *reason; /* one: what, where the count is 1 */
	uint64_t count;
};

#define GPU_BRIEF_REASONS 64

struct gpu_brief {
	bool any;          /* the run has something to do with GPUs */
	struct gpu_brief_device *devices;
	size_t device_count, device_room;
	struct number_map place_of; /* while it is made: process and number -> place in devices */
	size_t before;		    /* likewise: devices that processes before the one at hand named */
	uint64_t paired, device_only, host_only; /* launches */
	uint64_t impossible, endless; /* device records with impossible times; without an end, on a device whose work failed */
	struct gpu_brief_reason reasons[GPU_BRIEF_REASONS];  /* of host-only, device-only, and calls that started nothing */
	size_t reason_count;
};

/* Of all processes of the run together; peaks of the wanted ones. gpu_brief_free after it. */
void gpu_brief(struct gpu_brief *brief, const struct request *request);
void gpu_brief_free(struct gpu_brief *brief);

#endif

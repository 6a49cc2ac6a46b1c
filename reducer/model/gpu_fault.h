/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on a device that failed: the call that came back with it first, and the work of that time that no record gives an end.
 *
 * Rule: that it failed is recorded, which work it was is not: the suspects are, of each stream, the first without an end behind the
 * last wait for it that ended well. Records of work that had ended, too, have no time where CUPTI had not fetched it before. A launch that
 * was refused (a wrong configuration) breaks nothing, and does nothing: a program that never asks goes on without it.
 */
#ifndef REDUCER_MODEL_GPU_FAULT_H
#define REDUCER_MODEL_GPU_FAULT_H

#include "reducer/model/number_map.h"

#include <stddef.h>
#include <stdint.h>

struct gpu_arguments;
struct gpu_call;
struct gpu_flight;
struct gpu_record;
struct gpu_scan;
struct process;

#define GPU_SUSPECTS 4 /* streams that are told of */

/* A launch without an end. */
struct gpu_suspect {
	int64_t host_ns, returned_ns; /* its call, from when to when; ticks until gpu_times */
	uint32_t function, kernel, queue, thread, op, stack; /* kernel, queue: GPU_NONE = unknown */
};

struct gpu_fault {
	uint32_t result;             /* 0 = none, as far as calls tell */
	int64_t called_ns, returned_ns; /* the call that came back with it first, from when to when; ticks until gpu_times */
	uint32_t function, thread, stack, context; /* of that call; context 0 = unknown */
	uint64_t suspect_count;      /* streams with such work */
	struct gpu_suspect suspects[GPU_SUSPECTS]; /* by host_ns */
	uint64_t endless;            /* pieces of work without an end, from the suspects on */
	struct gpu_suspect latest;   /* of these the one that was called last, before the fault was told */
	uint64_t calls;              /* that came back with such a result: the one that this tells of, and all after it */
	int64_t last_called_ns;      /* the last launch with a device time was called then; ticks until gpu_times, 0 = none */
	uint64_t aborted;            /* no fault: device records without a time of work that ran when the process was aborted */
	struct gpu_bad_launch {	     /* the first call that should have given a device work, and returned another error */
		uint32_t result;     /* 0 = none did */
		int64_t called_ns, returned_ns; /* ticks until gpu_times */
		uint32_t function, thread, op, stack, kernel; /* kernel: GPU_NONE = unknown, or none */
	} bad;
	uint64_t elsewhere;          /* such pieces in contexts that did not fail: they were still at it */
};

/* A row of gpu_faults.def: what cudaGetErrorName and cudaGetErrorString say of a result. */
struct gpu_result {
	uint32_t code;
	const char *name, *text;
	unsigned remedy;
};
/* NULL = a result that does not mean that work on a device failed; that the call started nothing, as far as is known here. */
const struct gpu_result *gpu_fault_of(uint32_t result);
const struct gpu_result *gpu_bad_launch_of(uint32_t result);
/* A sentence on what to do next. */
const char *gpu_result_remedy(const struct gpu_result *result);

/* While a log is read. */
struct gpu_fault_scan {
	struct gpu_endless {
		struct gpu_suspect work;
		uint32_t context, stream;
	} *endless;
	size_t count, left_out;
	struct number_map waited;    /* (1, context << 32 | stream), (2, context) -> place in `waits` */
	uint64_t *waits;             /* ticks: begin of the last wait that ended well */
	size_t wait_count;
	uint64_t last_begin;         /* ticks: the last call whose work on the device has a time */
};

/* A call of the runtime or the driver returned something else than success. */
void gpu_fault_call(struct gpu_scan *scan, const struct gpu_call *call, const struct gpu_arguments *arguments);
/* A launch that was called at `begin` (ticks) has a time on the device. */
static inline void gpu_fault_worked(struct gpu_fault_scan *fault, uint64_t begin)
{
	fault->last_begin = begin > fault->last_begin ? begin : fault->last_begin;
}
/* A launch is over that has no record, or none with a time. */
void gpu_fault_endless(struct gpu_scan *scan, const struct gpu_flight *flight);
/* A wait for a stream or a context that ended well, with its call. */
void gpu_fault_waited(struct gpu_scan *scan, const struct gpu_flight *flight, const struct gpu_record *record);
/* Ticks become ns of the run. */
void gpu_fault_times(struct gpu_fault *fault, const struct process *process);
/* Chooses the suspects, if there was a fault. */
void gpu_fault_end(struct gpu_scan *scan);
void gpu_fault_free(struct gpu_fault_scan *fault);

#endif

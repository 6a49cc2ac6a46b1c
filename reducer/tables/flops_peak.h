/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arithmetic of a process against what its devices could do: what overview.flops shows and the rule low_flops asks.
 *
 * Rule: a share of the peak is the time that these operations would take at the peak of their types, by the time that they took,
 * so that a mix of types has one figure. A peak is that of the device's compute capability, multiprocessors and highest clock, as
 * its records have them (peaks.def); where one of these is not known, and for processors, there is none.
 */
#ifndef REDUCER_TABLES_FLOPS_PEAK_H
#define REDUCER_TABLES_FLOPS_PEAK_H

#include "reducer/analysis/flops.h"
#include "reducer/model/gpu.h"
#include "reducer/tables/step_values.h"

/* The devices of a process together. */
struct flops_peak {
	size_t devices; /* that worked */
	const char *name;
	double rates[FLOPS_TYPES]; /* operations a second; 0 = none */
	const char *source;	   /* whose figures; NULL = nobody's */
	const struct gpu_device *device; /* the first */
	const char *why;		 /* there is none; NULL = there is */
};

struct flops_use {
	struct flops_peak peak;
	uint64_t types[FLOPS_TYPES], all; /* operations of all that was recorded, of the origins that count */
	bool is_tf32;			  /* what single precision there is stands under tf32, by the names of kernels */
	double rate;			  /* at which this mix would be done at the peaks; 0 = there is none */
	uint64_t judged_flops, judged_ns, judged_compute_ns, judged_steps; /* of the judged steps; compute: that nothing hid */
	uint64_t late_ns; /* in both: devices were done with what these steps launched so long behind the last of them */
	uint64_t replaying_steps;					   /* those of them that launched CUDA graphs */
};

/* False = the process told of no arithmetic. */
bool flops_use_find(struct flops_use *use, const struct request *request, const struct flops_sum *sum, const struct step_rows *rows);

#endif

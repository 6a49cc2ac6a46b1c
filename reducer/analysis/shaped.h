/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops by what they were given: one row a name, source and text of inputs, with the host's time and that of the device work for them.
 *
 * Rule: device work counts for the innermost op that called for it. An op inside another of its name counts again. Ops whose inputs
 * were not recorded have the text "".
 */
#ifndef REDUCER_ANALYSIS_SHAPED_H
#define REDUCER_ANALYSIS_SHAPED_H

#include "reducer/analysis/analysis.h"
#include "reducer/analysis/words.h"
#include "reducer/model/spread.h"

struct shaped_op {
	uint32_t name, inputs; /* words */
	uint8_t source;	       /* row of range_sources.def */
	uint64_t occurrences, ns, self_ns, least_ns, most_ns;
	spread_squares squares; /* of each one's ns */
	uint64_t works, device_ns;	       /* kernels, copies, sets, graphs */
	uint64_t flops, flops_times, flops_ns; /* of those with a figure: arithmetic, how many, their time */
	uint64_t launched, launched_times;     /* arithmetic of those that no op with a figure lies in: what device work was for */
};

struct shaped {
	struct shaped_op *ops;
	size_t count, room;
	struct words words;
	struct base_index index;
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of every step (or what stands for it, units.h), split into parts (parts.h) and phases (phases.h).
 *
 * Rule: with STEP_TIME_PERIOD work belongs to the step in whose time it happened, cut where it crosses; with STEP_TIME_SPAN to
 * the step in which it was launched, and the step lasts from the first to the last of it on the device that took longest.
 * exposed_ns sums to total_ns exactly. At most STEPS_PENDING intervals wait at once: what comes later for a step that was
 * settled then is counted in late_ns and stands in no sum. A step that alone is too much is told in parts, whose time it keeps where
 * another device takes longest in the end.
 */
#ifndef REDUCER_ANALYSIS_STEPS_H
#define REDUCER_ANALYSIS_STEPS_H

#include "reducer/analysis/looked.h"
#include "reducer/analysis/parts.h"
#include "reducer/analysis/units.h"

#define STEPS_PENDING (1u << 20) /* of 24 bytes */

/* When the first op of the forward pass began, when the last of the backward pass ended. TIME_UNKNOWN = none is known to be. */
struct step_edges {
	int64_t forward_ns, backward_ns;
};
#define NO_EDGES {TIME_UNKNOWN, TIME_UNKNOWN}
enum { EDGES_HOST, EDGES_DEVICE };

struct step_row {
	uint64_t log_id;
	size_t process; /* index in run->processes */
	struct unit unit;
	enum unit_kind kind;
	int64_t start_ns; /* of what total_ns counts */
	uint64_t total_ns;
	uint64_t exposed_ns[STEP_PARTS];    /* sum to total_ns */
	uint64_t overlapped_ns[STEP_PARTS]; /* active while the instant belonged to another part */
	uint64_t phase_ns[PHASES];	    /* PHASE_NONE: of no phase; sum to total_ns */
	bool has_device;		    /* something ran on a device */
	bool has_work;			    /* anything was active at all */
	bool is_unrecorded;		    /* of its time no window held all: how long it took is known, not what filled it */
	struct step_edges edges[2];    /* of the host's ops, of the kernels that were launched in the step */
	uint64_t flops[FLOPS_ORIGINS]; /* of what began in it and was counted; flops.h */
	uint64_t replays; /* CUDA graphs that it launched: `flops` lacks what they did */
	bool is_evaluation; /* marked by a function of TensorFlow without a backward pass, though another has one */
};

struct steps {
	struct step_row *rows; /* of a process together, by thread, start, number */
	size_t count, room;
	uint64_t late_ns;
	uint64_t unlooked; /* units.h */
	struct looked looked;
	struct steps_pass *pass; /* during the pass only */
};

#endif

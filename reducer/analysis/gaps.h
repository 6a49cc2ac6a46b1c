/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a device of a process rested between two pieces of work, and what the host did meanwhile.
 *
 * Rule: a gap lies between the end of all work that a process gave a device and the next work of it (model/gpu_lanes.h finds
 * them); before the first and behind the last there is none. part_ns sums to ns: an instant belongs to the first of its parts.
 * What no window recorded is no gap, it is counted. Of each process the GAPS_MOST longest are told of.
 */
#ifndef REDUCER_ANALYSIS_GAPS_H
#define REDUCER_ANALYSIS_GAPS_H

#include "reducer/analysis/analysis.h"
#include "reducer/analysis/words.h"

#define GAPS_MOST 1000
#define GAPS_PENDING (1u << 17) /* intervals of the host's that wait to be put in order, of all gaps of a process */

/* What the host did, in the order in which an instant is given to one. */
enum gap_part {
	GAP_COMPILATION,
	GAP_INPUT,  /* waited for input */
	GAP_LAUNCH, /* was inside of calls that launch, copy or set */
	GAP_COMPUTE, /* computed ops, or was in other calls of CUDA */
	GAP_COMMUNICATION,
	GAP_WAIT,   /* was inside of calls that wait for a device */
	GAP_OTHER,  /* nothing of it: Python, reading, sleep, what was not recorded */
	GAP_PARTS
};
const char *gap_part_name(enum gap_part part);

/* Texts are numbers of gaps.words; that of "" where nothing is known. */
struct gap {
	uint64_t log_id; /* of the process */
	uint32_t device; /* CUDA ordinal */
	uint32_t thread; /* serial of the one that launched the work behind the gap; 0 = unknown */
	int64_t start_ns;
	uint64_t ns, part_ns[GAP_PARTS];
	int64_t called_ns;     /* when the call that started the work behind it began; TIME_UNKNOWN = no such call */
	uint32_t before, after; /* the last work before it, the first behind it: a kernel's linker name, or what it did */
	uint32_t op, range;     /* of the thread when it launched the work behind it */
	uint32_t during;	/* of what the host did what fits the gap best */
	uint64_t during_ns;	/* how much of the gap that took */
};

/* The gaps of one device of a process. */
struct gap_sum {
	uint64_t log_id;
	uint32_t device;
	uint64_t all, kept;		    /* how many there are; of how many times are known: the longest */
	uint64_t unrecorded, unrecorded_ns; /* of these: in no window, or not whole in one */
	uint64_t late;			    /* pieces of work that were told too late to be looked for in gaps */
};

struct gaps {
	struct words words;
	struct gap *rows; /* the longest first; of equal ones by log id, device, start */
	size_t count, room;
	struct gap_sum *sums; /* by log id, device */
	size_t sum_count, sum_room;
	struct gaps_pass *pass; /* during the pass only */
};

#endif

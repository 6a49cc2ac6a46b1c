/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is missing of the records: what the library counted as lost, over all processes and threads, and what lacks its other half.
 *
 * Rule: one place decides what is a loss and what costs precision only.
 */
#ifndef REDUCER_MODEL_LOSSES_H
#define REDUCER_MODEL_LOSSES_H

#include "reducer/model/run.h"
#include "writer/format.h"

#include <stdbool.h>

/* Costs precision, no record. kind: number in losses.def. */
bool loss_is_degraded(unsigned kind);

/* Counts processes without a log, or whose log was removed; others count records and what belongs to them. */
bool loss_is_of_process(unsigned kind);

/* Whether a launch that was paired so, for this reason, lacks something; not where it was left out on purpose. */
bool loss_is_of_pairing(unsigned pairing, unsigned reason);

/* Launches of a process that were paired so, for this reason, where that is a loss which no loss of the library's own tells. */
uint64_t losses_of_pairs(const struct process *process, unsigned pairing, unsigned reason);

/* Records about GPUs of a process that are missing or cannot be, and that no loss of the library's own tells. Complete after run_scan. */
uint64_t losses_of_gpu(const struct process *process);

/*
 * Whether the library gave up or dropped what may have been events of allocators; what cannot be read is damage, see
 * diag_is_damaged. Complete when the threads are built.
 */
bool losses_of_events(const struct process *process);

/*
 * With FULL=wrap: from when on no event of the process was given up, ns as all times of the run; of what was before only a part is there.
 * TIME_UNKNOWN: of another kind of loss, or nothing says it. To about the time that a block waits to be written. Reads the log.
 */
int64_t losses_whole_from(const struct process *process, unsigned kind);

/* With FULL=stop: when the first record of the process found no room, ns; TIME_UNKNOWN: each had some. After run_scan. */
int64_t losses_stopped_from(const struct process *process);

/* Whether the oldest events were given up, with FULL=wrap. */
bool losses_gave_up(const struct process *process);

/* Losses by kind. */
struct loss_sums {
	uint64_t counts[TFP_LOSS_SLOTS];
	const struct loss *named[TFP_LOSS_SLOTS]; /* one of the kind, for its texts; NULL = none of this kind */
};

/* Those that lost records, or those that cost precision only. Complete after run_scan; points into the run. */
struct loss_sums losses_sum(const struct run *run, bool is_degraded);

#endif

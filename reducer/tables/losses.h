/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What counts as a loss.
 *
 * Rule: one place decides what makes the exit status 2.
 */
#ifndef REDUCER_TABLES_LOSSES_H
#define REDUCER_TABLES_LOSSES_H

#include "reducer/tables/request.h"

#include "writer/format.h"

/* Costs precision, no record. kind: number in losses.def. */
bool loss_is_degraded(unsigned kind);

/* Losses by kind, over all processes and threads. */
struct loss_sums {
	uint64_t counts[TFP_LOSS_SLOTS];
	const struct loss *named[TFP_LOSS_SLOTS]; /* one of the kind, for its texts; NULL = none of this kind */
};

/* Those that lost records, or those that cost precision only. Complete after run_scan; points into the run. */
struct loss_sums losses_sum(const struct run *run, bool is_degraded);

/* Is anything missing from what this run's tables say? Complete after run_scan. */
bool losses_any(const struct run *run);

#endif

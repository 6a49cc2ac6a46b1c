/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What counts as a loss.
 *
 * Rule: one place decides what makes the exit status 2.
 */
#ifndef REDUCER_TABLES_LOSSES_H
#define REDUCER_TABLES_LOSSES_H

#include "reducer/tables/request.h"

/* Costs precision, no record. kind: number in losses.def. */
bool loss_is_degraded(unsigned kind);

/* Is anything missing from what this run's tables say? Complete after run_scan. */
bool losses_any(const struct run *run);

#endif

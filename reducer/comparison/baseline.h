/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of runs as a small text file that can be kept in a repository, for --against.
 *
 * Rule: a line a figure, sorted, tabs between fields, whole numbers, no dates or names of runs: what did not change does not
 * differ.
 */
#ifndef REDUCER_COMPARISON_BASELINE_H
#define REDUCER_COMPARISON_BASELINE_H

#include "reducer/comparison/verdict.h"
#include "reducer/report/report.h"

/* Does a file begin as baselines do? */
bool baseline_is(const char *path);
/* Fills `before` and `before_runs`. Dies with the line that cannot be read. */
void baseline_read(struct compared *compared, const char *path);

extern const struct report_kind report_baseline; /* -f baseline */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfprof-reduce --check: reads everything there is and says what is wrong.
 *
 * Rule: one line a problem, one a kind of loss, then one line that sums up; nothing is repaired.
 */
#ifndef REDUCER_CHECK_H
#define REDUCER_CHECK_H

#include "reducer/model/run.h"

#include <stdio.h>

/* Checks every block of every log of the run (calls run_scan). Returns 0 when all is whole, 2 when something is damaged
 * or the log itself tells of lost records, 1 without memory. What costs precision only (losses.h) is not told here. */
int check_run(FILE *out, struct run *run, const struct run_options *options);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The summary's lines about steps, ops and kernels. */
#ifndef REDUCER_REPORT_SUMMARY_WORK_H
#define REDUCER_REPORT_SUMMARY_WORK_H

#include "reducer/tables/request.h"

#define SUMMARY_STEP_LINES 1 /* most lines, without the heading */
#define SUMMARY_WORK_LINES 4

/* Appends a heading and a line for the steps of the process that has most of them; none where there are no steps. */
void summary_steps(struct text *out, const struct request *request, unsigned width);

/* Appends a heading and lines for the kernels and ops that took longest; none where neither is known. */
void summary_work(struct text *out, const struct request *request, unsigned width);

#endif

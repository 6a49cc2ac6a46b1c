/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default report: one screen about a run, read in a minute.
 *
 * Rule: at most SUMMARY_LINES lines, what was lost and the totals first; made from tables, so that each number can be
 * found again with -t.
 */
#ifndef REDUCER_REPORT_SUMMARY_H
#define REDUCER_REPORT_SUMMARY_H

#include "reducer/report/report.h"
#include "reducer/tables/request.h"

#define SUMMARY_LINES 60

/* `where`: what the user named on the command line, for the suggested commands. `request` without filters. */
void summary_write(FILE *file, const struct request *request, const struct report_options *options, const char *where);

#endif

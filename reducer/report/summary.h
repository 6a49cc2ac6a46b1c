/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default report: one screen about a run, read in a minute.
 *
 * Rule: as many lines as the screen has, what was lost and the verdict first; made from tables, so that each number can be
 * found again with -t.
 */
#ifndef REDUCER_REPORT_SUMMARY_H
#define REDUCER_REPORT_SUMMARY_H

#include "reducer/report/report.h"
#include "reducer/tables/request.h"

#define SUMMARY_LINES 50       /* where the screen is not known */
#define SUMMARY_WIDTH_LEAST 80 /* on a narrower screen the terminal breaks lines: half a number would be another one */
#define SUMMARY_LINES_LEAST 23 /* the smallest usual screen, and a line for the prompt */
#define SUMMARY_LINES_MOST 60  /* more is not read in a minute */

/* For the commands that it suggests: the program and the logs as words for a shell, as the user named them. */
struct summary_call {
	const char *program, *logs;
};

/* `request` without filters; at most options->height lines. */
void summary_write(FILE *file, const struct request *request, const struct report_options *options,
		   const struct summary_call *call);

#endif

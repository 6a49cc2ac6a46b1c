/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What notes under tables of looks at threads have in common.
 *
 * Rule: of looks at Python's code (python_looks.h) and at native code (native_looks.h).
 */
#ifndef REDUCER_TABLES_LOOK_NOTES_H
#define REDUCER_TABLES_LOOK_NOTES_H

#include "reducer/tables/request.h"

/* What the log said last of a framework, or a way to look: "on", "absent: why". NULL = nothing. */
const char *look_fact(const struct process *process, const char *name);
/* Why it is absent. NULL = it is not, or nothing is said. */
const char *look_absent(const char *fact);

/* To how many points a share of 10 % is known: of a sum of looks with that standard error. */
void look_error_points(struct text *text, double all, double error);

#endif

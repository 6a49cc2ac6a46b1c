/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfprof-reduce --dump: everything a log holds, as lines of text, in the order of the file.
 *
 * Rule: generic. What is printed follows from the log's own schema; docs/format.md, "the dump", defines every line, so
 * that a second reader can print the same.
 */
#ifndef REDUCER_DUMP_H
#define REDUCER_DUMP_H

#include "reducer/model/run.h"

#include <stdio.h>

/* Prints the logs of all processes of a run. */
void dump_run(FILE *out, const struct run *run);

#endif

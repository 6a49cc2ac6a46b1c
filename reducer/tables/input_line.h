/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which line of the script takes the time in which a DataLoader's samples are made. Rule: the innermost line of the script, with the
 * libraries that it calls, of looks at Python code (python_looks.h) inside the loader's fetching; nothing where too few say it.
 */
#ifndef REDUCER_TABLES_INPUT_LINE_H
#define REDUCER_TABLES_INPUT_LINE_H

#include "reducer/tables/request.h"

/* A sentence, begun with a blank, of these processes (indexes in run->processes). */
void input_line_say(struct text *text, const struct request *request, const size_t *processes, size_t count);

#endif

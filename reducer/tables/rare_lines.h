/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of the program's own Python by the steps that looks found them in: for what only few steps do and nothing else has a name for, a
 * checkpoint that is written, say.
 *
 * Rule: estimates. A look counts in the step of its thread, for the time since the one before of it, as far as that lies in the step.
 */
#ifndef REDUCER_TABLES_RARE_LINES_H
#define REDUCER_TABLES_RARE_LINES_H

#include "reducer/tables/python_lines.h"
#include "reducer/tables/request.h"

struct rare_line_step {
	size_t line, step; /* of `lines`; place in process->steps */
	uint64_t ns;
};

struct rare_lines {
	struct python_lines lines;
	struct rare_line_step *list; /* by line, then step, each once */
	size_t count, room;
	uint64_t period_ns; /* of looks */
};

/* Of one process. No looks, or nobody who names frames: none. rare_lines_free after it. */
void rare_lines_gather(struct rare_lines *lines, const struct request *request, size_t process);
void rare_lines_free(struct rare_lines *lines);

#endif

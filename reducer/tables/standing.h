/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the Python code of a thread stood during a stretch of time: the line that it was at or had called from, all the while.
 *
 * Rule: by looks (model/python_rows.h), so inferred. A line that was on the stack for less than two thirds of what was looked at does
 * not stand; of those that do the innermost one of the program's own is told, of a program without files of its own of all.
 */
#ifndef REDUCER_TABLES_STANDING_H
#define REDUCER_TABLES_STANDING_H

#include "reducer/tables/python_lines.h"
#include "reducer/tables/request.h"

struct standing {
	struct python_line_name line; /* texts of the run; function NULL = it stood nowhere */
	bool is_own;		      /* it is the program's, neither Python's nor installed */
	uint64_t there_ns, looked_ns; /* of the stretch: on the stack, and looked at with a certain result */
	uint64_t cpu_ns;	      /* processor time of the thread in the stretch, as far as looks tell */
};

/* The looks at a process (index in run->processes) in that time, by thread. */
struct stretch {
	size_t process;
	int64_t from_ns, to_ns;
	const struct python_look **looks;
	size_t count;
};
struct stretch stretch_make(const struct request *request, size_t process, int64_t from_ns, int64_t to_ns);
void stretch_free(struct stretch *stretch);

/* False where no look tells of the thread (its serial) in that time. */
bool standing_find(struct standing *standing, const struct request *request, const struct stretch *stretch, uint32_t thread);

/* "train.py:41 (fit)" */
void standing_say(struct text *text, const struct standing *standing);

#endif

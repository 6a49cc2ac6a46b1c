/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of Python by number, for tables whose rows they are.
 *
 * Rule: the same function, file and line is one line, whichever process ran it. Texts belong to the run.
 */
#ifndef REDUCER_TABLES_PYTHON_LINES_H
#define REDUCER_TABLES_PYTHON_LINES_H

#include "reducer/base/index.h"
#include "reducer/symbols/symbols.h"
#include "reducer/tables/table.h"

struct python_line_name {
	const char *function, *file;
	uint32_t line;
};

struct python_lines {
	struct python_line_name *list;
	size_t count, room;
	struct base_index index;
	struct python_line_recent *recent;
};

struct python_lines python_lines_make(void);
void python_lines_free(struct python_lines *lines);

/* The number of the frame's line: count if it is a new one. */
size_t python_lines_number(struct python_lines *lines, const struct symbol_frame *frame);

/* "train.py:41" */
void python_line_place(struct text *text, const struct python_line_name *line);

/*
 * The line of the program's own that a stack is told of: the innermost one that is neither Python's nor installed; where there is none the
 * innermost of python -c or a prompt, where code that libraries generate is, too.
 */
struct python_own {
	size_t line; /* number; SIZE_MAX = none so far, as at the begin of a stack */
	bool is_certain;
};
#define PYTHON_OWN_NONE ((struct python_own){.line = SIZE_MAX})
/* The stack's next frame, from the inside out. */
void python_own_take(struct python_own *own, const struct symbol_frame *frame, size_t number);

/* Function, file and line into three columns from `column` on. */
void python_lines_put(const struct python_lines *lines, size_t number, struct table *table, size_t column);

#endif

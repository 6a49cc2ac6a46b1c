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

/* Function, file and line into three columns from `column` on. */
void python_lines_put(const struct python_lines *lines, size_t number, struct table *table, size_t column);

#endif

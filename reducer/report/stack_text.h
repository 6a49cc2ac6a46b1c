/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks as one line.
 *
 * Rule: the same spelling in every format, so that a name found in one is found in the others.
 */
#ifndef REDUCER_REPORT_STACK_TEXT_H
#define REDUCER_REPORT_STACK_TEXT_H

#include "reducer/tables/frames.h"
#include "reducer/tables/table.h"

/* "outermost;...;innermost"; ';' inside a name becomes ':'. Control characters escaped. Nothing for an empty cell. */
void stack_text_folded(struct text *out, const struct table *table, size_t row, size_t column);

/* A function as shown: its name escaped, "~" in front where it is only the nearest symbol. */
void stack_text_function(struct text *out, const struct symbol_frame *frame);

/* " (file:line)" of a Python function: a line has no place for it otherwise, and "<module>" alone says nothing. */
void stack_text_python_place(struct text *out, const struct symbol_frame *frame);

/* Makes a function's name fit: first the arguments of templates go ("f<>"), then its end. */
void stack_text_fit(struct text *name, size_t width);

#endif

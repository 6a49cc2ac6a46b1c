/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who asked, by a call stack, in a word for a sentence.
 *
 * Rule: the innermost line of the user's own Python, of what was typed where there is no other, else the function that did.
 */
#ifndef REDUCER_TABLES_ASKER_H
#define REDUCER_TABLES_ASKER_H

#include "reducer/tables/request.h"

/* Whether the call was made in Python code of the user's own: then appends "f (train.py:12)". Looks names up. */
bool asker_put_python(struct text *out, struct frames *frames, size_t process, uint32_t stack);

/* Appends that, or a function's name; nothing where the stack has none. */
void asker_put(struct text *out, struct frames *frames, size_t process, uint32_t stack);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the name of an op says of a loop that repeats it: periods.h has the kinds.
 *
 * Rule: names of frameworks as they are; what is not known is plain.
 */
#ifndef REDUCER_MODEL_WORD_KINDS_H
#define REDUCER_MODEL_WORD_KINDS_H

#include "reducer/model/periods.h"

/* Is an op of that name what a compiler traces with? */
int word_is_tracing(const char *name);

enum period_word_kind word_kind(const char *name);

#endif

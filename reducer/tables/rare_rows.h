/* SPDX-License-Identifier: Apache-2.0 */
/* What few steps do, for the tables that speak of it. Rule: as rare_work has it, whose column long_ns is summed. */
#ifndef REDUCER_TABLES_RARE_ROWS_H
#define REDUCER_TABLES_RARE_ROWS_H

#include "reducer/tables/step_values.h"

struct rare_most {
	uint64_t ns;	  /* of long steps, what is in at most a fifth of the steps */
	uint64_t top_ns;  /* of it the name that took most; 0 = there is none */
	struct text name; /* text_free it */
};
/* Of the steps in `rows`. The request needs analysis_rare_work. */
struct rare_most rare_find(const struct request *request, const struct step_rows *rows);

/*
 * Whether a step of JAX waits for a value, and so for what it and the steps before it dispatched: no other function was called since the
 * last such wait. The request needs analysis_rare_work.
 */
bool rare_is_own(const struct request *request, const struct step_rows *rows, const struct step_row *row);

/*
 * Whether what is called so may wait for work that other steps only dispatched, which then is no rare work and stays whatever is done about
 * it: calls into XLA that compile nothing, ops that fetch a value from a device.
 */
bool rare_may_wait(const char *name);

/* Whether what is called so is compiling: told by frames, or under a name of a framework's (part_is_compiling) or its compiler's. */
bool rare_is_compiling(const char *name);

#endif

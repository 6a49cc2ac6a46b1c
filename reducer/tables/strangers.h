/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters that nothing of a run fits: a slip of the hand, which an empty table would hide.
 *
 * Rule: a filter is refused only where the run has things of its kind and none of them fits; what is missing altogether is for
 * the table to say. But the numbers of steps mean nothing where there are none.
 */
#ifndef REDUCER_TABLES_STRANGERS_H
#define REDUCER_TABLES_STRANGERS_H

#include "reducer/base/base.h"
#include "reducer/tables/request.h"

/* Appends a sentence that names the option, what it was, and what there is; nothing where every filter fits something.
 * `is_older`: of the run of --against, which need not have the allocator, steps or length of the newer one. */
void strangers_find(const struct request *request, bool is_older, struct text *problem);

/* The same of --step, once request_open_analyses has found what steps, or what stands for them, each process has. */
void strangers_find_steps(const struct request *request, struct text *problem);

#endif

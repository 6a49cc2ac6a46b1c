/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the analysis of steps behind its pass; private to it. See reducer/analysis/steps.h. */
#ifndef REDUCER_ANALYSIS_STEPS_MERGE_H
#define REDUCER_ANALYSIS_STEPS_MERGE_H

#include "reducer/base/base.h"

/* As struct analysis_kind has them. */
void steps_merge(void *into, const void *from);
void steps_print(const void *result, struct text *text);

#endif

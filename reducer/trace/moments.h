/* SPDX-License-Identifier: Apache-2.0 */
/* Which moments of a long run deserve a closer look. Rule: chosen by what the tables already know, never by taste. */
#ifndef REDUCER_TRACE_MOMENTS_H
#define REDUCER_TRACE_MOMENTS_H

#include "reducer/tables/request.h"
#include "reducer/trace/digest.h"

/* The slowest, the median, the first and the last whole step; the memory peak; without steps the middle of the run. */
void moments_choose(struct digest *digest, const struct request *request);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory of a process was in use at most, as the kernel told it. */
#ifndef REDUCER_TABLES_RESIDENT_H
#define REDUCER_TABLES_RESIDENT_H

#include "reducer/model/run.h"

#include <stdbool.h>
#include <stdint.h>

struct resident {
	int64_t bytes;   /* largest resident set, shared pages included */
	int64_t time_ns; /* of the run: when it was first read, some 100 ms after it was so at most */
};

/*
 * Returns false where it is not known. The kernel's own maximum outlives an exec: as long as it is no more than at the first reading it
 * may be that of the program before, and what was read once a second stands for it.
 */
bool resident_peak(const struct process *process, struct resident *peak);

#endif

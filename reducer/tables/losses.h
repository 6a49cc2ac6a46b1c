/* SPDX-License-Identifier: Apache-2.0 */
/* Whether anything is missing: one place decides what makes the exit status 2. */
#ifndef REDUCER_TABLES_LOSSES_H
#define REDUCER_TABLES_LOSSES_H

#include "reducer/model/gpu.h"
#include "reducer/model/losses.h"
#include "reducer/tables/request.h"

/* Is anything missing from what this run's tables say? Complete after run_scan. */
bool losses_any(const struct run *run);

#endif

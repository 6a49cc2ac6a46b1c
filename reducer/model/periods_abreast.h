/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that run a loop side by side, in rounds (one a device). Private to periods*.c. */
#ifndef REDUCER_MODEL_PERIODS_ABREAST_H
#define REDUCER_MODEL_PERIODS_ABREAST_H

#include "reducer/model/periods.h"

/* Leaves of steps that threads run side by side those of the first thread; each lasts until the next one of it. anchors: their words. */
void periods_join_abreast(const struct periods *periods, const uint32_t *anchors, struct period_found *found);

#endif

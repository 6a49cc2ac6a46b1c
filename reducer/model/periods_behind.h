/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops of other words one behind the other in one stream: two models that serve, a model that is tried and then used.
 *
 * Rule: where no word repeats through most of a stream it is cut at the word that parts it best, one that leaves most words of their
 * kind whole on either side; each part is a stream of its own then. What is found in parts must hold as much of the whole stream as
 * periods.h wants of one period.
 */
#ifndef REDUCER_MODEL_PERIODS_BEHIND_H
#define REDUCER_MODEL_PERIODS_BEHIND_H

#include "reducer/model/periods.h"

/* What repeats besides, and is not counted. */
struct period_other {
	size_t rounds; /* 0 = nothing */
	uint64_t time; /* from the first to the end of the last */
	int is_before; /* the steps; else it comes behind them */
};

/* periods_find; of a stream without a period the one of its loops that took the longest. Returns -1 without memory. */
int periods_find_loop(const struct periods *periods, struct period_found *found);

/*
 * Of what comes before the first step that was found or behind the last: the loop that took the longest, where it has a tenth of the
 * time of the steps or of their number. -1 = no memory.
 */
int periods_find_other(const struct periods *periods, const struct period_found *found, struct period_other *other);

#endif

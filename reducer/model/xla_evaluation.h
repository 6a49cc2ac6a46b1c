/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a step of JAX ends, and something else begins that is in no step: a model that is evaluated between epochs.
 *
 * Rule: what at most a fifth of the steps do, from another function's call on, if their own work was waited for before that and not
 * behind it, and it lasts as long as two usual steps or more. Else the step lasts until the next one: what it dispatched may run yet.
 */
#ifndef REDUCER_MODEL_XLA_EVALUATION_H
#define REDUCER_MODEL_XLA_EVALUATION_H

#include "reducer/model/periods.h"
#include "reducer/model/xla_runs.h"

/* By symbol: how many of the steps have it. NULL = no memory; else to be freed. */
uint32_t *xla_evaluation_count(const struct periods *periods, const struct period_found *found);

/* Sets the rest of such steps. `id_of`: the id of a symbol's key, UINT64_MAX = it is no call of JAX. Without memory they are left. */
void xla_evaluation_leave(const struct periods *periods, const struct xla_runs *runs, const struct xla_loop *loop,
			  uint64_t (*id_of)(uint64_t key), struct period_found *found);

#endif

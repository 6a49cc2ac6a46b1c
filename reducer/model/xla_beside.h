/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another loop of JAX's beside the one whose calls are counted as steps: a second training, or what is evaluated behind the first.
 *
 * Rule: nothing tells which of the two it is, so its calls are counted as no steps, and are told of.
 */
#ifndef REDUCER_MODEL_XLA_BESIDE_H
#define REDUCER_MODEL_XLA_BESIDE_H

#include "reducer/model/step_guess.h"

/* Sets process->aside where a line that is none of the loop's runs a compiled function behind it, before it, or on another thread. */
void xla_beside_find(struct process *process, const struct step_guess *known, const struct xla_loop *loop);

#endif
